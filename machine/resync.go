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

// resync looks at everything, unless nothing was written since it did so the last
// time: so models in which nothing happens cost one read. That all was said to be
// settled meanwhile proves nothing, for what was lost can lie before it. Of what
// concerns nobody here it only says anew that it is settled where it must.
func (a *modelAgent) resync(ctx context.Context) error {
	rev, err := a.model.Rev(ctx)
	if err != nil || rev == a.looked {
		return errors.Trace(err)
	}
	unsettled, err := a.model.Unsettled(ctx, a.joined())
	if err != nil {
		return errors.Trace(err)
	}
	dirty := a.dirty || unsettled
	if err := a.lookAtAll(ctx); err != nil {
		return errors.Trace(err)
	}
	a.rev, a.looked, a.dirty = max(a.rev, rev), rev, dirty
	return nil
}

// lookAtAll does what any change of the model, and of the host, would ask for.
func (a *modelAgent) lookAtAll(ctx context.Context) error {
	if err := a.react(ctx, everything); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(a.tellHost(ctx))
}
