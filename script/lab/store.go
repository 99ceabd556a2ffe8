package lab

import (
	"context"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// Store is a store that can be lost for a while: then nothing is read from it
// and nothing written, and what watches it hears nothing.
type Store struct {
	store.Store
	Clock clock.Clock

	mu    sync.Mutex
	until time.Time
}

// Lose makes it unreachable until the clock shows the time.
func (s *Store) Lose(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = until
}

func (s *Store) reach() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Clock.Now().Before(s.until) {
		return errors.Errorf("the store is out of reach until %s", s.until.Format(time.TimeOnly))
	}
	return nil
}

// View is part of store.Store.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	if err := s.reach(); err != nil {
		return 0, err
	}
	return s.Store.View(ctx, fn)
}

// Update is part of store.Store.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	if err := s.reach(); err != nil {
		return 0, err
	}
	return s.Store.Update(ctx, fn, opts...)
}

// Grant is part of store.Store.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	if err := s.reach(); err != nil {
		return 0, err
	}
	return s.Store.Grant(ctx, ttl)
}

// KeepAlive is part of store.Store.
func (s *Store) KeepAlive(ctx context.Context, id store.LeaseID) error {
	if err := s.reach(); err != nil {
		return err
	}
	return s.Store.KeepAlive(ctx, id)
}
