package machine

import (
	"context"
	"sync"

	"github.com/juju/errors"
)

// handing knows which units are in a run, and keeps others from beginning one: while the
// agent hands over to its successor, and, in the successor, until the units whose runs
// were handed over go on with them, or don't. It is safe for use by many goroutines.
type handing struct {
	mu sync.Mutex
	// paused is closed once runs can begin again; nil: they can.
	paused chan struct{}
	// inside are the units that are in a run, changed is closed when that changes.
	inside  map[*unit]bool
	changed chan struct{}
	// awaited are the units whose runs were handed over and that aren't inside yet.
	awaited map[handedKey]HandedRun
	arrived chan struct{} // closed once there are none
}

// handedKey says whose run was handed over: of which unit of which model.
type handedKey struct{ model, id string }

func newHanding(runs []HandedRun) *handing {
	h := &handing{inside: map[*unit]bool{}, changed: make(chan struct{}), awaited: map[handedKey]HandedRun{}, arrived: make(chan struct{})}
	for _, r := range runs {
		h.awaited[handedKey{r.Model, r.ID}] = r
	}
	h.arrive(handedKey{})
	return h
}

// handed is what was handed over of a unit, and nothing if it has arrived.
func (h *handing) handed(k handedKey) (HandedRun, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.awaited[k]
	return r, ok
}

// arrive notes that a unit goes on with its run, or doesn't.
func (h *handing) arrive(k handedKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.awaited, k)
	if len(h.awaited) == 0 {
		select {
		case <-h.arrived:
		default:
			close(h.arrived)
		}
	}
}

// giveUp awaits nobody any more, and returns whom it did.
func (h *handing) giveUp() (late []HandedRun) {
	h.mu.Lock()
	for _, r := range h.awaited {
		late = append(late, r)
	}
	clear(h.awaited)
	h.mu.Unlock()
	h.arrive(handedKey{})
	return late
}

// all waits until all have arrived.
func (h *handing) all(ctx context.Context) error {
	select {
	case <-h.arrived:
		return nil
	case <-ctx.Done():
		return errors.Trace(ctx.Err())
	}
}

// enter has a unit begin a run, once it may. waited says whether that took time.
func (h *handing) enter(ctx context.Context, u *unit) (waited bool, err error) {
	for {
		h.mu.Lock()
		paused := h.paused
		if paused == nil {
			h.is(u, true)
			h.mu.Unlock()
			return waited, nil
		}
		h.mu.Unlock()
		waited = true
		select {
		case <-paused:
		case <-ctx.Done():
			return false, errors.Trace(ctx.Err())
		}
	}
}

// goOn has a unit be in the run that was handed over.
func (h *handing) goOn(u *unit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.is(u, true)
}

// leave ends a unit's run.
func (h *handing) leave(u *unit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.is(u, false)
}

// is notes whether a unit is in a run; mu is held.
func (h *handing) is(u *unit, inside bool) {
	if inside {
		h.inside[u] = true
	} else {
		delete(h.inside, u)
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// pause has no run begin until resume is called; false: somebody else has already.
func (h *handing) pause() (resume func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.paused != nil {
		return nil, false
	}
	paused := make(chan struct{})
	h.paused = paused
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.paused = nil
		close(paused)
	}, true
}

// running are the units that are in a run, and a channel that is closed when they aren't
// the same any more.
func (h *handing) running() (units []*unit, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for u := range h.inside {
		units = append(units, u)
	}
	return units, h.changed
}
