package live

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/page"
)

// maxLines is how many lines of the log a view has, and a browser that begins to look
// gets: the newest. The others are asked for by the run that they belong to.
const maxLines = 1000

// Watcher is somebody who looks at a view. What he hasn't got yet is kept as one event.
type Watcher struct {
	view    *View
	pending page.Event
	some    chan struct{} // has something while there is a pending event
}

// Watch begins to look at the view; the first event has all that there is by now, and end
// ends it.
func (v *View) Watch() (w *Watcher, end func()) {
	w = &Watcher{view: v, some: make(chan struct{}, 1)}
	v.mu.Lock()
	defer v.mu.Unlock()
	w.pending = page.Event{Delta: page.Delta{Set: maps.Clone(v.all)}, First: true, Lines: slices.Clone(v.lines)}
	w.some <- struct{}{}
	v.watchers[w] = true
	select {
	case v.wake <- struct{}{}:
	default:
	}
	return w, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.watchers, w)
	}
}

func (v *View) watched() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.watchers) > 0
}

// Next waits for something to see, until ctx ends.
func (w *Watcher) Next(ctx context.Context) (page.Event, error) {
	select {
	case <-ctx.Done():
		return page.Event{}, errors.Trace(ctx.Err())
	case <-w.some:
		return w.take(), nil
	}
}

// take is what there is to see.
func (w *Watcher) take() page.Event {
	w.view.mu.Lock()
	defer w.view.mu.Unlock()
	e := w.pending
	w.pending = page.Event{}
	return e
}

// publish puts a change into the view, and tells all who look.
func (v *View) publish(d page.Delta) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.Copy(v.all, d.Set)
	for _, key := range d.Gone {
		delete(v.all, key)
	}
	for w := range v.watchers {
		w.pending.Delta = w.pending.And(d)
		w.poke()
	}
}

// line puts a line of this host's log into the view. They are in the order in which they were
// written, whatever its clock has done meanwhile.
func (v *View) line(e debuglog.Entry) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.own = max(v.own, cameAt(e))
	v.put(page.Line{Entry: e, At: v.own})
	return nil
}

// lineOf puts a line of another host's log into the view.
func (v *View) lineOf(e debuglog.Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.put(page.Line{Entry: e, At: cameAt(e)})
}

// put puts a line into the view, which is locked.
func (v *View) put(line page.Line) {
	v.lines = v.lines.Put(line, maxLines)
	for w := range v.watchers {
		w.pending.Lines = w.pending.Lines.Put(line, maxLines)
		w.poke()
	}
}

// cameAt is the place of a line that comes now.
func cameAt(e debuglog.Entry) float64 {
	return float64(min(e.Time.UnixMicro(), time.Now().UnixMicro())) / 1000
}

func (w *Watcher) poke() {
	select {
	case w.some <- struct{}{}:
	default:
	}
}
