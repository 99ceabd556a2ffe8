package machine

import (
	"context"
	"fmt"
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
	// inside are the units that are in a run, and nil for each other thing that is, with
	// what it is; changed is closed when that changes.
	inside  map[any]*unit
	changed chan struct{}
	// callers counts who waits for commands that he has units run.
	callers int
	// awaited are the units whose runs were handed over and that haven't claimed them,
	// claimed those that have and that don't go on yet.
	awaited map[handedKey]HandedRun
	claimed map[handedKey]bool
	arrived chan struct{} // closed once there are none
}

// handedKey says whose run was handed over: of which unit of which model.
type handedKey struct{ model, id string }

func newHanding(runs []HandedRun) *handing {
	h := &handing{inside: map[any]*unit{}, changed: make(chan struct{}), awaited: map[handedKey]HandedRun{}, claimed: map[handedKey]bool{}, arrived: make(chan struct{})}
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

// claim has a unit be in the run that was handed over of it; false: that was given up.
func (h *handing) claim(k handedKey, u *unit) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.awaited[k]; !ok {
		return false
	}
	delete(h.awaited, k)
	h.claimed[k] = true
	h.is(u, u, true)
	return true
}

// arrive notes that a unit goes on with its run, or doesn't.
func (h *handing) arrive(k handedKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.awaited, k)
	delete(h.claimed, k)
	if len(h.awaited)+len(h.claimed) == 0 {
		select {
		case <-h.arrived:
		default:
			close(h.arrived)
		}
	}
}

// giveUp awaits nobody any more who has claimed nothing, and returns whom it did.
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

// enter has a unit begin a run, once it may, or with nil somebody else, who is the key.
// waited says whether that took time.
func (h *handing) enter(ctx context.Context, key any, u *unit) (waited bool, err error) {
	for {
		h.mu.Lock()
		paused := h.paused
		if paused == nil {
			h.is(key, u, true)
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

// leave ends what has begun with enter, or claim.
func (h *handing) leave(key any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.is(key, nil, false)
}

// call notes that somebody waits for commands that he has units run, until end is called.
func (h *handing) call() (end func()) {
	add := func(n int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.callers += n
		h.change()
	}
	add(1)
	return func() { add(-1) }
}

// is notes whether somebody is inside; mu is held.
func (h *handing) is(key any, u *unit, inside bool) {
	if inside {
		h.inside[key] = u
	} else {
		delete(h.inside, key)
	}
	h.change()
}

// change tells of a change; mu is held.
func (h *handing) change() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// pause has no run begin until resume is called. The error says why it can't: somebody
// else has done so already, or waits for commands, which have to run for that.
func (h *handing) pause() (resume func(), changed <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.paused != nil {
		return nil, nil, errPaused
	}
	if h.callers > 0 {
		return nil, h.changed, errors.New("somebody who waits for commands of juju-exec is")
	}
	paused := make(chan struct{})
	h.paused = paused
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.paused = nil
		close(paused)
	}, nil, nil
}

// errPaused is the error of a second upgrade at a time.
const errPaused = errors.ConstError("the agent is being upgraded already")

// running are the units that are in a run, others that are by what they do, and a channel
// that is closed when they aren't the same any more.
func (h *handing) running() (units []*unit, others []string, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, u := range h.inside {
		if u != nil {
			units = append(units, u)
		} else {
			others = append(others, fmt.Sprint(key))
		}
	}
	if h.callers > 0 {
		others = append(others, "commands of juju-exec")
	}
	return units, others, h.changed
}

// othersWork is the key of something beside units' runs.
type othersWork struct{ what string }

// String is what it is.
func (o *othersWork) String() string { return o.what }
