package machine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/juju/clock"
)

// rounds are work beside the units' agents that is done again whenever somebody
// pokes it, and, with longer and longer pauses, where something has failed.
type rounds struct {
	clock   clock.Clock
	changed chan struct{} // has room for one
	// pokes counts the pokes, seen those that the last round has heard of; due is
	// when there will be another one without a poke. idle is told when a round has
	// ended.
	pokes, seen atomic.Int64
	due         deadline
	idle        func()
	// failures counts the rounds in a row in which something has failed.
	failures int
}

// begin makes rounds of which none has been.
func (r *rounds) begin(c clock.Clock, idle func()) {
	r.clock, r.idle, r.changed = c, idle, make(chan struct{}, 1)
	r.seen.Store(-1)
}

// poke asks for another round.
func (r *rounds) poke() {
	r.pokes.Add(1)
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// settled says whether all was done that was asked for.
func (r *rounds) settled() bool {
	return r.seen.Load() == r.pokes.Load() && !r.due.over(r.clock.Now())
}

// The times between the tries of what can't be had.
const (
	firstTry = 10 * time.Second
	lastTry  = 5 * time.Minute
)

// work does rounds until ctx ends; round says whether to try again.
func (r *rounds) work(ctx context.Context, round func(context.Context) (again bool)) {
	for {
		pokes := r.pokes.Load()
		var due time.Time
		var alarm <-chan time.Time
		stop := func() bool { return false }
		if again := round(ctx); again {
			due = r.clock.Now().Add(min(firstTry<<min(r.failures, 10), lastTry))
			timer := r.clock.NewAlarm(due)
			alarm, stop = timer.Chan(), timer.Stop
			r.failures++
		} else {
			r.failures = 0
		}
		r.due.set(due)
		r.seen.Store(pokes)
		r.idle()
		select {
		case <-ctx.Done():
			stop()
			return
		case <-r.changed:
		case <-alarm:
		}
		stop()
	}
}
