package machine

import (
	"testing"

	"github.com/unitd/unitd/state"
)

// TestAUnitLooksAgainAtWhatIsNewToIt: not at what it has seen, such as its own commits, unless anything may
// have changed.
func TestAUnitLooksAgainAtWhatIsNewToIt(t *testing.T) {
	t.Parallel()
	u := &unit{changed: make(chan struct{}, 1)}
	u.lastLook.Store(5)
	for _, c := range []struct {
		change state.Change
		looks  bool
	}{
		{state.Change{Rev: 4}, false}, {state.Change{Rev: 5}, false}, {state.Change{Rev: 6}, true}, {state.Change{Rev: 3, Resync: true}, true},
	} {
		before := u.pokes.Load()
		u.hear(c.change)
		if looks := u.pokes.Load() > before; looks != c.looks {
			t.Errorf("%+v: it looks again: %v", c.change, looks)
		}
	}
}
