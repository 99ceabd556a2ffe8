package uniter

import (
	"context"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/uniter/resolver"
)

// Handed has the doors for a run that goes on though the agent that has begun it doesn't: it
// has handed it over, as its process became another program. The run isn't begun again.
// Source: docs/upgrades.md, "What is handed over".
type Handed struct {
	// Run is its number. If the journal has another one as the newest, or none that goes
	// on, the run is none of this agent's.
	Run int64
	// Limit is Run.Limit of that run.
	Limit time.Duration
	// Lock is Config.Lock for that run: the unit has its turn before anybody else. The error
	// is ErrRefused, if that was waited for for too long.
	Lock func(ctx context.Context) (unlock func(), err error)
	// Refuse is called if the agent doesn't go on with it: it is ended as after a crash.
	Refuse func()
	// GoOn is Config.RunHook for the rest of that run.
	GoOn func(ctx context.Context, run Run) Result
}

// ErrRefused is returned by Handed.Lock for a run that has been ended meanwhile.
const ErrRefused = errors.ConstError("the run that was handed over has been ended")

// goOn goes on with the run that was handed over, if there is one, before anything else is
// decided. over: nothing is to be decided after it.
func (a *agent) goOn(ctx context.Context) (over bool, err error) {
	c := a.local.Current
	if a.Handed == nil {
		return false, nil
	}
	defer a.Handed.Refuse() // unless it has gone on
	if c == nil || c.Run != a.Handed.Run || c.Step != resolver.Pending || c.Over {
		return false, nil
	}
	for {
		remote, err := a.Observe(ctx, a.local)
		if err == nil && remote.Gone {
			return false, nil // what is running is ended, as after a crash
		}
		if err == nil {
			break
		}
		if a.retry(ctx, resolver.Op{}, "cannot read the model", err) != nil {
			break // it stops, and the hook with it, in good order
		}
	}
	unlock, err := a.Handed.Lock(ctx)
	if errors.Is(err, ErrRefused) {
		return false, nil
	}
	if err != nil {
		return true, errors.Trace(err)
	}
	defer unlock()
	op := resolver.Op{Verb: resolver.RunHook, Hook: c.Hook, Run: c.Run, Limit: a.Handed.Limit}
	run := Run{Hook: c.Hook, Number: c.Run, Local: a.local, Limit: a.Handed.Limit}
	a.Report(ctx, Report{Kind: Running, Hook: run.Hook, Run: run.Number, Local: a.local, Reason: "goes on after an upgrade of the agent"})
	switch err := a.conclude(ctx, op, run, a.Handed.GoOn(ctx, run)); {
	case err == nil:
		return false, nil
	case errors.Is(err, errStorage):
		return true, errors.Trace(err)
	default:
		return false, errors.Trace(a.retry(ctx, op, "cannot "+string(op.Verb), err))
	}
}
