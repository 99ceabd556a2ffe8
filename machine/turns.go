package machine

import (
	"context"
	"sync"

	"github.com/juju/errors"
	"golang.org/x/sync/semaphore"
)

// turns are the locks that units take one after the other to run a hook: units
// of one machine and one lock group share one. It is safe for use by many
// goroutines; the zero value is ready.
type turns struct {
	// host has one for each turn of each model of this host, or all for commands
	// that are to be alone; nil: there are no such.
	host *semaphore.Weighted

	mu    sync.Mutex
	locks map[place]*turn
}

// place is what a turn is for; the group is empty for the machine's own.
type place struct{ machine, group string }

// turn is one lock, which is there as long as somebody wants it.
type turn struct {
	held   chan struct{} // has room for one
	wanted int
	// holder has the lock; nil while it goes from one to the next.
	holder *unit
}

// allTurns is more than there can be at a time.
const allTurns = 1 << 40

// take waits until no other unit has the turn, nor commands all of them. waited says whether that took
// time; queued is called before it does.
func (t *turns) take(ctx context.Context, p place, u *unit, queued func(*turn)) (give func(), waited bool, err error) {
	one := t.want(p)
	select {
	case one.held <- struct{}{}:
	default:
		waited = true
		queued(one)
		select {
		case one.held <- struct{}{}:
		case <-ctx.Done():
			t.leave(p, one)
			return nil, false, errors.Trace(ctx.Err())
		}
	}
	if t.host != nil && !t.host.TryAcquire(1) {
		waited = true
		if err := t.host.Acquire(ctx, 1); err != nil {
			<-one.held
			t.leave(p, one)
			return nil, false, errors.Trace(err)
		}
	}
	t.hold(one, u)
	return func() {
		t.hold(one, nil)
		if t.host != nil {
			t.host.Release(1)
		}
		<-one.held
		t.leave(p, one)
	}, waited, nil
}

// hold notes who has the turn.
func (t *turns) hold(one *turn, u *unit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one.holder = u
}

// holder is the unit that has the turn, nil where none is sure to.
func (t *turns) holder(one *turn) *unit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return one.holder
}

func (t *turns) want(p place) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.locks == nil {
		t.locks = map[place]*turn{}
	}
	one, ok := t.locks[p]
	if !ok {
		one = &turn{held: make(chan struct{}, 1)}
		t.locks[p] = one
	}
	one.wanted++
	return one
}

func (t *turns) leave(p place, one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.wanted--; one.wanted == 0 {
		delete(t.locks, p)
	}
}
