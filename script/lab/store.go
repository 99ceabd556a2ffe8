package lab

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// Store is a store that can be held, and lost for a while. While it is held
// whoever wants something of it waits, so that an agent sees several changes as
// one. While it is lost nothing is read from it and nothing written.
type Store struct {
	store.Store
	Clock clock.Clock

	mu sync.Mutex
	// leases are those that the agent has, and kept is up to when they were kept
	// alive, which can be still to come.
	leases []store.LeaseID
	kept   time.Time
	until  time.Time
	held   chan struct{} // closed when it is let go; nil: it isn't held
	shut   bool
}

// Shut gives an error to whoever waits for a store that is held, and to all who
// come: an agent that ends must not wait, and is not to see what it was held
// from.
func (s *Store) Shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		s.shut = true
		close(s.held)
		s.held = nil
	}
}

// Hold holds the store, or lets it go.
func (s *Store) Hold(hold bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case hold && s.held == nil:
		s.held = make(chan struct{})
	case !hold && s.held != nil:
		close(s.held)
		s.held = nil
	}
}

// Lose makes it unreachable until the clock shows the time.
func (s *Store) Lose(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = until
}

// Lost says whether it is out of reach.
func (s *Store) Lost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Clock.Now().Before(s.until)
}

// reach waits until the store isn't held, and says whether it is lost.
func (s *Store) reach(ctx context.Context) error {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		}
	}
	s.mu.Lock()
	shut := s.shut
	s.mu.Unlock()
	if shut {
		return errors.New("the agent ends, and was held")
	}
	if s.Lost() {
		return errors.New("the store is out of reach")
	}
	return nil
}

// View is part of store.Store.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	if err := s.reach(ctx); err != nil {
		return 0, err
	}
	return s.Store.View(ctx, fn)
}

// Update is part of store.Store.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	if err := s.reach(ctx); err != nil {
		return 0, err
	}
	return s.Store.Update(ctx, fn, opts...)
}

// Grant is part of store.Store.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	if err := s.reach(ctx); err != nil {
		return 0, err
	}
	id, err := s.Store.Grant(ctx, ttl)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leases, s.kept = append(s.leases, id), s.Clock.Now()
	}
	return id, err
}

// KeepAlive is part of store.Store.
func (s *Store) KeepAlive(ctx context.Context, id store.LeaseID) error {
	if err := s.reach(ctx); err != nil {
		return err
	}
	if s.isKept(id) {
		return nil
	}
	return s.Store.KeepAlive(ctx, id)
}

// isKept says whether the lease was kept alive ahead of the time.
func (s *Store) isKept(id store.LeaseID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.leases, id) && !s.kept.Before(s.Clock.Now())
}

// Keep keeps the agent's leases alive before the clock leaps to now, on its way to
// until, as the agent would have by its rounds: if it reaches the store and can
// write to it. all says whether none has expired.
func (s *Store) Keep(now, until time.Time) (all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	engine, ok := s.Store.(interface {
		KeepAliveAt(ctx context.Context, id store.LeaseID, at time.Time) error
	})
	if !ok || s.Clock.Now().Before(s.until) || !s.kept.Before(now) {
		return true
	}
	if until.Before(now) {
		until = now
	}
	var kept []store.LeaseID
	for _, id := range s.leases {
		err := engine.KeepAliveAt(context.Background(), id, until)
		switch {
		case err == nil:
			kept = append(kept, id)
		case !errors.Is(err, errors.NotFound):
			return true // it isn't kept, and may be the next time
		}
	}
	all = len(kept) == len(s.leases)
	s.leases, s.kept = kept, until
	return all
}
