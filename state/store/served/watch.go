package served

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// watch tells of changes until the connection ends. First it says from which revision on.
func (c *served) watch(ctx context.Context, of []store.Keys, from int64) error {
	if !c.caller.MayRead(of...) {
		return c.reply(answer{}, c.caller.Refused())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// What comes between these two is told too often, never too rarely.
	rev, err := c.Store.View(ctx, func(store.Reader) error { return nil })
	if err != nil {
		return c.reply(answer{}, err)
	}
	// A revision that is to come is one of a store from before it was restored from a copy: the
	// other end sees that by the answer.
	if from == 0 || from > rev {
		from = rev
	}
	began, err := c.user.watches.enter(ctx) // the past is looked for while others wait
	if err != nil {
		return errors.Trace(err)
	}
	batches, err := c.Store.Watch(ctx, of, from)
	began()
	if err := c.reply(answer{Rev: from}, err); err != nil || batches == nil {
		return errors.Trace(err)
	}
	gone := make(chan struct{})
	go func() { // nothing comes on this connection any more but its end
		defer close(gone)
		defer stop()
		_, _ = c.wire.size(maxQuestion)
	}()
	defer func() {
		c.conn.Close()
		<-gone
	}()
	for b := range batches {
		if err := c.send(answer{Batch: &b}); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.New("the watch has ended")
}
