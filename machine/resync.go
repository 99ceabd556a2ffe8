package machine

import (
	"context"
	"time"

	"github.com/juju/errors"
)

// ResyncInterval is how long a change stays unseen, at most, of which the store
// has not told. Engines tell of each one; but an agent that would sleep for ever
// after a notice that was lost would depend on notices.
const ResyncInterval = time.Minute

// resync looks at everything, unless nothing was written since the agent said
// that all was settled: so models in which nothing happens cost one read.
func (a *modelAgent) resync(ctx context.Context) error {
	rev, err := a.model.Rev(ctx)
	if err != nil || rev == a.still {
		return errors.Trace(err)
	}
	if err := a.lookAtAll(ctx); err != nil {
		return errors.Trace(err)
	}
	a.rev = max(a.rev, rev)
	return nil
}

// lookAtAll does what any change of the model, and of the host, would ask for.
func (a *modelAgent) lookAtAll(ctx context.Context) error {
	if err := a.react(ctx, everything); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(a.tellHost(ctx))
}
