package machine

import (
	"maps"
	"slices"
	"sync"
)

// untold are the desires of which the store may not have all. It is safe for use by many
// goroutines.
type untold struct {
	mu   sync.Mutex
	some map[*desire]struct{}
}

// note notes whether the store has all that is wanted. Its caller holds the desire's mu,
// or has the desire alone.
func (d *desire) note() {
	u := &d.telling.few
	u.mu.Lock()
	defer u.mu.Unlock()
	if d.want.Empty() {
		delete(u.some, d)
		return
	}
	if u.some == nil {
		u.some = map[*desire]struct{}{}
	}
	u.some[d] = struct{}{}
}

// drop forgets the desire of a unit, or of its agent, that is gone.
func (u *untold) drop(d *desire) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.some, d)
}

// all are those that there are.
func (u *untold) all() []*desire {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Collect(maps.Keys(u.some))
}
