package script

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/juju/errors"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/unitd/unitd/bases"
	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/script/trees"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// dawn is the time at which the worlds of scripts begin.
var dawn = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is what one script plays in: a private model, an agent, and a clock
// that both go by.
type world struct {
	ctx    context.Context
	cancel context.CancelFunc
	unitd  string
	name   string
	file   string // of the script
	work   string // its directory
	dir    string // UNITD_DATA
	// patience is how long a wait lasts in which nothing comes to its end.
	patience time.Duration
	hurry    func() time.Duration // Params.Hurry
	// isolated: units are, where the script doesn't say otherwise.
	isolated bool
	env      []string
	clock    *lab.Clock
	// dawn is the time at which it began.
	dawn time.Time
	// url names the store that isn't a file in dir.
	url    string
	store  store.Store
	models *state.Controller

	// box is the machine that the agent runs on.
	box box

	mu    sync.Mutex
	agent *agent // nil: none runs
	// troubled: the agent couldn't read or write, and hasn't settled since.
	troubled bool
	// toldTwice is how much of what second runs have found was told of each model, by its UUID.
	toldTwice map[string]int
	// log has what the agents have printed.
	log strings.Builder

	// chosen is the seed of the order of the agent's hooks; nil: by turns. twice: they are run
	// twice. Each agent is told so.
	chosen *uint64
	twice  bool
	// kept has the snapshots, change what came of letting the world go on the
	// last time; nil: it hasn't been.
	kept   map[string]*kept
	change *change
	// snapshots is how many were made.
	snapshots int
	// trees keeps the files of snapshots and of runs; nil: there was none.
	trees *trees.Keeper
	// ran has the times that are kept for rewind; nil: none is.
	ran *keptRuns
	// marks are those of "mark", by name. What is restored doesn't take them back.
	marks map[string]*mark
	// held are the workload containers that the script keeps ended, hung those whose
	// Pebbles it has stand still.
	held, hung map[container]bool
	// net has the faults of the units' network, netFaults, be there; nil: there were none.
	net       *isolate.FaultyNet
	netFaults isolate.NetFaults
	// probes are the tasks of unit-exec.
	probes map[string]bool
	// vars are the names of the variables with which programs of the world are run.
	vars []string
	deeds
}

// change is how the model in focus looked before and after, and how long that took by the host's
// clock.
type change struct {
	before, after model.Picture
	took          time.Duration
	logs          map[string]debuglog.Spot // where those of the models ended before
}

// agent is the process of an agent under test.
type agent struct {
	cmd    *exec.Cmd
	lab    *lab.Client
	socket string        // its directory is the agent's alone
	ended  chan struct{} // closed when the process has ended
	err    error         // how, once it has
}

// setUp makes a script's world.
func (e *engine) setUp(env *testscript.Env) error {
	name, begin := env.T().(watched).name, dawn
	if e.door != nil && e.door.Real {
		begin = time.Now().UTC()
	}
	if err := makeExecutable(env.WorkDir); err != nil {
		return err
	}
	w := &world{unitd: e.Unitd, patience: cmp.Or(e.Patience, patience), hurry: e.Hurry, isolated: e.Isolate != model.IsolateOff, name: name, file: e.files[name], work: env.WorkDir, dir: filepath.Join(env.WorkDir, ".unitd"), clock: lab.NewClock(begin), dawn: begin, held: map[container]bool{}, hung: map[container]bool{}}
	w.ctx, w.cancel = context.WithCancel(e.ctx)
	if e.door != nil {
		w.file = "" // it is nobody's
	}
	if e.Store != nil {
		w.url = e.Store(name)
	}
	home := filepath.Join(env.WorkDir, ".home")
	for _, dir := range []string{w.dir, home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return errors.Trace(err)
		}
	}
	here := e.Here
	if here == "" {
		var err error
		if here, err = filepath.Abs(filepath.Dir(e.files[name])); err != nil {
			return errors.Trace(err)
		}
	}
	env.Setenv("UNITD_DATA", w.dir)
	env.Setenv("HOME", home)
	env.Setenv("TZ", "UTC")
	setUpBuilds(env)
	env.Setenv(isolateVariable, e.Isolate)
	env.Setenv(bases.Variable, e.Bases)
	env.Setenv("SCRIPT_DIR", here)
	env.Setenv(lab.StoreVariable, w.url)
	env.Setenv("PATH", filepath.Dir(w.unitd)+string(os.PathListSeparator)+env.Getenv("PATH"))
	env.Setenv(nowVariable, begin.Format(time.RFC3339Nano))
	for _, v := range env.Vars {
		name, _, _ := strings.Cut(v, "=")
		w.vars = append(w.vars, name)
	}
	if e.memory != "" {
		env.Setenv(lab.PlainVariable, "yes")
	}
	w.env = append(os.Environ(), e.agentEnvironment(w, home, env.WorkDir)...)
	// What "exec" has started knows nothing of ctx, and would be waited for.
	mine := "WORK=" + env.WorkDir
	unwatch := context.AfterFunc(e.ctx, func() { runner.EndLeftover(context.Background(), mine) })
	env.Defer(func() {
		unwatch()
		due := e.stillDue(env.T().(watched), w)
		e.seen(w)
		w.end()
		runner.EndLeftover(context.Background(), mine)
		e.worlds.Delete(name)
		e.audit(env.T(), w)
		if due != "" {
			env.T().Log(due)
			env.T().FailNow()
		}
	})
	if err := w.open(); err != nil {
		return err
	}
	if _, err := w.models.AddModel(w.ctx, "default"); err != nil {
		return errors.Trace(err)
	}
	env.Values[worldKey{}] = w
	e.worlds.Store(name, w)
	return w.start()
}

// seen shows a world to who wants to see it, if it has a model.
func (e *engine) seen(w *world) {
	if e.Seen == nil || w.store == nil {
		return
	}
	if m, err := w.model(); err == nil {
		e.Seen(w.ctx, Seen{File: w.file, Model: m, Dir: w.dir, Why: func(u model.UnitName) string { return w.holds(m, u) }})
	}
}

// open opens the store.
func (w *world) open() (err error) {
	if w.store, err = lab.OpenStore(w.ctx, w.dir, w.url, w.clock); err != nil {
		return errors.Trace(err)
	}
	w.models = state.NewController(w.store, w.clock).WithSealer(sealer(w.dir))
	return nil
}

// worldKey is where a script's Values have its world.
type worldKey struct{}

// nowVariable tells unitd the time of its world.
const nowVariable = "UNITD_NOW"

// start starts the agent.
func (w *world) start() error {
	dir, err := os.MkdirTemp("", "unitd-lab-")
	if err != nil {
		return errors.Trace(err)
	}
	a := &agent{socket: filepath.Join(dir, "socket"), ended: make(chan struct{})}
	ready, tell, err := os.Pipe()
	if err != nil {
		return errors.Trace(err)
	}
	defer ready.Close()
	a.cmd = exec.Command(w.unitd, "lab", a.socket)
	a.cmd.Env = append(append(w.env, nowVariable+"="+w.clock.Now().Format(time.RFC3339Nano), "UNITD_READY_FD=3"), w.box.env()...)
	a.cmd.Stdout, a.cmd.Stderr = (*agentLog)(w), (*agentLog)(w)
	a.cmd.ExtraFiles = []*os.File{tell}
	// Ctrl-C is for the script, which then ends the agent.
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = a.cmd.Start()
	tell.Close()
	if err != nil {
		os.RemoveAll(dir)
		return errors.Annotate(err, "cannot start an agent")
	}
	go func() {
		a.err = a.cmd.Wait()
		os.RemoveAll(dir)
		close(a.ended)
	}()
	if said, err := io.ReadAll(ready); err != nil || len(said) == 0 {
		<-a.ended
		return errors.Errorf("cannot start an agent: %s", strings.TrimSpace(w.agentSaid()))
	}
	if a.lab, err = lab.Dial(a.socket); err != nil {
		return errors.Trace(err)
	}
	w.mu.Lock()
	w.agent = a
	w.mu.Unlock()
	w.troubled = false // what kept the other one from the store and the disk has gone with it
	if err := w.recallWishes(); err != nil {
		return err
	}
	return w.recallHeld()
}

// agentLog is where agents print to.
type agentLog world

// Write is part of io.Writer.
func (l *agentLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(b)
}

func (w *world) agentSaid() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// running is the agent; the error says that there is none.
func (w *world) running() (*agent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.agent == nil {
		return nil, errors.New(`no agent runs: "restart-agent" starts one`)
	}
	return w.agent, nil
}

// stop ends the agent by a signal and waits until it has gone.
func (w *world) stop(signal syscall.Signal) {
	w.mu.Lock()
	a := w.agent
	w.agent = nil
	w.mu.Unlock()
	if a == nil {
		return
	}
	_ = a.cmd.Process.Signal(signal) // it may have ended
	<-a.ended
	a.lab.Close()
}

// gone notes that the agent has ended by itself, as by a fault.
func (w *world) gone(a *agent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.agent == a {
		w.agent = nil
		a.lab.Close()
	}
}

// end takes the world down.
func (w *world) end() {
	w.stop(syscall.SIGTERM)
	if w.net != nil {
		w.net.Close()
	}
	if w.models != nil {
		w.endHooks()
		w.removeCells()
		runner.OpenCgroups(w.dir).Close() // which they were in
	}
	w.cancel()
	if w.store != nil {
		w.store.Close()
	}
}

// removeCells removes the machines of isolated units.
func (w *world) removeCells() {
	cells := machine.NewCells(w.dir, "")
	keys, err := cells.Keys()
	for _, key := range keys {
		if removed := cells.Remove(key); err == nil {
			err = removed
		}
	}
	if err != nil {
		fmt.Fprintf((*agentLog)(w), "cannot remove isolated units: %v\n", err)
	}
}

// model is the model in focus.
func (w *world) model() (*state.Model, error) {
	name := "default"
	b, err := os.ReadFile(filepath.Join(w.dir, "current-model"))
	if err == nil {
		name = strings.TrimSpace(string(b))
	}
	return w.models.Model(w.ctx, name)
}

// tell asks the agent something.
func (w *world) tell(r lab.Request) (lab.Answer, error) {
	a, err := w.running()
	if err != nil {
		return lab.Answer{}, err
	}
	answer, err := a.lab.Do(r)
	if errors.Is(err, io.EOF) {
		<-a.ended
		w.gone(a)
		return answer, errors.New("the agent has ended meanwhile")
	}
	return answer, err
}

// inError are the units in error, each with what it waits for, and those that go on
// without a hook that has failed.
func (w *world) inError(m *state.Model) ([]string, error) {
	s, err := m.Status(w.ctx)
	if err != nil {
		return nil, err
	}
	var failed []string
	for _, app := range s.Applications {
		for _, u := range app.Units {
			if u.Workload.Status == model.StatusError {
				why := u.Workload.Message
				status, err := m.StatusOf(w.ctx, state.AgentStatus, string(u.Name))
				if reason, ok := status.Data["reason"].(string); ok && err == nil {
					why += fmt.Sprintf(" (%s)", w.sources(m).Text(u.Name.Tag(), reason))
				}
				failed = append(failed, fmt.Sprintf("%s: %s; it waits to be resolved", u.Name, why))
			}
			if u.Agent.Status == model.StatusIdle && u.Agent.Message != "" {
				failed = append(failed, fmt.Sprintf("%s: %s; \"advance\" brings the time", u.Name, u.Agent.Message))
			}
		}
	}
	return failed, nil
}
