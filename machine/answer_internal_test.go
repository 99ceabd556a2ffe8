package machine

import (
	"math"
	"testing"

	"github.com/juju/clock"

	"github.com/unitd/unitd/model"
)

// TestAUnitThatGetsSomethingToDoAsContainersAreAskedIsWaitedFor: it doesn't stand still, and once it has done
// that, all is asked anew. A unit that stands still is told of.
func TestAUnitThatGetsSomethingToDoAsContainersAreAskedIsWaitedFor(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		make  func(u *unit)
		still int64
		dirty bool
	}{
		"it has something to do": {func(u *unit) { u.pokes.Add(1) }, 0, true},
		"it stands still": {func(u *unit) {
			u.pokes.Add(1)
			u.gate.stand(true)
		}, 5, false},
		"it is in trouble": {func(u *unit) { u.held.Store(true) }, 5, false},
	} {
		var still int64
		u := &unit{clock: clock.WallClock}
		u.until.Store(math.MaxInt64)
		c.make(u)
		a := &modelAgent{Config: Config{Still: func(rev int64) { still = rev }}, units: map[model.UnitName]*running{"app/0": {unit: u}}, mark: 5, rev: 5}
		if err := a.answer(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if still != c.still || a.mark != 0 || a.dirty != c.dirty {
			t.Errorf("%s: still at %d, mark %d, dirty %t", what, still, a.mark, a.dirty)
		}
	}
}
