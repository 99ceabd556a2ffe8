package machine

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// commands runs what people have machines do, outside of any unit. Tasks of one
// machine run one after the other, and not beside its hooks; it works beside the
// units' agents.
type commands struct {
	Config
	model    *state.Model
	debugLog *debuglog.Log
	turns    *turns
	handing  *handing
	runner   *runner.Runner
	present  *present
	health   *health

	changed     chan struct{} // has room for one
	pokes, seen atomic.Int64
	idle        func()

	wait sync.WaitGroup
	mu   sync.Mutex
	// running has how to end the task that a machine runs, by the machine's id;
	// nil: it is between two.
	running map[string]*command
}

// command is a task that runs.
type command struct {
	id  string
	end context.CancelFunc
}

func (a *modelAgent) newCommands() *commands {
	config := a.Config
	config.Log = a.log // the model's
	c := &commands{
		Config: config, model: a.model, debugLog: a.debugLog, turns: &a.turns, handing: a.handing, present: a.present, health: a.health,
		runner:  &runner.Runner{Disk: a.Disk, Cgroups: a.cgroups, Reaper: a.Reaper},
		changed: make(chan struct{}, 1), idle: a.tellIdle, running: map[string]*command{},
	}
	c.seen.Store(-1)
	return c
}

// poke has it look for tasks again.
func (c *commands) poke() {
	c.pokes.Add(1)
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// settled says whether all was done of which it was told.
func (c *commands) settled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.Load() == c.pokes.Load() && len(c.running) == 0
}

// run runs tasks until ctx ends; then those that run are ended.
func (c *commands) run(ctx context.Context) {
	defer c.runner.Close()
	defer c.wait.Wait()
	for {
		pokes := c.pokes.Load()
		var again <-chan time.Time
		if err := c.look(ctx); err != nil {
			if ctx.Err() != nil {
				return
			}
			c.Log.Error("cannot look for commands", "err", err)
			again = c.Clock.After(trouble)
		}
		c.seen.Store(pokes)
		c.idle()
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
		case <-again:
			c.pokes.Add(1)
		}
	}
}

// look has each machine with tasks run them, and ends what somebody has
// cancelled.
func (c *commands) look(ctx context.Context) error {
	machine := ""
	if c.Machine != nil {
		machine = c.Machine.ID
	}
	tasks, err := c.model.MachineTasks(ctx, machine)
	if err != nil {
		return errors.Trace(err)
	}
	for _, t := range tasks {
		mine, err := c.mine(ctx, t.Machine)
		if err != nil {
			return errors.Trace(err)
		}
		if mine {
			c.see(ctx, t)
		}
	}
	return nil
}

// mine says whether the machine is one of this host.
func (c *commands) mine(ctx context.Context, machine string) (bool, error) {
	if c.Machine != nil {
		return machine == c.Machine.ID, nil
	}
	doc, err := c.model.Machine(ctx, machine)
	if errors.Is(err, errors.NotFound) {
		return false, nil
	}
	return doc.Provider == state.LocalProvider, errors.Trace(err)
}

// see has the machine run its tasks, if it doesn't yet.
func (c *commands) see(ctx context.Context, t state.MachineTask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one, busy := c.running[t.Machine]
	switch {
	case !busy:
		c.running[t.Machine] = nil
		c.wait.Add(1)
		go c.drain(ctx, t.Machine)
	case one != nil && one.id == t.ID && t.Aborting:
		one.end()
	}
}

// drain runs a machine's tasks until there are none.
func (c *commands) drain(ctx context.Context, machine string) {
	defer c.wait.Done()
	err := c.next(ctx, machine)
	for err == nil {
		err = c.next(ctx, machine)
	}
	c.mu.Lock()
	delete(c.running, machine)
	c.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errNoTasks):
		c.poke() // one may have come meanwhile, and wasn't told of
	default:
		c.Log.Error("cannot run commands", "machine", machine, "err", err)
		select {
		case <-ctx.Done():
		case <-c.Clock.After(trouble):
			c.poke()
		}
	}
}

// errNoTasks marks that a machine has nothing to do any more.
const errNoTasks = errors.ConstError("no tasks")

// next runs the first task of a machine to its end.
func (c *commands) next(ctx context.Context, machine string) error {
	tasks, err := c.model.MachineTasks(ctx, machine)
	if err != nil {
		return errors.Trace(err)
	}
	if len(tasks) == 0 {
		return errNoTasks
	}
	t := tasks[0]
	if t.Begun {
		// By an agent that was killed in it.
		runner.EndRun(ctx, c.cgroups, c.mark(t), "")
		return errors.Trace(c.model.AbortMachineTask(ctx, t.ID))
	}
	if err := c.handing.all(ctx); err != nil {
		return errors.Trace(err)
	}
	give, _, err := c.turns.take(ctx, place{machine: machine}, nil, func(*turn) {})
	if err != nil {
		return errors.Trace(err)
	}
	defer give()
	work := &othersWork{"commands of machine " + machine}
	if _, err := c.handing.enter(ctx, work, nil); err != nil {
		return errors.Trace(err)
	}
	defer c.handing.leave(work)
	limited, end := context.WithCancel(ctx)
	defer end()
	c.mu.Lock()
	c.running[machine] = &command{t.ID, end}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running[machine] = nil
	}()
	doc, err := c.model.StartMachineTask(ctx, t)
	if errors.Is(err, state.ErrTaskEnded) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(c.note(ctx, t, c.carryOut(limited, end, t, doc)))
}

// note writes what has come of a task, and tries again for as long as the store can't be
// written to: a task that was left begun would be taken for one of an agent that was killed.
func (c *commands) note(ctx context.Context, t state.MachineTask, outcome model.TaskOutcome) error {
	for try := 0; ; try++ {
		hope := c.health.hoped() // before the try, so that none is missed
		last, cancel := outlive(ctx, lastWords)
		err := c.model.EndMachineTask(last, t.ID, outcome)
		cancel()
		if err == nil || final(err) && !errors.Is(err, store.ErrContention) {
			return errors.Trace(err)
		}
		if try == 0 && !errors.Is(err, errNotWritten) { // that is said once
			c.Log.Warn("cannot note what has come of commands, trying again", "machine", t.Machine, "err", err)
		}
		select {
		case <-ctx.Done():
			return errors.Trace(err)
		case <-hope:
		case <-c.Clock.After(min(100*time.Millisecond<<min(try, 10), retellAtMost)):
		}
	}
}

// mark tells the processes of a task from all others.
func (c *commands) mark(t state.MachineTask) string {
	return fmt.Sprintf("%s=%s/machine/%s/%s", runner.MarkVariable, c.model.UUID(), t.Machine, t.ID)
}

// carryOut runs the commands, and is what comes of them. end is what ends ctx.
func (c *commands) carryOut(ctx context.Context, end func(), t state.MachineTask, doc state.TaskDoc) model.TaskOutcome {
	var late atomic.Bool
	if doc.Timeout > 0 {
		timer := c.Clock.AfterFunc(doc.Timeout, func() {
			late.Store(true)
			end()
		})
		defer timer.Stop()
	}
	home := homeDir()
	p := &printed{}
	out := c.runner.Run(ctx, runner.Cmd{
		Path: "/bin/bash", Args: []string{"-c", doc.Command}, Dir: home,
		Env: append(outsideEnviron(c.present.now().Path, home),
			"JUJU_MACHINE_ID="+t.Machine, "JUJU_MODEL_NAME="+c.model.Name(), "JUJU_MODEL_UUID="+c.model.UUID(), c.mark(t),
		),
		Output: func(s runner.Stream, line string) {
			p.add(s, line)
			c.logLine(t.Machine, line)
		},
		Linger: (&doing{}).linger(),
	})
	o := model.TaskOutcome{Code: out.Exit, Ran: true}
	p.take(&o)
	switch {
	case out.Err != nil:
		o.Failed, o.Ran, o.Message = true, false, out.Err.Error()
	case late.Load() && out.Stopped:
		o.Failed, o.Code, o.Message = true, -1, fmt.Sprintf("timed out after %s", doc.Timeout)
	case out.Stopped || out.Signal == syscall.SIGTERM || out.Signal == syscall.SIGKILL:
		o.Failed, o.Code, o.Message = true, -1, "terminated"
	case out.Signal != 0:
		o.Failed, o.Code, o.Message = true, -1, fmt.Sprintf("ended by the signal %s", out.Signal)
	}
	return o
}

// homeDir is that of this process's user, where there is one.
func homeDir() string {
	home, err := os.UserHomeDir()
	if _, serr := os.Stat(home); err != nil || serr != nil {
		return "/"
	}
	return home
}

// outsideEnviron is the environment of commands that are in no unit's context.
func outsideEnviron(path, home string) []string {
	return []string{"PATH=" + path, "HOME=" + home, "LANG=C.UTF-8", "TERM=dumb"}
}

// logLine writes what commands print into the model's log.
func (c *commands) logLine(machine, line string) {
	err := c.debugLog.Write(debuglog.Entry{
		Time: c.Clock.Now(), Entity: "machine-" + machine, Level: "DEBUG", Module: "machine." + machine + ".exec", Message: line,
	})
	if err != nil {
		c.Log.Error("cannot write the log", "err", err)
	}
}
