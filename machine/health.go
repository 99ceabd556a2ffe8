package machine

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// errNotWritten marks what the store couldn't write, which is no fault of what
// was to be written: it is tried again.
const errNotWritten = errors.ConstError("the store can't be written to")

// health is the agent's store, watched: whether it can be written to, as the last
// write of anybody here has shown. It is a store.Store, and safe for use by many
// goroutines.
type health struct {
	store.Store
	clock clock.Clock
	log   *slog.Logger
	room  *room
	// spares are given up for a read that lacks descriptors, which an engine
	// doesn't tell from others that fail.
	spares *spares
	look   func() // has all units here look again

	mu    sync.Mutex
	why   error // nil: it can be written to
	since time.Time
	// hope is closed, and made anew, when it may be worth while to try again.
	hope chan struct{}
	// logs are those of models, which say it as well.
	logs map[*slog.Logger]bool
}

func newHealth(c Config) *health {
	h := &health{Store: c.Controller.Store(), clock: c.Clock, log: c.Log, spares: &spares{}, look: func() {}, hope: make(chan struct{}), logs: map[*slog.Logger]bool{}}
	h.room = newRoom(c.Room, h.hurry)
	return h
}

// View is part of store.Store.
func (h *health) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	begun := false
	once := func() (int64, error) {
		return h.Store.View(ctx, func(r store.Reader) error {
			begun = true
			return fn(r)
		})
	}
	rev, err := once()
	if err != nil && !begun && ctx.Err() == nil && h.spares.give() {
		return once()
	}
	return rev, err
}

// Update is part of store.Store.
func (h *health) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	var read int64
	var refused error
	rev, err := h.Store.Update(ctx, func(tx store.Tx) error {
		read = tx.Rev()
		refused = fn(tx)
		return refused
	}, opts...)
	// What it reads for that can remain without an answer as well.
	if refused != nil && !errors.Is(err, store.ErrFull) && !errors.Is(err, errors.Timeout) && !late(ctx, err) {
		return rev, err
	}
	return rev, h.note(ctx, err, rev > read)
}

// Grant is part of store.Store.
func (h *health) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	id, err := h.Store.Grant(ctx, ttl)
	return id, h.note(ctx, err, false)
}

// KeepAlive is part of store.Store. That it works proves nothing: etcd keeps
// leases alive when it takes nothing else. But after trouble it is the time to
// try, as there may be nothing to write for long.
func (h *health) KeepAlive(ctx context.Context, id store.LeaseID) error {
	err := h.note(ctx, h.Store.KeepAlive(ctx, id), false)
	if trouble, _ := h.trouble(); err == nil && trouble != "" {
		h.try(ctx)
	}
	return err
}

// try notes whether the store takes another lease, which nobody needs.
func (h *health) try(ctx context.Context) {
	id, err := h.Store.Grant(ctx, time.Minute)
	if h.note(ctx, err, err == nil) == nil {
		_ = h.Store.Revoke(ctx, id) // it expires by itself otherwise
	}
}

// note notes how a write has ended, and marks the error of a store that can't be
// written to. What the store has refused, or somebody has given up, says nothing.
func (h *health) note(ctx context.Context, err error, wrote bool) error {
	switch {
	case final(err):
		return err
	case late(ctx, err):
		h.fail(errTooSlow)
		return errors.WithType(err, errNotWritten)
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		h.fail(err)
		return errors.WithType(err, errNotWritten)
	case wrote:
		h.mend()
	}
	return nil
}

// errTooSlow is why a write wasn't done in the time that it had.
const errTooSlow = errors.ConstError("it doesn't answer in time")

// late says whether an error is that the time for it has run out, which nobody has
// given up.
func late(ctx context.Context, err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded)
}

// final says whether an error of a store is one for good, which says nothing of
// whether it can be written to or read.
func final(err error) bool {
	for _, says := range []error{store.ErrTooLarge, store.ErrClosed, store.ErrContention, store.ErrDamaged, errors.NotFound, errors.NotValid, errors.Unauthorized} {
		if errors.Is(err, says) {
			return true
		}
	}
	return false
}

func (h *health) fail(err error) {
	h.mu.Lock()
	known := h.why != nil
	h.why = err
	var logs []*slog.Logger
	if !known {
		h.since = h.clock.Now()
		logs = h.all()
	}
	h.mu.Unlock()
	if errors.Is(err, store.ErrFull) {
		h.room.await()
	}
	for _, log := range logs {
		log.Error("the store can't be written to; it is tried again", "err", reasonOf(err))
	}
}

// mend notes that something was written. While the disk has no room that is
// chance: the next that is larger isn't.
func (h *health) mend() {
	h.mu.Lock()
	why := h.why
	h.mu.Unlock()
	if why == nil || errors.Is(why, store.ErrFull) && h.room.lacking() != nil {
		return
	}
	h.mu.Lock()
	h.why = nil
	since, logs := h.since, h.all()
	h.mu.Unlock()
	h.hurry()
	for _, log := range logs {
		log.Warn("the store can be written to again", "since", since.UTC().Format(time.RFC3339), "was", reasonOf(why))
	}
}

// all are the logs in which it is said; h.mu is held.
func (h *health) all() []*slog.Logger {
	logs := []*slog.Logger{h.log}
	for log := range h.logs {
		logs = append(logs, log)
	}
	return logs
}

// logTo says it in one more log until forget is called.
func (h *health) logTo(log *slog.Logger) (forget func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logs[log] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.logs, log)
	}
}

// trouble is why the store can't be written to, and since when; empty: it can.
func (h *health) trouble() (string, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.why == nil {
		return "", time.Time{}
	}
	return reasonOf(h.why), h.since
}

// hoped is closed when it may be worth while to try again before its time.
func (h *health) hoped() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hope
}

// hurry has what is to be tried again be tried now.
func (h *health) hurry() {
	h.look() // before anybody takes those that look for some that wait
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.hope)
	h.hope = make(chan struct{})
}

// reasonOf is an error without what is said beside it.
func reasonOf(err error) string {
	return strings.TrimPrefix(err.Error(), "cannot write to the store: ")
}
