package etcd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/unitd/unitd/state/store"
)

// progressAgain is how long it takes until etcd is asked once more how far it has
// told all watches: it doesn't answer while it is still bringing one up to date.
const progressAgain = 100 * time.Millisecond

// together brings the spans of one watch together. etcd tells each of them on its own, and
// not in step: so that a transaction is one batch, and batches are in order, events wait
// until etcd has said of all spans that they have been told up to that revision. It is
// asked for that whenever there are events, and says it to all watches of a stream; so
// the spans have a stream of their own. With one span there is nothing to wait for.
// That what etcd says of a stream comes after all that it is about holds since 3.5.8.
type together struct {
	ctx       context.Context
	s         *Store
	responses chan spanResponse
	again     <-chan time.Time
	progress  []int64 // up to where each span was told
	begun     atomic.Int64
	pending   []store.Event
	done      sync.WaitGroup
}

// spanResponse is what etcd tells of one span; open: there may be more.
type spanResponse struct {
	span int
	resp clientv3.WatchResponse
	open bool
}

// newTogether watches the spans of w after what it was told, until ctx ends.
func newTogether(ctx context.Context, w *watch) *together {
	ctx = metadata.AppendToOutgoingContext(ctx, "unitd-watch", fmt.Sprint(w.s.streams.Add(1)))
	told := w.told
	m := &together{ctx: ctx, s: w.s, responses: make(chan spanResponse), progress: make([]int64, len(w.spans))}
	for i, span := range w.spans {
		m.progress[i] = told
		m.done.Go(func() {
			opts := []clientv3.OpOption{clientv3.WithRange(w.s.key(span.End)), clientv3.WithRev(told + 1), clientv3.WithProgressNotify()}
			responses := w.s.client.Watch(ctx, w.s.key(span.From), opts...)
			m.begun.Add(1)
			m.read(i, responses)
		})
	}
	return m
}

func (m *together) read(span int, from clientv3.WatchChan) {
	for open := true; open; {
		one := spanResponse{span: span}
		one.resp, open = <-from
		one.open = open
		select {
		case m.responses <- one:
		case <-m.ctx.Done():
			return
		}
	}
}

// wait waits until nothing is read any more; ctx has ended.
func (m *together) wait() { m.done.Wait() }

// take takes what etcd tells of a span, without the values.
func (m *together) take(one spanResponse) {
	if one.resp.IsProgressNotify() {
		m.progress[one.span] = max(m.progress[one.span], one.resp.Header.Revision)
		return
	}
	for _, e := range one.resp.Events {
		m.pending = append(m.pending, store.Event{
			Key: m.s.kv(e.Kv).Key, Rev: e.Kv.ModRevision, Deleted: e.Type == clientv3.EventTypeDelete,
		})
		if len(m.progress) == 1 {
			m.progress[0] = e.Kv.ModRevision
		}
	}
}

// whole is what all spans were told of, and asks for the rest.
func (m *together) whole() store.Batch {
	b := store.Batch{Rev: slices.Min(m.progress)}
	rest := m.pending[:0:0]
	for _, e := range m.pending {
		if e.Rev <= b.Rev {
			b.Events = append(b.Events, e)
		} else {
			rest = append(rest, e)
		}
	}
	m.pending = rest
	slices.SortStableFunc(b.Events, func(x, y store.Event) int {
		return cmp.Or(cmp.Compare(x.Rev, y.Rev), cmp.Compare(x.Key, y.Key))
	})
	switch {
	case len(rest) == 0:
		m.again = nil
	case m.again == nil || len(b.Events) > 0:
		m.ask()
	}
	return b
}

// ask asks etcd how far it has told all spans, once it knows of all of them: it would
// say it of the others alone.
func (m *together) ask() {
	if m.again = time.After(progressAgain); int(m.begun.Load()) < len(m.progress) {
		return
	}
	if err := m.s.client.RequestProgress(m.ctx); err != nil && m.ctx.Err() == nil {
		m.s.log.Debug("cannot ask how far a watch is", "err", err)
	}
}
