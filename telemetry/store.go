package telemetry

import (
	"context"
	"time"

	"github.com/unitd/unitd/state/store"
)

// Store is s with its reads, transactions and leases measured.
func (m *Meter) Store(s store.Store) store.Store { return measured{s, m} }

type measured struct {
	store.Store
	meter *Meter
}

// View is part of store.Store. An error of fn is none of the store's.
func (s measured) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	began, own := time.Now(), false
	rev, err := s.Store.View(ctx, func(r store.Reader) error {
		err := fn(r)
		own = err != nil
		return err
	})
	s.meter.transaction(kindRead, began, 1, fault(err, own))
	return rev, err
}

// Update is part of store.Store.
func (s measured) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	began, tries, own := time.Now(), 0, false
	rev, err := s.Store.Update(ctx, func(tx store.Tx) error {
		tries++
		err := fn(tx)
		own = err != nil
		return err
	}, opts...)
	s.meter.transaction(kindUpdate, began, tries, fault(err, own))
	return rev, err
}

// fault is an error of the store's own: not that of what it was asked to do.
func fault(err error, own bool) error {
	if own {
		return nil
	}
	return err
}

// Grant is part of store.Store.
func (s measured) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	began := time.Now()
	id, err := s.Store.Grant(ctx, ttl)
	s.meter.lease(kindGrant, began, err)
	return id, err
}

// KeepAlive is part of store.Store.
func (s measured) KeepAlive(ctx context.Context, id store.LeaseID) error {
	began := time.Now()
	err := s.Store.KeepAlive(ctx, id)
	s.meter.lease(kindKeep, began, err)
	return err
}

// Revoke is part of store.Store.
func (s measured) Revoke(ctx context.Context, id store.LeaseID) error {
	began := time.Now()
	err := s.Store.Revoke(ctx, id)
	s.meter.lease(kindEnd, began, err)
	return err
}
