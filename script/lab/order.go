package lab

import (
	"math/rand/v2"
	"sync"

	"github.com/unitd/unitd/model"
)

// Order says which unit runs the next hook of a world: by turns, or as chance
// has it. It is safe for use by many goroutines.
type Order struct {
	mu     sync.Mutex
	turn   int
	last   map[model.UnitName]int
	chance *rand.Rand
	// left is how many hooks may still run; limited: there is such a number.
	left    int
	limited bool
	paused  bool
}

// Limit has the world stand still once so many hooks have run; -1: never.
func (o *Order) Limit(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left, o.limited, o.paused = n, n >= 0, false
}

// Paused says whether it stands still for that.
func (o *Order) Paused() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.paused
}

// Choose has the units run in an order left to chance, the same for the same
// seed; 0: by turns.
func (o *Order) Choose(seed uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.chance = nil
	if seed != 0 {
		o.chance = rand.New(rand.NewPCG(seed, 0))
	}
}

// Next is the machine.Config.Gate of an agent under test.
func (o *Order) Next(waiting []model.UnitName) model.UnitName {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.limited && o.left == 0 {
		o.paused = true
		return ""
	}
	o.left--
	i := o.byTurns(waiting)
	if o.chance != nil {
		i = o.chance.IntN(len(waiting))
	}
	if o.last == nil {
		o.last = map[model.UnitName]int{}
	}
	o.turn++
	o.last[waiting[i]] = o.turn
	return waiting[i]
}

// byTurns is the index of the unit that has waited longest for its turn, the
// first by name of those that haven't had one.
func (o *Order) byTurns(waiting []model.UnitName) int {
	best := 0
	for i, unit := range waiting {
		if o.last[unit] < o.last[waiting[best]] {
			best = i
		}
	}
	return best
}
