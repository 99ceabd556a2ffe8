package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/uniter"
	"github.com/unitd/unitd/uniter/resolver"
)

// doing is the task that a unit runs.
type doing struct {
	state.TaskDoc
	printed printed
}

// linger is how long the end of the output is waited for once a program has
// exited: who waits for a task wants all of it. A daemon that holds on to it
// delays the task by as much.
func (d *doing) linger() time.Duration {
	if d == nil {
		return 0 // as the runner has it: the log gets what comes later
	}
	return 3 * time.Second
}

func (u *unit) taskDoors() uniter.TaskDoors {
	return uniter.TaskDoors{Start: u.startTask, Run: u.runTask, Commit: u.commitTask, Abort: u.abortTask}
}

// startTask is the Start door.
func (u *unit) startTask(ctx context.Context, run uniter.Run) error {
	// Whoever cancels the task once it is started finds it here.
	u.ending.begin(run.Hook.Task)
	doc, err := u.model.StartTask(ctx, u.name, run.Hook.Task)
	if err != nil {
		u.ending.end()
		if errors.Is(err, state.ErrTaskEnded) || errors.Is(err, errors.NotFound) {
			return errors.WithType(err, uniter.ErrTaskGone)
		}
		return errors.Trace(err)
	}
	u.doing = &doing{TaskDoc: doc}
	return nil
}

// runTask is the Run door: what a hook run is, with what it prints kept.
func (u *unit) runTask(ctx context.Context, run uniter.Run) uniter.TaskResult {
	task := u.doing
	defer func() { u.doing = nil }()
	defer u.ending.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	u.ending.arm(cancel)
	late := u.after(ctx, task, cancel)
	entry := history.Entry{Unit: u.name, Run: run.Number, Hook: run.Hook, Started: u.clock.Now(), Seen: u.seenRev}
	u.trace(ctx, run, entry.Started, "")
	calls := calls{began: time.Now(), entry: &entry, mask: &u.mask}
	if task.Kind == state.ActionTask { // of commands there is nothing to replay
		u.taking = u.take(run)
	}
	taking := u.taking
	u.server.OnCall(func(c tools.Call) {
		calls.add(c)
		taking.call(c)
		_ = u.at(ctx, PointTool, run.Number, run.Hook, c.Tool)
	})
	hctx, res := u.executeAt(ctx, run, &entry)
	u.taking, u.taken = nil, taking.end()
	if res.Stopped {
		u.endLeftover(context.WithoutCancel(ctx), run)
	}
	calls.end()
	u.server.OnCall(nil)
	entry.Duration = u.clock.Now().Sub(entry.Started)
	u.running = &entry
	out := u.taskResult(task, hctx, res, entry.Missing)
	entry.Written = history.WrittenBy(out.Changes)
	if late() && res.Stopped {
		out.Outcome.Message = fmt.Sprintf("timed out after %s", task.Timeout)
	}
	return out
}

// after ends a task once its time is over; late says whether it did.
func (u *unit) after(ctx context.Context, task *doing, end func()) (late func() bool) {
	if task.Timeout <= 0 {
		return func() bool { return false }
	}
	over := make(chan bool, 1)
	timer := u.clock.NewTimer(task.Timeout)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.Chan():
			over <- true
			end()
		case <-ctx.Done():
			over <- false
		}
	}()
	return func() bool {
		end()
		return <-over
	}
}

// taskResult is what people are told of a task that has ended as res says.
// Source: docs/spec/uniter-behaviour.md §7, docs/spec/cli-juju.md §2.3.
func (u *unit) taskResult(task *doing, hctx *hookcontext.Context, res uniter.Result, missing bool) uniter.TaskResult {
	var r uniter.TaskResult
	if hctx != nil {
		r.Outcome = hctx.ActionOutcome()
	}
	o, f := &r.Outcome, res.Failure
	task.printed.take(o)
	const cutOff = "terminated"
	reason, wished := "", false
	if hctx != nil && !res.Stopped {
		reason, wished = hctx.Failed()
		reason = u.mask.text(reason)
	}
	switch {
	case missing:
		o.Failed, o.Message = true, fmt.Sprintf("action not implemented on unit %q", u.name)
	case wished:
		o.Failed, o.Message, o.Code, o.Ran = true, reason, 1, true
	case res.Stopped:
		o.Failed, o.Message, o.Code, o.Ran = true, cutOff, -1, true
	case f == nil:
		o.Ran, r.Changes = true, hctx.Changes()
	case f.Exit > 0 && task.Kind == state.ExecTask:
		o.Code, o.Ran, r.Changes = f.Exit, true, hctx.Changes()
	case f.Exit > 0:
		o.Failed, o.Message, o.Code, o.Ran = true, fmt.Sprintf("exit status %d", f.Exit), f.Exit, true
	case f.Signal == "SIGTERM" || f.Signal == "SIGKILL":
		o.Failed, o.Message, o.Code, o.Ran = true, cutOff, -1, true
	default:
		o.Failed, o.Message, o.Code, o.Ran = true, f.Message, -1, f.Signal != ""
	}
	return r
}

// commitTask is the Commit door.
func (u *unit) commitTask(ctx context.Context, run uniter.Run, res uniter.TaskResult) error {
	c := state.TaskCommit{Unit: u.name, Run: run.Number, Task: run.Hook.Task, Changes: res.Changes, Outcome: res.Outcome}
	var err error
	if c.Memory, err = json.Marshal(resolver.Remember(run.Local, nil)); err != nil {
		return errors.Trace(err)
	}
	c.Boot, c.At, c.By = u.bootToLeave(), u.ranAt(run), u.traced.by(run.Number)
	_ = u.at(ctx, PointCommit, run.Number, run.Hook, "")
	began := u.clock.Now()
	err = u.model.CommitTask(ctx, c)
	switch {
	case errors.Is(err, state.ErrNotLeader):
		return errors.WithType(err, uniter.ErrOvertaken)
	case errors.Is(err, errNotWritten):
		return errors.WithType(err, uniter.ErrUnreachable)
	case err == nil:
		u.traced.committed(began, u.clock.Now())
		_ = u.at(ctx, PointCommitted, run.Number, run.Hook, "")
		u.committedReboot(ctx, state.HookCommit{Changes: c.Changes})
	}
	return errors.Trace(err)
}

// abortTask is the Abort door.
func (u *unit) abortTask(ctx context.Context, run uniter.Run) error {
	return u.model.AbortTask(ctx, u.name, run.Number, run.Hook.Task)
}

// program is what a run runs, with its arguments; empty: the charm has no such
// thing.
func (u *unit) program(run uniter.Run) (path string, args []string, err error) {
	if run.Hook.Kind == hooks.Exec {
		return "/bin/bash", []string{"-c", u.doing.Command}, nil
	}
	if u.instead != nil {
		path = u.instead(u.model.UUID(), u.name, run.Number, run.Hook)
	}
	if path != "" {
		u.taking = nil // what is recorded is replayed with the charm
		u.logLine(debuglog.Entry{Level: "INFO", Module: "unitd.hooks", Message: fmt.Sprintf("hook %q runs %s instead of the charm's executable", run.Hook.Name(), path)})
		return path, nil, nil
	}
	path, err = Executable(u.charm.Path(), run.Hook.Path())
	return path, nil, err
}

// action is what the context of a run has of the action that it is of; nil: of
// none.
func (u *unit) action(h hooks.Info) *hookcontext.Action {
	if h.Kind != hooks.Action {
		return nil
	}
	return &hookcontext.Action{Name: h.Action, Params: u.doing.Params}
}

// printed is what a task prints. It is safe for use by many goroutines.
type printed struct {
	mu       sync.Mutex
	out, err ended
	taken    bool
}

// maxPrinted is how much of the end of each stream is kept, in bytes: more than a
// task can keep.
const maxPrinted = 1 << 20

// ended is the end of a text, after so many bytes that are lost.
type ended struct {
	text []byte
	lost int
}

func (p *printed) add(s runner.Stream, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &p.out
	if s == runner.Stderr {
		b = &p.err
	}
	if p.taken {
		return
	}
	b.text = append(append(b.text, line...), '\n')
	if more := len(b.text) - maxPrinted; more > maxPrinted {
		b.text, b.lost = bytes.Clone(b.text[more:]), b.lost+more
	}
}

// take puts what was printed into the outcome; what comes later, of daemons, is no
// part of it.
func (p *printed) take(o *model.TaskOutcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = true
	o.Stdout, o.StdoutLost = string(p.out.text), p.out.lost
	o.Stderr, o.StderrLost = string(p.err.text), p.err.lost
}

// ending is by whom a task that runs can be ended. It is safe for use by many
// goroutines.
type ending struct {
	mu     sync.Mutex
	task   string // empty: none runs
	wanted bool
	cancel func()
}

func (e *ending) begin(task string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.task, e.wanted, e.cancel = task, false, nil
}

// arm says how the task is ended; it is at once if that is wanted already.
func (e *ending) arm(cancel func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancel = cancel
	if e.wanted {
		cancel()
	}
}

func (e *ending) end() { e.begin("") }

// running is the id of the task that runs; empty: none does.
func (e *ending) running() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.task
}

// want ends the task, if it is the one that runs.
func (e *ending) want(task string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.task != task {
		return
	}
	e.wanted = true
	if e.cancel != nil {
		e.cancel()
	}
}

// endCancelled ends tasks that run and that somebody has cancelled: their units
// don't look at the model before they have ended.
func (a *modelAgent) endCancelled(ctx context.Context, c state.Change) error {
	of := c.Units
	if c.Resync {
		of = map[model.UnitName]bool{}
		for name := range a.units {
			of[name] = true
		}
	}
	for name := range of {
		u, ok := a.units[name]
		if !ok {
			continue
		}
		id := u.ending.running()
		if id == "" {
			continue
		}
		doc, err := a.model.Task(ctx, id)
		switch {
		case err != nil && !errors.Is(err, errors.NotFound):
			return errors.Trace(err)
		case err == nil && doc.Status == state.TaskAborting:
			u.ending.want(id)
		}
	}
	return nil
}

// taskInfo is the run of a task.
func taskInfo(t state.NextTask) hooks.Info {
	h := hooks.Info{Task: t.ID, Action: t.Action, Cause: "task " + t.ID}
	switch t.Kind {
	case state.ActionTask:
		h.Kind = hooks.Action
	case state.ExecTask:
		h.Kind = hooks.Exec
		h.Endpoint, h.RemoteUnit = t.Endpoint, t.RemoteUnit
		if t.RemoteUnit != "" {
			h.RemoteApp = t.RemoteUnit.Application()
		}
		if t.Endpoint != "" {
			h.RelationID = t.Relation
		}
	}
	return h
}

// recordFound writes the end of a task into the history that an agent finds in
// the model: it was killed before it could say how the task had ended.
func (u *unit) recordFound(ctx context.Context, e resolver.Ended) {
	doc, err := u.model.Task(ctx, e.Hook.Task)
	if err == nil && e.How == resolver.EndedCommitted && doc.Status != state.TaskCompleted {
		e.How, e.Message = resolver.EndedFailed, doc.Message
	}
	if code, ok := doc.Results["return-code"].(int64); ok && e.How != resolver.EndedInterrupted {
		e.Exit = int(code)
	}
	u.recordEnded(e)
}

// seenInTask is the status of an agent that runs a task. One whose unit is in
// error stays in error.
func (u *unit) seenInTask(r uniter.Report) state.Report {
	switch {
	case r.Local.Current != nil:
		return state.Report{}
	case r.Hook.Kind == hooks.Action:
		return u.agentStatus(model.StatusExecuting, "running action "+r.Hook.Action, nil)
	}
	return u.agentStatus(model.StatusExecuting, "running commands", nil)
}
