package uniter

import (
	"context"
	"time"

	"github.com/juju/errors"
)

// commitTries is how often a commit is tried that fails for another reason
// than what the hook wrote, or that the model doesn't answer.
const commitTries = 5

// commitTime bounds one try, and commitPause what goes by between two.
const (
	commitTime  = 15 * time.Second
	commitPause = 5 * time.Second
)

// commit writes to the model what a run changed, by write. What the model
// refuses is the run's failure; a model that can't be reached is tried again, for
// as long as it can't: the hook has done nothing wrong, and what else is due can't
// be known either.
func (a *agent) commit(ctx context.Context, run Run, write func(context.Context) error) error {
	failed := 0
	for try := 1; ; try++ {
		hope := a.Hope() // before the try, so that none is missed
		// The hook has succeeded: an agent that stops now finishes its commit
		// first, or the run would be called interrupted.
		deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
		err := write(deadline)
		cancel()
		if err == nil || refused(err) {
			return errors.Trace(err)
		}
		unreachable := errors.Is(err, ErrUnreachable) || errors.Is(err, context.DeadlineExceeded)
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

// refused says whether a commit has failed for good: for what the hook wrote,
// or because its unit is gone.
func refused(err error) bool {
	return errors.Is(err, ErrOvertaken) || errors.Is(err, errors.NotValid) ||
		errors.Is(err, errors.NotFound) || errors.Is(err, errors.AlreadyExists) || errors.Is(err, errors.Forbidden) || errors.Is(err, errors.QuotaLimitExceeded)
}
