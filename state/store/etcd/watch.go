package etcd

import (
	"context"
	"time"

	"github.com/juju/errors"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unitd/unitd/state/store"
)

// rewatch is the pause before a watch that was ended is begun anew.
const rewatch = 200 * time.Millisecond

// watch is one caller's watch. etcd watches one span at a time; those of several are
// brought together by that type.
type watch struct {
	s     *Store
	spans store.Spans
	told  int64              // the revision up to which everything is in batches
	queue []store.Batch      // what the caller hasn't taken yet
	out   chan<- store.Batch // where to
}

// Watch is part of store.Store.
func (s *Store) Watch(caller context.Context, of []store.Keys, from int64) (<-chan store.Batch, error) {
	ctx, leave, err := s.life.Enter(caller)
	if err != nil {
		return nil, errors.Trace(err)
	}
	out := make(chan store.Batch)
	w := &watch{s: s, spans: store.SpansOf(of), told: from, out: out}
	if err := w.resume(ctx); err != nil {
		leave()
		return nil, errors.Annotate(err, "cannot watch the store")
	}
	go func() {
		defer leave()
		defer close(out)
		for w.follow(ctx) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(rewatch):
			}
			if err := w.resume(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("cannot watch the store", "err", err)
			}
		}
	}()
	return out, nil
}

// resume makes sure that what comes after the revision that was told is still
// known: else there is a Resync, and it goes on from now. A revision that is to
// come is one of a store from before it was restored from a copy.
func (w *watch) resume(ctx context.Context) error {
	var opts []clientv3.OpOption
	if w.told != 0 {
		opts = append(opts, clientv3.WithRev(w.told))
	}
	ask := func(opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
		opts = append(opts, clientv3.WithCountOnly())
		return w.s.request(ctx, func(ctx context.Context) (*clientv3.GetResponse, error) {
			return w.s.client.Get(ctx, w.s.key("-"), opts...)
		})
	}
	resp, err := ask(opts...)
	if isCompacted(err) || isFuture(err) {
		if resp, err = ask(); err == nil {
			w.told = resp.Header.Revision
			w.queue = append(w.queue, store.Batch{Rev: w.told, Resync: true})
		}
	}
	if err == nil && w.told == 0 {
		w.told = resp.Header.Revision
	}
	return errors.Trace(err)
}

// follow hands out what etcd tells until that ends, and says whether the caller
// still wants more.
func (w *watch) follow(ctx context.Context) bool {
	watching, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	m := newTogether(watching, w)
	defer func() {
		cancel()
		m.wait()
	}()
	for {
		var out chan<- store.Batch
		var first store.Batch
		if len(w.queue) > 0 {
			out, first = w.out, w.queue[0]
		}
		select {
		case <-ctx.Done():
			return false
		case out <- first:
			w.queue = w.queue[1:]
		case one := <-m.responses:
			if !one.open {
				return true
			}
			if err := one.resp.Err(); err != nil {
				w.s.log.Debug("a watch has ended", "err", err)
				return true
			}
			m.take(one)
			w.put(m.whole())
		case <-m.again:
			m.ask()
		}
	}
}

// put queues what is whole.
func (w *watch) put(b store.Batch) {
	w.told = max(w.told, b.Rev)
	if len(b.Events) > 0 {
		w.queue = append(w.queue, b)
	}
}
