package bench

import (
	"context"
	"strconv"
	"time"

	"github.com/unitd/unitd/hooks"
)

// measureHook measures a hook that does nothing, from the beginning of the commit
// that causes it to the end of its own, and by turns a process between two durable
// writes.
func measureHook(ctx context.Context, m *measuring) ([]Figure, error) {
	script, err := m.script()
	if err != nil {
		return nil, err
	}
	d, err := newDisk(m.dir)
	if err != nil {
		return nil, err
	}
	defer d.close()
	var p pairs
	err = m.within(ctx, func(w *world) error {
		if err := w.deploy(charm{dispatch: nothing}, 1); err != nil {
			return err
		}
		if _, _, err := w.runs(started(1)); err != nil {
			return err
		}
		if err := w.settled(); err != nil {
			return err
		}
		for i := range m.Count {
			m.done(i, m.Count)
			took, err := w.change(i)
			if err != nil {
				return err
			}
			began := time.Now()
			if err := d.bare(w.ctx, script); err != nil {
				return err
			}
			p.add(took, time.Since(began))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []Figure{p.figure(Figure{
		Name: "hook", What: "a hook that does nothing, by the whole agent", Floor: "its process alone, and two durable writes",
	})}, nil
}

// change changes the configuration, and returns how long it took until the hook
// that tells of it had committed.
func (w *world) change(n int) (time.Duration, error) {
	var ended time.Time
	note := func(s said) {
		if s.Run != nil && s.Run.Kind == hooks.ConfigChanged {
			ended = s.Run.Ended
		}
	}
	began, err := w.order(order{modelName, application, strconv.Itoa(n)}, func(s said) bool { return !s.Changing.IsZero() }, note)
	for err == nil && ended.IsZero() {
		var s said
		s, err = w.next()
		note(s)
	}
	return ended.Sub(began.Changing), err
}
