package machine

import (
	"os"
	"path/filepath"
	"time"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/uniter"
)

// RecordingsDir has the recordings of a model's units; see package recording.
func RecordingsDir(dir, uuid string) string { return filepath.Join(ModelDir(dir, uuid), "recordings") }

// taking is the recording of a run that goes on. Its methods do nothing where
// it is nil: the run isn't recorded.
type taking struct {
	rec   recording.Recording
	calls *recording.Recorder
	// action is the action that runs; empty: none does.
	action string
	// ran says that there was something to run.
	ran bool
}

// take begins to record a run.
func (u *unit) take(run uniter.Run) *taking {
	return &taking{
		rec: recording.Recording{
			Unit: u.name, ID: u.id, Run: run.Number, Hook: run.Hook.Name(), Cause: run.Hook.Cause,
			Unitd: u.version, Juju: hooks.Version,
		},
		action: run.Hook.Action,
		calls:  recording.NewRecorder(time.Now()),
	}
}

// start notes what the hook is about to start with. The charm is in dir.
func (t *taking) start(charm state.CharmDoc, dir string, env []string) {
	if t == nil {
		return
	}
	t.ran = true
	t.rec.Charm, t.rec.Revision, t.rec.Env = charm.Charm.Name, charm.Revision, env
	t.rec.Passwords = charm.Charm.Actions[t.action].Passwords()
	size := 0
	for _, v := range env {
		size += len(v)
	}
	t.rec.State, t.rec.StateNote = storedState(dir)
	t.calls.Reserve(size + len(t.rec.State))
}

// storedState is what an Ops charm remembers; nil, most often, where there is
// nothing.
func storedState(dir string) (state []byte, note string) {
	path := filepath.Join(dir, recording.StateFile)
	switch st, err := os.Lstat(path); {
	case err != nil || !st.Mode().IsRegular():
		return nil, ""
	case st.Size() >= recording.MaxState:
		return nil, "left out: it is too large"
	}
	state, err := os.ReadFile(path)
	if err != nil {
		return nil, "left out: it could not be read"
	}
	return state, ""
}

// call notes a hook tool call, of a batch the whole. It may be called many times at once.
func (t *taking) call(c tools.Call) {
	if t == nil || c.Within { // a batch is replayed whole
		return
	}
	t.calls.Add(recording.Call{
		Args: c.Request.Args, StdinSet: c.Request.StdinSet, Stdin: c.Request.Stdin, File: c.File,
		Code: c.Reply.Code, Stdout: c.Reply.Stdout, Stderr: c.Reply.Stderr, Took: c.Duration,
	}, c.Began)
}

// exit notes how the hook's executable has ended.
func (t *taking) exit(o runner.Outcome) {
	if t == nil {
		return
	}
	t.rec.Exit = o.Exit
	if o.Signal != 0 {
		t.rec.Exit, t.rec.Signal = -1, signalName(o.Signal)
	}
}

// end ends the recording: calls that come later are no part of the run. It is
// nil where nothing was run.
func (t *taking) end() *recording.Recording {
	if t == nil || !t.ran {
		return nil
	}
	t.rec.Calls, t.rec.CutOff = t.calls.Calls()
	t.rec.Asked, t.rec.AskedCutOff = t.calls.Asked()
	return &t.rec
}

// keepRecording writes the recording of a run that has ended as said, while the
// unit goes on; recordingKept waits for it. That it can't is no reason for the
// unit to stop.
func (u *unit) keepRecording(e history.Entry) {
	r := u.taken
	u.taken = nil
	if r == nil || r.Run != e.Run {
		return
	}
	r.Started, r.Duration, r.Outcome, r.Message = e.Started, e.Duration, e.Outcome, e.Message
	// The run is in the model and the history by now: an agent that is killed here loses this.
	// The next hook of the machine begins after it.
	r.Files = u.lookBack()
	if secrets := u.mask.all(); len(secrets) > 0 {
		r = recording.Hide(r, secrets)
	}
	u.recordingKept()
	u.keeping.Add(1)
	go func() {
		defer u.keeping.Done()
		if err := u.keeper.Keep(r); err != nil {
			u.log.Error("cannot keep the recording of a hook", "unit", u.name, "err", err)
		}
	}()
}

// recordingKept waits until recordings are kept: before the unit says that it
// has nothing to do, so that whoever waits for that finds them.
func (u *unit) recordingKept() { u.keeping.Wait() }
