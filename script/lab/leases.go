package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// leases is a store whose leases expire by a world's clock, over an engine whose
// own clock can't be wound. What a lease is due at is a key that the engine's
// lease has, which itself outlasts any test; whoever finds that the time has
// moved on revokes what has expired.
type leases struct {
	store.Store
	clock clock.Clock

	mu    sync.Mutex
	swept time.Time // when it was looked last for what has expired
}

const (
	// leasePrefix is of the keys that say what leases are due at. No document of
	// the model begins with it.
	leasePrefix = "lab/lease/"
	// outlasting is how long the engine's leases last.
	outlasting = time.Hour
)

// due is what such a key has.
type due struct {
	At  time.Time     `json:"at"`
	TTL time.Duration `json:"ttl"`
}

func newLeases(s store.Store, c clock.Clock) *leases { return &leases{Store: s, clock: c} }

func leaseKey(id store.LeaseID) string { return fmt.Sprintf("%s%d", leasePrefix, id) }

// sweep revokes what has expired since the clock showed another time.
func (l *leases) sweep(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if now.Equal(l.swept) {
		return nil
	}
	var expired []store.LeaseID
	_, err := l.Store.View(ctx, func(r store.Reader) error {
		kvs, err := r.List(leasePrefix)
		if err != nil {
			return err
		}
		expired = expired[:0]
		for _, kv := range kvs {
			var d due
			if err := json.Unmarshal(kv.Value, &d); err != nil {
				return errors.Annotatef(err, "key %s", kv.Key)
			}
			if !now.Before(d.At) {
				expired = append(expired, kv.Lease)
			}
		}
		return nil
	})
	if err != nil {
		return errors.Trace(err)
	}
	for _, id := range expired {
		if err := l.Store.Revoke(ctx, id); err != nil {
			return errors.Trace(err)
		}
	}
	l.swept = now
	return nil
}

// View is part of store.Store.
func (l *leases) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	if err := l.sweep(ctx); err != nil {
		return 0, err
	}
	return l.Store.View(ctx, fn)
}

// Update is part of store.Store.
func (l *leases) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	if err := l.sweep(ctx); err != nil {
		return 0, err
	}
	return l.Store.Update(ctx, fn, opts...)
}

// Grant is part of store.Store.
func (l *leases) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	id, err := l.Store.Grant(ctx, outlasting)
	if err != nil {
		return 0, errors.Trace(err)
	}
	return id, l.put(ctx, id, l.clock.Now(), ttl)
}

// KeepAlive is part of store.Store.
func (l *leases) KeepAlive(ctx context.Context, id store.LeaseID) error {
	return l.KeepAliveAt(ctx, id, l.clock.Now())
}

// KeepAliveAt is sqlite.Store.KeepAliveAt for this one.
func (l *leases) KeepAliveAt(ctx context.Context, id store.LeaseID, at time.Time) error {
	if err := l.sweep(ctx); err != nil {
		return err
	}
	var d due
	_, err := l.Store.View(ctx, func(r store.Reader) error {
		kv, err := r.Get(leaseKey(id))
		if err != nil {
			return err
		}
		return json.Unmarshal(kv.Value, &d)
	})
	if err != nil {
		return errors.Trace(err)
	}
	return l.put(ctx, id, at, d.TTL)
}

// put says that the lease has its whole time from then on. NotFound where it was
// revoked.
func (l *leases) put(ctx context.Context, id store.LeaseID, from time.Time, ttl time.Duration) error {
	b, err := json.Marshal(due{At: from.Add(ttl), TTL: ttl})
	if err != nil {
		return errors.Trace(err)
	}
	_, err = l.Store.Update(ctx, func(tx store.Tx) error { return tx.PutLease(leaseKey(id), b, id) })
	return errors.Trace(err)
}
