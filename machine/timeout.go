package machine

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/uniter"
	"github.com/unitd/unitd/uniter/resolver"
)

// timedOut is why the context of a hook has ended that took too long.
type timedOut struct{ after time.Duration }

// Error is part of error.
func (t timedOut) Error() string { return fmt.Sprintf("timed out after %s", t.after) }

// limit is a context that ends when a run has taken as long as the unit's hooks
// may, or as its own limit says, by the agent's clock. verdict ends it, and makes of a run that it has
// stopped one that has failed. until is when a run has taken too long that has begun before; zero:
// it begins now.
func (u *unit) limit(ctx context.Context, own time.Duration, until time.Time) (_ context.Context, verdict func(uniter.Result) uniter.Result) {
	u.unlimited = func() {}
	timeout := u.timeout
	if timeout <= 0 || own > 0 && own < timeout {
		timeout = own
	}
	if timeout <= 0 {
		return ctx, func(res uniter.Result) uniter.Result { return res }
	}
	late := timedOut{timeout}
	limited, end := context.WithCancelCause(ctx)
	now := u.clock.Now()
	if until.IsZero() {
		until = now.Add(timeout)
	}
	u.until.Store(until.UnixNano())
	timer := u.clock.AfterFunc(max(until.Sub(now), 0), func() { end(late) })
	u.unlimited = func() {
		timer.Stop()
		u.until.Store(math.MaxInt64)
	}
	return limited, func(res uniter.Result) uniter.Result {
		u.unlimited()
		end(nil)
		if res.Stopped && ctx.Err() == nil && errors.As(context.Cause(limited), &late) {
			f := resolver.Failure{Message: late.Error(), Exit: -1, TimedOut: true}
			if res.Failure != nil {
				f.Output = res.Failure.Output
			}
			return uniter.Result{Failure: &f}
		}
		return res
	}
}

// stands says whether the unit waits at a Point, and not for its time-out, which
// has come.
func (u *unit) stands() bool {
	return u.gate.stands() && u.clock.Now().UnixNano() < u.until.Load()
}
