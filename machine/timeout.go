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

// limit is a context that ends when the unit's hooks have taken as long as they
// may, by the agent's clock. verdict ends it, and makes of a run that it has
// stopped one that has failed.
func (u *unit) limit(ctx context.Context) (_ context.Context, verdict func(uniter.Result) uniter.Result) {
	u.unlimited = func() {}
	if u.timeout <= 0 {
		return ctx, func(res uniter.Result) uniter.Result { return res }
	}
	late := timedOut{u.timeout}
	limited, end := context.WithCancelCause(ctx)
	u.until.Store(u.clock.Now().Add(u.timeout).UnixNano())
	timer := u.clock.AfterFunc(u.timeout, func() { end(late) })
	u.unlimited = func() {
		timer.Stop()
		u.until.Store(math.MaxInt64)
	}
	return limited, func(res uniter.Result) uniter.Result {
		u.unlimited()
		end(nil)
		if res.Stopped && ctx.Err() == nil && errors.As(context.Cause(limited), &late) {
			f := resolver.Failure{Message: late.Error(), Exit: -1}
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
