package uniter

import (
	"context"
	"fmt"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/journal"
	"github.com/unitd/unitd/uniter/resolver"
)

// Run is the agent of one unit until the unit is gone or Dead (nil), or ctx
// ends (its error). A hook that runs then is stopped and will be run again.
// Other errors are those of the journal: the agent must not go on without it.
func (c *Config) Run(ctx context.Context) error {
	a, err := newAgent(c)
	if err != nil {
		return errors.Trace(err)
	}
	defer a.journal.Close()
	if over, err := a.goOn(ctx); over || err != nil {
		return errors.Trace(err)
	}
	return a.loop(ctx)
}

// newAgent is the agent as it was when it last stored something.
func newAgent(c *Config) (*agent, error) {
	j, local, err := journal.Open(c.Disk, c.Dir, c.Unit, c.ID)
	if err != nil {
		return nil, errors.Trace(err)
	}
	deployed, err := c.Deployed()
	if err != nil {
		_ = j.Close() // nothing was written
		return nil, errors.Annotatef(err, "cannot tell which charm %s has", c.Unit)
	}
	return &agent{Config: *c, journal: j, local: resolver.Resume(local, deployed, c.Clock.Now())}, nil
}

type agent struct {
	Config
	journal *journal.Journal
	local   resolver.Local
	// trouble counts the operations in a row that couldn't be done.
	trouble int
	// told is the last thing that people were told, so as not to say it again, and
	// logged the trouble that the log has.
	told, logged string
}

// endLeftover makes sure that no process of an interrupted run is alive before
// anything else runs. What a run that has committed left running stays.
func (a *agent) endLeftover(ctx context.Context) {
	if hook, run, ok := a.local.Interrupted(); ok {
		a.EndLeftover(ctx, Run{Hook: hook, Number: run, Local: a.local})
	}
}

// loop has little on its stack while it waits: with what step has there, each idle unit
// would keep a stack of 32 KB.
func (a *agent) loop(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return errors.Trace(err)
		}
		wake, next, err := a.step(ctx)
		if err == nil && next == idle {
			err = a.wait(ctx, wake, nil)
		}
		if err != nil || next == over {
			return errors.Trace(err)
		}
	}
}

// next is what comes after a step.
type next int

const (
	again next = iota // another one
	idle              // waiting
	over              // nothing
)

// step looks, and does what is due. Where that is nothing, wake is when it is to look
// again, nil if only for a change.
func (a *agent) step(ctx context.Context) (wake clock.Alarm, _ next, err error) {
	remote, err := a.Observe(ctx, a.local)
	if err != nil {
		return nil, again, errors.Trace(a.retry(ctx, resolver.Op{}, "cannot read the model", err))
	}
	op := resolver.Next(a.local, remote)
	switch op.Verb {
	case resolver.Terminate:
		a.endLeftover(ctx)
		a.Log.Info("unit agent ends", "unit", a.Unit, "reason", op.Reason)
		return nil, over, nil
	case resolver.Idle:
		a.trouble, a.logged = 0, ""
		// What will wake it is armed before anybody is told that it sleeps.
		wake = a.alarm(op.Until)
		a.reportIdle(ctx, op)
		return wake, idle, nil
	}
	a.told = ""
	switch err := a.do(ctx, op); {
	case err == nil:
		a.trouble, a.logged = 0, ""
	case errors.Is(err, errStorage):
		return nil, over, errors.Trace(err)
	default:
		return nil, again, errors.Trace(a.retry(ctx, op, "cannot "+string(op.Verb), err))
	}
	return nil, again, nil
}

// errStorage marks what went wrong with the journal.
const errStorage = errors.ConstError("journal")

// do carries out one operation that isn't Idle or Terminate.
func (a *agent) do(ctx context.Context, op resolver.Op) error {
	switch op.Verb {
	case resolver.RunHook, resolver.RunTask:
		return a.runInTurn(ctx, op)
	case resolver.AbortTask:
		if err := a.abortTask(ctx, op); err != nil {
			return errors.Trace(err)
		}
	case resolver.Interrupt:
		a.endLeftover(ctx)
	case resolver.Deploy:
		a.Report(ctx, Report{Kind: Deploying, Local: a.local, Reason: op.Reason})
		if err := a.Deploy(ctx, op.Charm); err != nil {
			return errors.Annotatef(err, "cannot deploy charm %s", op.Charm)
		}
	case resolver.Replace:
		a.Report(ctx, Report{Kind: Replacing, Local: a.local, Reason: op.Reason})
		if err := a.Replace(ctx, op.Pod); err != nil {
			return errors.Annotate(err, "cannot replace the unit's containers")
		}
	case resolver.EnterScope:
		for _, id := range op.Relations {
			if err := a.EnterScope(ctx, id); err != nil {
				return errors.Annotatef(err, "cannot enter the scope of relation %d", id)
			}
		}
	case resolver.LeaveScope:
		for _, id := range op.Relations {
			if err := a.LeaveScope(ctx, id); err != nil {
				return errors.Annotatef(err, "cannot leave the scope of relation %d", id)
			}
		}
	case resolver.Detach:
		for _, id := range op.Storage {
			if err := a.DetachStorage(ctx, id); err != nil {
				return errors.Annotatef(err, "cannot detach storage %s", id)
			}
		}
	case resolver.MarkDying:
		return errors.Trace(a.MarkDying(ctx))
	case resolver.MarkDead:
		return errors.Trace(a.MarkDead(ctx))
	}
	switch op.Verb {
	case resolver.Forget:
		a.Log.Warn(string(op.Verb), "unit", a.Unit, "reason", op.Reason, "relations", op.Relations, "containers", op.Workloads)
	case resolver.Skip, resolver.Discard, resolver.Interrupt, resolver.Requeue, resolver.AbortTask, resolver.Recall, resolver.Unqueue, resolver.SetAside:
		a.Log.Warn(string(op.Verb), "unit", a.Unit, "hook", op.Hook.Name(), "reason", op.Reason)
	}
	if err := a.become(op, a.event(resolver.Done), true); err != nil {
		return errors.Trace(err)
	}
	a.reportDone(ctx, op)
	return nil
}

func (a *agent) reportDone(ctx context.Context, op resolver.Op) {
	switch op.Verb {
	case resolver.Finish, resolver.Skip:
		a.Report(ctx, Report{Kind: Committed, Hook: op.Hook, Run: op.Run, Local: a.local, Reason: op.Reason})
	case resolver.Recall:
		if e := a.local.Ended; e.Hook.IsTask() && e.Run == op.Run {
			a.Report(ctx, Report{Kind: TaskEnded, Hook: e.Hook, Run: e.Run, Local: a.local, Reason: op.Reason})
		}
	case resolver.FinishTask, resolver.AbortTask:
		a.Report(ctx, Report{Kind: TaskEnded, Hook: op.Hook, Run: op.Run, Local: a.local, Reason: op.Reason})
	case resolver.Requeue:
		a.Report(ctx, Report{Kind: Requeued, Hook: op.Hook, Run: op.Run, Local: a.local, Reason: op.Reason})
	case resolver.Discard, resolver.Replace:
		if op.Run == 0 {
			return // of the containers alone
		}
		a.Report(ctx, Report{Kind: Dropped, Hook: op.Hook, Run: op.Run, Local: a.local, Reason: op.Reason})
	case resolver.Interrupt, resolver.SetAside:
		a.Report(ctx, Report{Kind: a.failedAs(), Hook: op.Hook, Run: op.Run, Local: a.local, Reason: op.Reason})
	}
}

// runInTurn runs a hook or a task when it is the unit's turn: what then is due.
func (a *agent) runInTurn(ctx context.Context, op resolver.Op) error {
	unlock, waited, err := a.Lock(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	defer unlock()
	if waited {
		if op, err = a.again(ctx); err != nil {
			return errors.Trace(err)
		}
	}
	switch op.Verb {
	case resolver.RunHook:
		return a.runHook(ctx, op)
	case resolver.RunTask:
		return a.runTask(ctx, op)
	}
	return nil
}

// runHook is one hook from its announcement to its commit.
func (a *agent) runHook(ctx context.Context, op resolver.Op) error {
	if err := a.become(op, a.event(resolver.Began), true); err != nil {
		return errors.Trace(err)
	}
	run := Run{Hook: op.Hook, Number: op.Run, Local: a.local, Limit: op.Limit}
	a.Report(ctx, Report{Kind: Running, Hook: op.Hook, Run: op.Run, Local: a.local, Reason: op.Reason})
	return a.conclude(ctx, op, run, a.RunHook(ctx, run))
}

// conclude is the rest of a hook that has run.
func (a *agent) conclude(ctx context.Context, op resolver.Op, run Run, res Result) error {
	switch {
	case res.Stopped:
		return errors.Trace(a.requeue(ctx, op, "the agent stops"))
	case res.Trouble != nil:
		if err := a.requeue(ctx, op, res.Trouble.Error()); err != nil {
			return errors.Trace(err)
		}
		return errors.WithType(res.Trouble, ErrNotNow)
	case res.Failure != nil:
		return a.fail(ctx, op, *res.Failure, res.Changes)
	}
	err := a.commit(ctx, run, func(ctx context.Context) error { return a.Commit(ctx, run, res.Changes) })
	switch {
	case errors.Is(err, ErrOvertaken):
		a.Log.Warn("hook overtaken", "unit", a.Unit, "hook", op.Hook.Name(), "err", err)
		return errors.Trace(a.requeue(ctx, op, err.Error()))
	case ctx.Err() != nil && err != nil && !refused(err):
		return errors.Trace(a.become(op, a.event(resolver.CutOff), true))
	case err != nil:
		return a.fail(ctx, op, resolver.Failure{Message: "cannot commit what the hook wrote: " + err.Error(), Exit: -1}, res.Changes)
	}
	// The run's stamp in the model stands for this record on disk.
	done := a.event(resolver.Done)
	done.Requeue = res.Changes.Requeue
	if err := a.become(op, done, false); err != nil {
		return errors.Trace(err)
	}
	a.Report(ctx, Report{Kind: Committed, Hook: op.Hook, Run: op.Run, Local: a.local, Reason: op.Reason})
	return nil
}

// requeue takes a run as one that never was: what is due then is decided anew.
func (a *agent) requeue(ctx context.Context, op resolver.Op, why string) error {
	if err := a.become(op, a.event(resolver.Requeued), true); err != nil {
		return errors.Trace(err)
	}
	a.Report(ctx, Report{Kind: Requeued, Hook: op.Hook, Run: op.Run, Local: a.local, Reason: why})
	return nil
}

// again decides anew, after a wait for the unit's turn.
func (a *agent) again(ctx context.Context) (resolver.Op, error) {
	remote, err := a.Observe(ctx, a.local)
	if err != nil {
		return resolver.Op{}, errors.Annotate(err, "cannot read the model")
	}
	return resolver.Next(a.local, remote), nil
}

// fail ends a run that has failed; what it wrote is told of and dropped.
func (a *agent) fail(ctx context.Context, op resolver.Op, f resolver.Failure, wrote model.Changes) error {
	f.Dropped = wrote.Writes(a.Unit, func(id model.RelationID) string {
		return fmt.Sprintf("%s:%d", a.local.Relations[id].Endpoint, int(id))
	})
	for i, line := range f.Dropped {
		f.Dropped[i] = a.Mask(line)
	}
	e := a.event(resolver.Broke)
	f.At = e.At
	e.Failure = f
	if err := a.become(op, e, true); err != nil {
		return errors.Trace(err)
	}
	a.Report(ctx, Report{Kind: a.failedAs(), Hook: op.Hook, Run: op.Run, Local: a.local, Reason: f.Message})
	return nil
}

// failedAs is what a run that has failed is for people: it may hold nothing up, or
// count as run.
func (a *agent) failedAs() ReportKind {
	switch {
	case a.local.Current != nil:
		return HookError
	case a.local.Ended.How == resolver.EndedCutShort:
		return Committed
	}
	return StoodAside
}

func (a *agent) event(k resolver.EventKind) resolver.Event {
	return resolver.Event{Kind: k, At: a.Clock.Now(), Jitter: a.Jitter()}
}

// become takes note of what became of op; durable before it returns if store.
func (a *agent) become(op resolver.Op, e resolver.Event, store bool) error {
	a.local = resolver.After(a.local, op, e)
	if !store {
		return nil
	}
	if err := a.journal.Store(a.local); err != nil {
		return errors.WithType(err, errStorage)
	}
	return nil
}

func (a *agent) reportIdle(ctx context.Context, op resolver.Op) {
	r := Report{Kind: Settled, Local: a.local, Reason: op.Reason, Until: op.Until}
	if op.Hook != (hooks.Info{}) {
		r.Kind, r.Hook, r.Run = Waiting, op.Hook, op.Run
	}
	key := string(r.Kind) + r.Reason
	r.Again = key == a.told
	a.told = key
	a.Report(ctx, r)
}

// alarm is what a wait until a time waits for; nil: for ever.
func (a *agent) alarm(until time.Time) clock.Alarm {
	if until.IsZero() {
		return nil
	}
	return a.Clock.NewAlarm(until)
}

// wait waits until the model may have changed, or until the alarm.
// hope cuts it short; nil: nothing else does.
func (a *agent) wait(ctx context.Context, alarm clock.Alarm, hope <-chan struct{}) error {
	var ring <-chan time.Time
	if alarm != nil {
		defer alarm.Stop()
		ring = alarm.Chan()
	}
	select {
	case <-ctx.Done():
		return errors.Trace(ctx.Err())
	case <-a.Changed:
	case <-hope:
	case <-ring:
	}
	return nil
}

// retry says what went wrong with an operation and waits a while, longer each
// time.
func (a *agent) retry(ctx context.Context, op resolver.Op, doing string, err error) error {
	if ctx.Err() != nil {
		return errors.Trace(ctx.Err())
	}
	a.trouble++
	a.told = ""
	if errors.Is(err, ErrNotNow) {
		doing = "waits to run " + op.Hook.Name()
	}
	if text := doing + err.Error(); a.logged != text {
		a.logged = text
		a.Log.Error(doing, "unit", a.Unit, "err", err)
	}
	hope := a.Hope()
	until := a.Clock.Now().Add(backOff(a.trouble))
	alarm := a.alarm(until)
	a.Report(ctx, Report{Kind: Trouble, Local: a.local, Reason: doing, Err: err, Until: until})
	return a.wait(ctx, alarm, hope)
}

// backOff is 100 ms doubling to 30 s.
func backOff(try int) time.Duration {
	d := 100 * time.Millisecond
	for range min(try-1, 10) {
		d *= 2
	}
	return min(d, 30*time.Second)
}
