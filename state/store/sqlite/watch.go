package sqlite

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// lookEvery is how often the revision is looked at although nothing was
// heard, for the sake of a process that was killed between its commit and its
// telling of it.
const lookEvery = 5 * time.Second

// hub reads new changes once for all watches of this process and hands them
// out. Its goroutine is started by the first Watch, so that a program that
// never watches pays nothing for it.
type hub struct {
	s     *Store
	wake  chan struct{} // has room for one: "look again"
	lease chan struct{} // likewise: "the leases have changed"

	mu      sync.Mutex
	told    int64 // every watcher was handed everything up to here
	watches map[*watch]bool
}

// watch is one caller's watch. Batches that it hasn't taken yet are in queue.
type watch struct {
	of    store.Spans
	from  int64 // events up to here are not for this watch
	mu    sync.Mutex
	queue []store.Batch
	more  chan struct{}
}

func (h *hub) poke() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// leasesChanged makes the hub look when the next lease expires.
func (s *Store) leasesChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hub == nil {
		return
	}
	select {
	case s.hub.lease <- struct{}{}:
	default:
	}
}

// startHub returns the hub, and starts it if there is none.
func (s *Store) startHub() (*hub, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Trace(store.ErrClosed)
	}
	if s.hub != nil {
		return s.hub, nil
	}
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, errors.Annotate(err, "cannot watch the store's file")
	}
	if err := fs.Add(s.path + "-rev"); err != nil {
		fs.Close()
		return nil, errors.Annotate(err, "cannot watch the store's file")
	}
	h := &hub{s: s, wake: make(chan struct{}, 1), lease: make(chan struct{}, 1), watches: map[*watch]bool{}}
	if h.told, err = s.newest(); err != nil {
		fs.Close()
		return nil, errors.Annotate(err, "cannot read the store")
	}
	s.hub = h
	s.done.Add(1)
	go func() {
		defer s.done.Done()
		defer fs.Close()
		h.run(fs)
	}()
	return h, nil
}

// newest is the newest revision.
func (s *Store) newest() (rev int64, err error) {
	from, end, err := s.read.begin(s.ctx)
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer end()
	err = from.QueryRowContext(s.ctx, "SELECT rev FROM head").Scan(&rev)
	return rev, errors.Trace(err)
}

func (h *hub) run(fs *fsnotify.Watcher) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	failed := ""
	for {
		if err := h.s.noticed(h.tell()); err != nil && h.s.ctx.Err() == nil {
			h.s.log.Error("cannot read what has changed", "err", err)
		}
		// Whoever changed something may have granted a lease as well.
		expiry, err := h.expire()
		if err == nil {
			failed = ""
		} else if h.s.ctx.Err() == nil && failed != err.Error() { // once, as it is tried every few seconds
			failed = err.Error()
			h.s.log.Error("cannot end leases that are over", "err", err)
		}
		select {
		case <-h.s.ctx.Done():
			return
		case <-h.wake:
		case <-fs.Events:
		case err := <-fs.Errors:
			// The queue of the kernel has overflown: something did change.
			h.s.log.Warn("watching the store's file", "err", err)
		case <-look.C:
			h.s.verify()
		case <-h.lease:
		case <-expiry:
		}
	}
}

// verify looks whether memory has what the file has: somebody may have removed the side
// file, or have had the store open by an earlier version, and then nobody is told of what
// he commits. From then on the file is asked.
func (s *Store) verify() {
	p := s.mirror.now(s.barrier.progress, s.time.now())
	if p == nil {
		return
	}
	if rev, err := s.newest(); err != nil || rev <= p.rev || !s.barrier.at(p.rev) {
		return
	}
	s.log.Error("the store was written to by somebody who goes by another side file: end all that use it, and start the agent again", "file", s.path+"-rev")
	s.mirror.giveUp()
}

// expire ends the leases that are over, as every Update does. The channel gets
// something when the next one is; it is nil if there is none, or after an
// error, which is as good as tried again at the next look.
func (h *hub) expire() (<-chan time.Time, error) {
	next, err := h.nextExpiry()
	if err == nil && next != 0 && next <= h.s.time.now() {
		if _, err = h.s.Update(h.s.ctx, func(store.Tx) error { return nil }, store.Relaxed, modest); err == nil {
			next, err = h.nextExpiry()
		}
	}
	if err != nil || next == 0 {
		return nil, errors.Trace(err)
	}
	return h.s.time.at(next), nil
}

// nextExpiry is when the first of the leases is over, or was; 0 if there are
// none.
func (h *hub) nextExpiry() (int64, error) {
	if p := h.s.mirror.now(h.s.barrier.progress, h.s.time.now()); p != nil && p.until == math.MaxInt64 {
		return 0, nil
	} else if p != nil {
		return p.until, nil
	}
	var expires int64
	from, end, err := h.s.read.begin(h.s.ctx)
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer end()
	err = from.QueryRowContext(h.s.ctx, "SELECT coalesce(min(expires), 0) FROM lease").Scan(&expires)
	return expires, errors.Trace(err)
}

// add makes w one of the watches, with what it has missed since its revision.
func (h *hub) add(w *watch) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	// Whoever watches from now on isn't told of what was before.
	if err := h.tellLocked(); err != nil {
		return errors.Trace(err)
	}
	if w.from == 0 {
		w.from = h.told
	}
	if w.from < h.told {
		b, err := h.s.changes(w.from)
		if err != nil {
			return errors.Trace(err)
		}
		w.put(clip(b, h.told))
	}
	h.watches[w] = true
	return nil
}

// tell hands the changes since the last time to all watches.
func (h *hub) tell() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tellLocked()
}

func (h *hub) tellLocked() error {
	b, err := h.s.news(h.told)
	if err != nil || b.Rev == h.told {
		return errors.Trace(err)
	}
	h.told = b.Rev
	for w := range h.watches {
		w.put(b)
	}
	return nil
}

// news is what has changed after a revision up to which all was told: from memory, if
// that is how the store is.
func (s *Store) news(from int64) (store.Batch, error) {
	if p := s.mirror.now(s.barrier.progress, s.time.now()); p != nil {
		if events, ok := p.events(from); ok {
			return store.Batch{Rev: p.rev, Events: events}, nil
		}
	}
	return s.changes(from)
}

// changes reads what has changed after revision from.
func (s *Store) changes(from int64) (store.Batch, error) {
	var b store.Batch
	tx, end, err := s.read.begin(s.ctx)
	if err != nil {
		return b, errors.Trace(err)
	}
	defer end()
	var compacted int64
	if err := tx.QueryRowContext(s.ctx, "SELECT rev, compacted FROM head").Scan(&b.Rev, &compacted); err != nil {
		return b, errors.Trace(err)
	}
	if b.Rev == from {
		return b, nil
	}
	if from < compacted {
		b.Resync = true
		return b, nil
	}
	rows, err := tx.QueryContext(s.ctx, "SELECT rev, key, deleted FROM change WHERE rev > ? ORDER BY rev, key", from)
	if err != nil {
		return b, errors.Trace(err)
	}
	defer rows.Close()
	for rows.Next() {
		var e store.Event
		if err := rows.Scan(&e.Rev, &e.Key, &e.Deleted); err != nil {
			return b, errors.Trace(err)
		}
		b.Events = append(b.Events, e)
	}
	return b, errors.Trace(rows.Err())
}

// Watch is part of store.Store.
func (s *Store) Watch(ctx context.Context, of []store.Keys, from int64) (<-chan store.Batch, error) {
	if err := s.enter(); err != nil {
		return nil, errors.Trace(err)
	}
	defer s.done.Done()
	h, err := s.startHub()
	if err != nil {
		return nil, errors.Trace(err)
	}
	w := &watch{of: store.SpansOf(of), from: from, more: make(chan struct{}, 1)}
	if err := h.add(w); err != nil {
		return nil, errors.Annotate(err, "cannot watch the store")
	}
	out := make(chan store.Batch)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Trace(store.ErrClosed)
	}
	s.done.Add(1)
	go func() {
		defer s.done.Done()
		defer close(out)
		w.deliver(ctx, s.ctx, out)
		h.mu.Lock()
		delete(h.watches, w)
		h.mu.Unlock()
	}()
	return out, nil
}

// clip leaves out what comes after rev: the hub will hand that out.
func clip(b store.Batch, rev int64) store.Batch {
	if b.Rev <= rev {
		return b
	}
	b.Rev = rev
	for i, e := range b.Events {
		if e.Rev > rev {
			b.Events = b.Events[:i]
			break
		}
	}
	return b
}

// put queues what of b the watch is about.
func (w *watch) put(b store.Batch) {
	mine := store.Batch{Rev: b.Rev, Resync: b.Resync}
	for _, e := range b.Events {
		if e.Rev > w.from && w.of.Has(e.Key) {
			mine.Events = append(mine.Events, e)
		}
	}
	if len(mine.Events) == 0 && !mine.Resync {
		return
	}
	w.mu.Lock()
	w.queue = append(w.queue, mine)
	w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// deliver hands out the queue until one of the contexts ends.
func (w *watch) deliver(ctx, closed context.Context, out chan<- store.Batch) {
	for {
		w.mu.Lock()
		queue := w.queue
		w.queue = nil
		w.mu.Unlock()
		for _, b := range queue {
			select {
			case out <- b:
			case <-ctx.Done():
				return
			case <-closed.Done():
				return
			}
		}
		if len(queue) > 0 {
			continue
		}
		select {
		case <-w.more:
		case <-ctx.Done():
			return
		case <-closed.Done():
			return
		}
	}
}
