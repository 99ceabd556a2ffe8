package machine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// lease is the one lease of this agent: its presence, and the leadership of
// its units, hang on it.
type lease struct {
	store store.Store
	ttl   time.Duration
	log   *slog.Logger

	mu      sync.Mutex
	id      store.LeaseID
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

func (l *lease) grant(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, err := l.store.Grant(ctx, l.ttl)
	if err == nil {
		l.id = id
	}
	return errors.Trace(err)
}

// keep keeps the lease alive. Where it was lost, as on a laptop that slept, a
// new one is taken, once however many ask, and its holders are told.
func (l *lease) keep(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.store.KeepAlive(ctx, l.id)
	if !errors.Is(err, errors.NotFound) {
		return errors.Trace(err)
	}
	l.log.Warn("presence and leadership had expired", "err", err)
	id, err := l.store.Grant(ctx, l.ttl)
	if err != nil {
		return errors.Trace(err)
	}
	l.id = id
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
