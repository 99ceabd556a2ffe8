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

// watch is one caller's watch.
type watch struct {
	s      *Store
	prefix string
	told   int64              // the revision up to which everything is in batches
	queue  []store.Batch      // what the caller hasn't taken yet
	out    chan<- store.Batch // where to
}

// Watch is part of store.Store.
func (s *Store) Watch(caller context.Context, prefix string, from int64) (<-chan store.Batch, error) {
	ctx, leave, err := s.enter(caller)
	if err != nil {
		return nil, errors.Trace(err)
	}
	out := make(chan store.Batch)
	w := &watch{s: s, prefix: prefix, told: from, out: out}
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
	responses := w.s.client.Watch(watching, w.s.key(w.prefix), clientv3.WithRange(w.s.key(prefixEnd(w.prefix))),
		clientv3.WithRev(w.told+1), clientv3.WithProgressNotify())
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
		case resp, open := <-responses:
			if !open {
				return true
			}
			if err := resp.Err(); err != nil {
				w.s.log.Debug("a watch has ended", "err", err)
				return true
			}
			w.take(resp)
		}
	}
}

// take queues what etcd tells, without the values.
func (w *watch) take(resp clientv3.WatchResponse) {
	if resp.IsProgressNotify() {
		w.told = max(w.told, resp.Header.Revision)
		return
	}
	var b store.Batch
	for _, e := range resp.Events {
		b.Events = append(b.Events, store.Event{
			Key: w.s.kv(e.Kv).Key, Rev: e.Kv.ModRevision, Deleted: e.Type == clientv3.EventTypeDelete,
		})
		b.Rev = e.Kv.ModRevision
	}
	if len(b.Events) == 0 {
		return
	}
	w.told = b.Rev
	w.queue = append(w.queue, b)
}
