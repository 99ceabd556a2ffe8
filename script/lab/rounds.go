package lab

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Rounds is the machine.Config.Rounds of an agent under test: time doesn't stop
// for what an agent does again and again only to find that nothing has changed.
// The script has it done when it wants to know what would have been found. It is
// safe for use by many goroutines; the zero value with a Clock is ready.
type Rounds struct {
	Clock *Clock

	mu     sync.Mutex
	rounds []*round
	wanted bool
}

// round is one that somebody waits to make.
type round struct {
	at   time.Time
	due  chan func()
	over context.Context
	end  func()
}

// After is machine.Config.Rounds.
func (r *Rounds) After(ctx context.Context, d time.Duration) <-chan func() {
	over, end := context.WithCancel(ctx)
	one := &round{at: r.Clock.Now().Add(d), due: make(chan func(), 1), over: over, end: end}
	r.mu.Lock()
	defer r.mu.Unlock()
	// Who doesn't wait any more makes no rounds.
	r.rounds = slices.DeleteFunc(r.rounds, func(o *round) bool { return o.over.Err() != nil })
	r.rounds = append(r.rounds, one)
	return one.due
}

// Make has all rounds made whose time has come, and returns when they are over.
func (r *Rounds) Make() {
	now := r.Clock.Now()
	r.mu.Lock()
	var due []*round
	r.rounds = slices.DeleteFunc(r.rounds, func(o *round) bool {
		if o.at.After(now) {
			return false
		}
		due = append(due, o)
		return true
	})
	r.wanted = r.wanted && len(due) == 0
	r.mu.Unlock()
	for _, o := range due {
		o.due <- o.end
	}
	for _, o := range due {
		<-o.over.Done()
	}
}

// Want says that the next rounds will find something.
func (r *Rounds) Want() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted = true
}

// Next is when the next round is due, if it will find something, as one always
// does where the agent is in trouble; else zero.
func (r *Rounds) Next(trouble bool) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	var next time.Time
	for _, o := range r.rounds {
		if (trouble || r.wanted) && (next.IsZero() || o.at.Before(next)) && o.over.Err() == nil {
			next = o.at
		}
	}
	return next
}
