package live

import (
	"context"
	"maps"
	"slices"

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

// line puts a line of the log into the view.
func (v *View) line(e debuglog.Entry) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lines = newest(v.lines, e)
	for w := range v.watchers {
		w.pending.Lines = newest(w.pending.Lines, e)
		w.poke()
	}
	return nil
}

// newest adds a line, by its time, and drops old ones now and then.
func newest(lines []debuglog.Entry, e debuglog.Entry) []debuglog.Entry {
	i := len(lines)
	for i > 0 && lines[i-1].Time.After(e.Time) { // of another host
		i--
	}
	if lines = slices.Insert(lines, i, e); len(lines) >= 2*maxLines {
		lines = slices.Clone(lines[len(lines)-maxLines:])
	}
	return lines
}

func (w *Watcher) poke() {
	select {
	case w.some <- struct{}{}:
	default:
	}
}
