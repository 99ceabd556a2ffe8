package uniter

import (
	"context"
	"time"

	"github.com/juju/errors"
)

// commitTries is how often a commit is tried that fails for another reason
// than what the hook wrote, or that the model doesn't answer.
const commitTries = 5

// commitTime bounds the first try. A try has many round trips to the store, so one
// that runs out of its time gets twice as much the next time, up to commitTimeMost: a
// slow store would never get through. commitPause is what goes by between two tries.
const (
	commitTime     = 15 * time.Second
	commitTimeMost = 4 * time.Minute
	commitPause    = 5 * time.Second
)

// commit writes to the model what a run changed, by write. What the model
// refuses is the run's failure; a model that can't be reached is tried again, for
// as long as it can't: the hook has done nothing wrong, and what else is due can't
// be known either.
func (a *agent) commit(ctx context.Context, run Run, write func(context.Context) error) error {
	failed, limit := 0, commitTime
	for try := 1; ; try++ {
		hope := a.Hope() // before the try, so that none is missed
		trying, cancel := forATry(ctx, limit)
		err := write(trying)
		cancel()
		if err == nil || refused(err) {
			return errors.Trace(err)
		}
		late := errors.Is(err, context.DeadlineExceeded)
		if late {
			limit = min(2*limit, commitTimeMost)
		}
		unreachable := late || errors.Is(err, ErrUnreachable)
		if !unreachable {
			failed++
		}
		if failed == commitTries {
			return errors.Trace(err)
		}
		if !unreachable || try == 1 {
			a.Log.Warn("cannot commit, trying again", "unit", a.Unit, "hook", run.Hook.Name(), "err", err)
		}
		select {
		case <-ctx.Done():
			return errors.Trace(err)
		case <-hope:
		case <-a.Clock.After(min(backOff(try), commitPause)):
		}
	}
}

// forATry is the context of one try. The hook has succeeded: an agent that stops now
// finishes its commit first, or the run would be called interrupted; but it doesn't
// wait for longer than commitTime.
func forATry(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	trying, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	if limit <= commitTime {
		return trying, cancel
	}
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(commitTime)
		defer timer.Stop()
		select {
		case <-trying.Done():
		case <-timer.C:
			cancel()
		}
	})
	return trying, func() {
		stop()
		cancel()
	}
}

// refused says whether a commit has failed for good: for what the hook wrote,
// or because its unit is gone.
func refused(err error) bool {
	return errors.Is(err, ErrOvertaken) || errors.Is(err, errors.NotValid) ||
		errors.Is(err, errors.NotFound) || errors.Is(err, errors.AlreadyExists) || errors.Is(err, errors.Forbidden) || errors.Is(err, errors.QuotaLimitExceeded)
}
