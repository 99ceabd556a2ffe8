package machine

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/uniter"
)

// arriveTime bounds how long other units wait for those whose hooks were handed over.
const arriveTime = 30 * time.Second

// Running are the hooks that were handed over; nil has none.
func (h *Handover) Running() []HandedRun {
	if h == nil {
		return nil
	}
	return h.Runs
}

// Processes are the numbers of their programs.
func (h *Handover) Processes() (pids []int) {
	for _, r := range h.Running() {
		pids = append(pids, r.Pid)
	}
	return pids
}

// lease is the one that was handed over; 0: none was.
func (h *Handover) lease() store.LeaseID {
	if h == nil {
		return 0
	}
	return h.Lease
}

// awaitHanded has nobody wait any more, after a while, for units that have a hook which was
// handed over and that don't come: they are gone, or can't be begun. end ends the waiting.
func (a *agent) awaitHanded() (end func()) {
	timer := time.AfterFunc(arriveTime, func() {
		for _, h := range a.handing.giveUp() {
			a.Log.Warn("a hook that a former agent has begun doesn't go on: its unit isn't there", "unit", h.Unit, "run", h.Run)
			endHanded(h, a.cgroups, a.Reaper, "", a.Log)
		}
	})
	return func() {
		timer.Stop()
		for _, h := range a.handing.giveUp() {
			endHanded(h, a.cgroups, a.Reaper, "", a.Log)
		}
	}
}

// endHanded ends the processes of a hook that doesn't go on, as an agent does that stops.
func endHanded(h HandedRun, cgroups *runner.Cgroups, reaper *runner.Reaper, within string, log *slog.Logger) {
	reaper.LetGo(h.Pid)
	for _, f := range []*os.File{h.Socket, h.Output[0], h.Output[1]} {
		if f != nil {
			f.Close() // one that is in use already is closed, or was
		}
	}
	found, left := runner.EndRun(context.Background(), cgroups, RunMark(h.Model, h.Unit, h.ID, h.Run), within)
	tellEnded(log, h.Unit, h.Entry.Hook.Name(), found, left)
}

// canBeHeld has the hook's program be one that can be handed over, until the end.
func (u *unit) canBeHeld(run uniter.Run, hctx *hookcontext.Context, contextID string, env []string, relations []hookcontext.Relation, tail *outputTail) (end func()) {
	if run.Hook.IsTask() || u.calls == nil || u.inPod != nil && u.recordsPebble {
		// Somebody waits for what a task prints; a second run isn't the run; and what is asked
		// of a Pebble comes by this process if it is recorded.
		return func() {}
	}
	u.runs.Store(&program{run: run, hctx: hctx, contextID: contextID, env: env, calls: u.calls, broken: broken(relations), tail: tail})
	return func() { u.runs.Store(nil) }
}

// takeHanded takes what a former agent has handed over of the unit.
func (u *unit) takeHanded() {
	if h, ok := u.handing.handed(u.handedKey()); ok {
		u.handed = &h
	}
}

func (u *unit) handedKey() handedKey { return handedKey{u.model.UUID(), u.id} }

// arrive lets others begin: the unit goes on with what was handed over.
func (u *unit) arrive() {
	u.handed = nil
	u.handing.arrive(u.handedKey())
}

// refuse is arrive for a unit that doesn't: what runs is ended, as after a crash.
func (u *unit) refuse() {
	if u.handed == nil {
		return
	}
	within := ""
	if c := u.cell.Load(); c != nil {
		within = c.Groups()
	}
	endHanded(*u.handed, u.runner.Cgroups, u.runner.Reaper, within, u.log)
	u.arrive()
	if u.server != nil {
		u.server.Serve()
	}
}

// handedDoors are those for the run that was handed over; nil: there is none.
func (u *unit) handedDoors() *uniter.Handed {
	h := u.handed
	if h == nil {
		return nil
	}
	return &uniter.Handed{Run: h.Run, Limit: h.Limit, Lock: u.lockHanded, Refuse: u.refuse, GoOn: func(ctx context.Context, run uniter.Run) uniter.Result {
		return u.goOn(ctx, run, *h)
	}}
}

// lockHanded is the Lock door for a run that was handed over. Nobody else has begun one.
func (u *unit) lockHanded(ctx context.Context) (unlock func(), err error) {
	if !u.handing.claim(u.handedKey(), u) {
		return nil, uniter.ErrRefused
	}
	u.busy.Store(true)
	// One that is to stop ends its hook all the same, so it has its turn.
	give, _, err := u.turns.take(context.WithoutCancel(ctx), place{u.machine, u.lockGroup}, u, func(*turn) {})
	if err != nil {
		u.busy.Store(false)
		u.handing.leave(u)
		return nil, errors.Trace(err)
	}
	u.slotBack = func() {}
	return func() {
		u.handing.leave(u)
		u.busy.Store(false)
		give()
	}, nil
}

// goOn is the RunHook door for a run that was handed over.
func (u *unit) goOn(ctx context.Context, run uniter.Run, h HandedRun) uniter.Result {
	u.arrive()
	u.log.Info("a hook goes on that a former agent has begun", "unit", u.name, "hook", run.Hook.Name(), "run", run.Number)
	entry := h.Entry
	u.mask.recall(h.Secrets)
	u.trace(ctx, run, entry.Started, tracedIn(textsOf(h.Env)))
	u.taking, u.calls = u.takeOn(run, h), &calls{began: h.Began, entry: &entry, mask: &u.mask}
	return u.runEntry(ctx, run, h.Until, u.calls, func(limited context.Context) (*hookcontext.Context, uniter.Result) {
		hctx, res := u.executeRest(limited, run, h)
		return u.executed(limited, run, hctx, res)
	})
}

// executeRest is execute for a program that runs already.
func (u *unit) executeRest(ctx context.Context, run uniter.Run, h HandedRun) (*hookcontext.Context, uniter.Result) {
	charm, err := u.model.Charm(ctx, run.Local.Charm)
	if err != nil {
		// Its processes are ended with the run, which is tried again.
		u.endLeftover(context.WithoutCancel(ctx), run)
		u.runner.Reaper.LetGo(h.Pid)
		return nil, u.trouble(ctx, errors.Annotate(err, "cannot read the charm"))
	}
	runCtx, callCtx, end, over := u.during(ctx)
	defer over()
	tail := handedTail(h.Tail, run.Hook)
	params := u.params(callCtx, run, charm.Charm, tail, end)
	for i, r := range params.Relations {
		params.Relations[i].Broken = slices.Contains(h.Broken, r.ID)
	}
	hctx := hookcontext.Resume(params, h.Context)
	u.server.Resume(hctx, h.ContextID)
	path, args, err := u.program(run)
	if err != nil {
		path = u.charm.Path() // only named, if it can't be waited for
	}
	env := textsOf(h.Env)
	cmd := u.command(path, args, env)
	cmd.Output = u.hearing(run.Hook, nil, tail)
	defer u.canBeHeld(run, hctx, h.ContextID, env, params.Relations, tail)()
	return hctx, u.runProgram(ctx, run.Hook, path, tail, func() runner.Outcome {
		held := runner.Held{Pid: h.Pid}
		for i := range held.Output {
			held.Output[i] = runner.HeldOutput{File: h.Output[i], Rest: h.Rest[i]}
		}
		return u.runner.Resume(runCtx, cmd, held)
	})
}

// takeOn goes on with the recording of a run.
func (u *unit) takeOn(run uniter.Run, h HandedRun) *taking {
	t := u.take(run)
	if h.Recording == nil {
		return t
	}
	t.ran, t.rec = true, *h.Recording
	calls := t.rec.Calls
	t.rec.Calls = nil
	t.calls = recording.NewRecorder(h.Began)
	t.calls.Recall(calls, t.rec.CutOff)
	if len(t.rec.Asked) > 0 || t.rec.AskedCutOff {
		t.rec.AskedNote = "left out: the agent was upgraded while the hook ran"
	}
	t.rec.Asked, t.rec.AskedCutOff = nil, false
	return t
}

// recall adds values that another process has hidden.
func (m *mask) recall(values []HandedSecret) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range values {
		m.values = append(m.values, recording.Secret{Key: v.Key, Value: string(v.Value)})
	}
}

// broken are the relations among those that a hook sees as broken.
func broken(all []hookcontext.Relation) (ids []model.RelationID) {
	for _, r := range all {
		if r.Broken {
			ids = append(ids, r.ID)
		}
	}
	return ids
}
