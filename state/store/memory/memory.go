// Package memory is a store.Store in the memory of one process, for
// simulations: package scale puts models into it that are too large to be
// written to a disk within a test. Nothing in it outlives the process, so
// agents have no use for it.
//
// It keeps what each engine must (package storetest), with one writer at a
// time. A view is a tree that nobody changes: a writer makes another one, which
// shares with it all that stays the same.
package memory

import (
	"context"
	"sync"
	"time"

	"github.com/google/btree"
	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// Store is one handle on an engine; New makes the first one, Share others.
type Store struct {
	*data
	watches sync.WaitGroup

	closing sync.Once
	closed  chan struct{}
}

var _ store.Store = (*Store)(nil)

// data is what all handles have in common.
type data struct {
	clock clock.Clock
	// writing is held by the one who writes.
	writing sync.Mutex

	// mu guards what follows; it is held for moments.
	mu   sync.Mutex
	tree *btree.BTreeG[*store.KV] // never changed: each commit makes another
	rev  int64
	// history has the events of the commits after revision forgotten, one
	// element for each, in their order.
	history   [][]store.Event
	forgotten int64
	// more is closed, and replaced, at each commit.
	more   chan struct{}
	leases map[store.LeaseID]*lease
	lease  store.LeaseID // the newest
	keys   int64
	bytes  int64
}

type lease struct {
	ttl   time.Duration
	timer clock.Timer
}

// New is an empty store, whose leases run by c.
func New(c clock.Clock) *Store {
	return (&data{
		clock: c, tree: btree.NewG(32, less), rev: 1, forgotten: 1,
		more: make(chan struct{}), leases: map[store.LeaseID]*lease{},
	}).handle()
}

func less(a, b *store.KV) bool { return a.Key < b.Key }

func (d *data) handle() *Store { return &Store{data: d, closed: make(chan struct{})} }

// Share is another handle on the same keys, as another process would have.
func (s *Store) Share() *Store { return s.handle() }

// Size is how many keys there are, and how many bytes they and their values
// have, without what an engine on a disk needs to find them.
func (s *Store) Size() (keys, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys, s.bytes
}

// usable is why nothing can be done with the store.
func (s *Store) usable(ctx context.Context) error {
	select {
	case <-s.closed:
		return errors.Trace(store.ErrClosed)
	default:
		return errors.Trace(ctx.Err())
	}
}

// newest is what the newest revision has.
func (d *data) newest() reader {
	d.mu.Lock()
	defer d.mu.Unlock()
	return reader{tree: d.tree, rev: d.rev}
}

// View is part of store.Store.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	r := s.newest()
	if err := fn(r); err != nil {
		return 0, err
	}
	return r.rev, nil
}

// Update is part of store.Store.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error, _ ...store.Option) (int64, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	t := &tx{reader: s.newest(), data: s.data, touched: map[string]int{}}
	was := t.tree
	t.tree = was.Clone()
	if err := fn(t); err != nil {
		return 0, err
	}
	if t.err != nil {
		return 0, t.err
	}
	return s.commit(was, t), nil
}

// Compact is part of store.Store.
func (s *Store) Compact(ctx context.Context, rev int64) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rev = min(rev, s.rev)
	if rev > s.forgotten {
		s.history = append([][]store.Event(nil), s.history[rev-s.forgotten:]...)
		s.forgotten = rev
	}
	return nil
}

// Close is part of store.Store. The keys stay for other handles.
func (s *Store) Close() error {
	err := errors.Trace(store.ErrClosed)
	s.closing.Do(func() {
		close(s.closed)
		s.watches.Wait()
		err = nil
	})
	return err
}
