package machine_test

import (
	"testing"
	"time"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// bell is a clock that says when the agent waits for the time of its next look
// at everything.
type bell struct {
	*lab.Clock
	armed chan struct{}
}

// After is part of clock.Clock.
func (b bell) After(d time.Duration) <-chan time.Time {
	ring := b.Clock.After(d)
	if d == machine.ResyncInterval {
		b.armed <- struct{}{}
	}
	return ring
}

// TestAModelInWhichNothingHappensIsLeftAlone: it isn't looked at all over, for
// then the agent would write anew that all is settled.
func TestAModelInWhichNothingHappensIsLeftAlone(t *testing.T) {
	t.Parallel()
	clock := bell{lab.NewClock(time.Now()), make(chan struct{}, 100)}
	w := newWorldWith(t, func(c *machine.Config) {
		c.Clock = clock
		// Leases are kept by another clock.
		c.Controller = state.NewController(c.Controller.Store(), clock)
	})
	if err := w.model.SetModelConfig(w.ctx, map[string]string{state.UpdateStatusInterval: "0"}, nil); err != nil {
		t.Fatal(err)
	}
	w.deploy("app", w.charm(plain, "true\n"), 2)
	w.settle()
	<-clock.armed
	pass := func() int64 {
		clock.Set(clock.Now().Add(machine.ResyncInterval))
		<-clock.armed
		var rev int64
		if _, err := w.controller.Store().View(w.ctx, func(r store.Reader) error { rev = r.Rev(); return nil }); err != nil {
			t.Fatal(err)
		}
		return rev
	}
	before := pass()
	for range 3 {
		if after := pass(); after != before {
			t.Errorf("the model went from revision %d to %d", before, after)
		}
	}
	w.wantHooks("app/0", boot...)
}
