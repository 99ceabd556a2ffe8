package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// Watch is part of store.Store.
func (s *Store) Watch(ctx context.Context, of []store.Keys, from int64) (<-chan store.Batch, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if from == 0 {
		from = s.newest().rev
	}
	out := make(chan store.Batch)
	s.watches.Add(1)
	go func() {
		defer s.watches.Done()
		defer close(out)
		s.tell(ctx, store.SpansOf(of), from, out)
	}()
	return out, nil
}

// tell tells of the commits after a revision, until ctx or the store ends.
func (s *Store) tell(ctx context.Context, of store.Spans, rev int64, out chan<- store.Batch) {
	for {
		b, more := s.after(of, rev)
		if b.Resync || len(b.Events) > 0 {
			select {
			case <-ctx.Done():
				return
			case <-s.closed:
				return
			case out <- b:
			}
		}
		if b.Rev > rev {
			rev = b.Rev
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-s.closed:
			return
		case <-more:
		}
	}
}

// after is what a watcher is told next that knows of all up to rev, one commit
// at a time, so that a simulation gets the same batches each time; and what is
// closed once there is more.
func (d *data) after(of store.Spans, rev int64) (store.Batch, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rev < d.forgotten {
		return store.Batch{Rev: d.forgotten, Resync: true}, d.more
	}
	b := store.Batch{Rev: rev}
	if rev >= d.rev {
		return b, d.more
	}
	b.Rev++
	for _, e := range d.history[rev-d.forgotten] {
		if of.Has(e.Key) {
			b.Events = append(b.Events, e)
		}
	}
	return b, d.more
}

// Grant is part of store.Store.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease++
	id := s.lease
	s.leases[id] = &lease{ttl: ttl, timer: s.clock.AfterFunc(ttl, func() { s.data.end(id) })}
	return id, nil
}

// KeepAlive is part of store.Store.
func (s *Store) KeepAlive(ctx context.Context, id store.LeaseID) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.leases[id]
	if !ok || !l.timer.Stop() {
		return errors.NotFoundf("lease %d", id)
	}
	l.timer.Reset(l.ttl)
	return nil
}

// Revoke is part of store.Store.
func (s *Store) Revoke(ctx context.Context, id store.LeaseID) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.end(id)
	return nil
}

// end ends a lease, and deletes its keys in as many commits as they need.
func (d *data) end(id store.LeaseID) {
	d.writing.Lock()
	defer d.writing.Unlock()
	d.mu.Lock()
	l, ok := d.leases[id]
	if ok {
		l.timer.Stop()
	}
	delete(d.leases, id)
	d.mu.Unlock()
	if !ok {
		return
	}
	for keys := range slices.Chunk(d.lent(id), store.MaxWrites) {
		r := d.newest()
		t := &tx{reader: reader{r.tree.Clone(), r.rev}, data: d, touched: map[string]int{}}
		for _, key := range keys {
			_ = t.Delete(key) // there are no more of them than it may write
		}
		d.commit(r.tree, t)
	}
}

// lent are the keys that hang on a lease, in order.
func (d *data) lent(id store.LeaseID) []string {
	keys := map[string]bool{}
	d.newest().each("", "", func(kv *store.KV) bool {
		if kv.Lease == id {
			keys[kv.Key] = true
		}
		return true
	})
	return slices.Sorted(maps.Keys(keys))
}
