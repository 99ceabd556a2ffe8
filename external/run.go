package external

import (
	"context"
	"slices"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

const (
	// seeEvery is how long a status of what is offered may have changed unseen: to read it is to read
	// all of the application's units.
	seeEvery = time.Second
	// roundEvery is when a Link looks at all without having been told of anything: a store that can't be
	// reached says nothing, and two Links, as an agent has one that takes over from another, may have
	// brought things in the wrong order.
	roundEvery = time.Minute
)

// ErrMoved is the error of Run once the other model is in another store than before.
const ErrMoved = errors.ConstError("the other model is in another store now")

// Run keeps both models alike until ctx ends. It returns nil once nothing here refers to the other
// one any more, of which where it is was forgotten then. Else the error is ErrMoved, or of one of the
// stores.
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
	see, round, first := c.After(0), c.After(roundEvery), true
	for {
		consumed := false
		select {
		case change, ok := <-told[here]:
			if !ok {
				return errors.Annotate(ended(ctx), "here")
			}
			if err := l.changed(ctx, here, change); err != nil {
				return errors.Trace(err)
			}
			consumed = change.Consumed || change.Resync
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
		case <-round:
			if err := l.Round(ctx); err != nil {
				return errors.Trace(err)
			}
			if round, consumed = c.After(roundEvery), true; see == nil {
				see = c.After(0)
			}
		case <-see:
			see = nil
			if err := l.See(ctx); err != nil {
				return errors.Trace(err)
			}
			consumed, first = first, false // it may have been so from the beginning
		}
		if !consumed {
			continue
		}
		if done, err := l.done(ctx); err != nil || done {
			return errors.Trace(err)
		}
		if see == nil && l.unseen(ctx) {
			see = c.After(0)
		}
	}
}

// done forgets where the other model is once nothing here refers to it, and that it has been told so.
func (l *Link) done(ctx context.Context) (bool, error) {
	doc, err := l.Here.External(ctx, l.There.UUID())
	switch {
	case errors.Is(err, errors.NotFound): // it was forgotten by force
		return true, errors.Trace(l.Round(ctx))
	case err != nil:
		return false, errors.Trace(err)
	case doc != l.Doc:
		return false, errors.Trace(ErrMoved)
	}
	if refers, err := l.Here.RefersTo(ctx, l.There.UUID()); err != nil || refers {
		return false, errors.Trace(err)
	}
	if err := l.Round(ctx); err != nil {
		return false, errors.Trace(err)
	}
	gone, err := l.Here.ForgetExternal(ctx, l.There.UUID())
	return gone, errors.Trace(err)
}

// unseen says whether something was consumed of which the status was never seen.
func (l *Link) unseen(ctx context.Context) bool {
	all, err := l.Here.ConsumedExternal(ctx, l.There.UUID())
	return err == nil && slices.ContainsFunc(all, func(s state.SAASDoc) bool { return s.Seen == nil })
}

// ended is why a store tells nothing more.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.Trace(ctx.Err())
	}
	return errors.New("the store has ended")
}
