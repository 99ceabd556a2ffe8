package machine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// lease is the one lease of this agent: its presence, and the leadership of
// its units, hang on it.
type lease struct {
	store store.Store
	ttl   time.Duration
	clock clock.Clock
	log   *slog.Logger

	mu sync.Mutex
	id store.LeaseID
	// kept is when it was last asked for, or asked to be kept, with success: from
	// then on it lives for ttl, or longer.
	kept    time.Time
	holders map[chan struct{}]bool
}

func (l *lease) current() store.LeaseID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id
}

// hold returns a channel, with room for one, that gets a value when the lease
// is another one: what hung on the old one is to be claimed again. forget ends
// that.
func (l *lease) hold() (renewed <-chan struct{}, forget func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := make(chan struct{}, 1)
	l.holders[c] = true
	return c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.holders, c)
	}
}

// grant takes a lease: the one with that id, which a former agent of this process has
// handed over, as long as it lives; 0: a new one.
func (l *lease) grant(ctx context.Context, handed store.LeaseID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.id = handed; handed != 0 && l.extend(ctx) == nil {
		return nil
	}
	return l.renew(ctx)
}

// renew takes another lease; l.mu is held.
func (l *lease) renew(ctx context.Context) error {
	asked := l.clock.Now()
	id, err := l.store.Grant(ctx, l.ttl)
	if err == nil {
		l.id, l.kept = id, asked
	}
	return errors.Trace(err)
}

// extend keeps the lease alive; l.mu is held. The error is NotFound if it has
// expired.
func (l *lease) extend(ctx context.Context) error {
	asked := l.clock.Now()
	err := l.store.KeepAlive(ctx, l.id)
	if err == nil {
		l.kept = asked
	}
	return errors.Trace(err)
}

// alive has the store keep the lease, and so says whether the store can be reached.
func (l *lease) alive(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Trace(l.extend(ctx))
}

// lasts says whether the lease with that id is this agent's and lives for that
// much longer; where that isn't known, the store is asked to keep it.
func (l *lease) lasts(ctx context.Context, id store.LeaseID, more time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id != l.id {
		return false, nil
	}
	more = min(more, l.ttl/2) // a shorter lease can't promise more
	if l.left() >= more {
		return true, nil
	}
	err := l.extend(ctx)
	switch {
	case errors.Is(err, errors.NotFound):
		return false, nil
	case err != nil:
		return false, errors.Trace(err)
	case l.left() < more:
		return false, errors.New("the store has taken too long to keep the lease")
	}
	return true, nil
}

// left is how long the lease lives at least; l.mu is held. A machine that sleeps
// may stop one of its clocks, and one that is set anew turns the other back: the
// one that has gone farther is believed.
func (l *lease) left() time.Duration {
	now := l.clock.Now()
	return l.ttl - max(now.Sub(l.kept), now.Round(0).Sub(l.kept.Round(0)))
}

// keep keeps the lease alive. Where it was lost, as on a laptop that slept, a
// new one is taken, once however many ask, and its holders are told.
func (l *lease) keep(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.extend(ctx)
	if !errors.Is(err, errors.NotFound) {
		return errors.Trace(err)
	}
	l.log.Warn("presence and leadership had expired", "err", err)
	if err := l.renew(ctx); err != nil {
		return errors.Trace(err)
	}
	for c := range l.holders {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	return nil
}

// end gives up presence and leadership at once. The agent's own context has
// ended by then.
func (l *lease) end() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = l.store.Revoke(ctx, l.current()) // it expires by itself otherwise
}
