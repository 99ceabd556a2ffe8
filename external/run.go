package external

import (
	"context"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

// seeEvery is how long a status of what is offered may have changed unseen: to read it is to read
// all of the application's units.
const seeEvery = time.Second

// Run keeps both models alike until ctx ends. It returns nil once nothing here refers to the other
// one any more, of which where it is was forgotten then. Else the error is of one of the stores.
func (l *Link) Run(ctx context.Context, c clock.Clock) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var told [2]<-chan state.Change
	for i := range told {
		var err error
		if told[i], err = l.side(i).WatchExternal(ctx, i == there); err != nil {
			return errors.Trace(err)
		}
	}
	if err := l.Round(ctx); err != nil {
		return errors.Trace(err)
	}
	see := c.After(0)
	for {
		forget := false
		select {
		case change, ok := <-told[here]:
			if !ok {
				return errors.Annotate(ended(ctx), "here")
			}
			if err := l.changed(ctx, here, change); err != nil {
				return errors.Trace(err)
			}
			forget = change.Consumed || change.Resync
		case change, ok := <-told[there]:
			if !ok {
				return errors.Annotate(ended(ctx), "there")
			}
			if err := l.changed(ctx, there, change); err != nil {
				return errors.Trace(err)
			}
			if see == nil {
				see = c.After(seeEvery)
			}
		case <-see:
			see = nil
			if err := l.See(ctx); err != nil {
				return errors.Trace(err)
			}
			forget = true // it may have been so from the beginning
		}
		if !forget {
			continue
		}
		if gone, err := l.Here.ForgetExternal(ctx, l.There.UUID()); err != nil || gone {
			return errors.Trace(err)
		}
	}
}

// ended is why a store tells nothing more.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.Trace(ctx.Err())
	}
	return errors.New("the store has ended")
}
