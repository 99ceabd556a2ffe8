package lab

import (
	"math/rand/v2"
	"sync"

	"github.com/unitd/unitd/model"
)

// Order says which unit runs the next hook of a world: by turns, or, where it
// has been given choices, by those. It is safe for use by many goroutines.
type Order struct {
	mu      sync.Mutex
	turn    int
	last    map[model.UnitName]int
	chance  *rand.Rand
	choices []int
	made    []int
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

// Choose has the units run in an order left to chance, or, with choices, in the
// order that these say: each is the index of the unit among those that wait. By
// turns again once they are used up.
func (o *Order) Choose(seed uint64, choices []int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.chance, o.choices, o.made = nil, choices, nil
	if seed != 0 {
		o.chance = rand.New(rand.NewPCG(seed, 0))
	}
}

// Made are the choices since Choose, as Choose takes them.
func (o *Order) Made() []int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]int(nil), o.made...)
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
	switch {
	case len(o.choices) > 0:
		i = o.choices[0] % len(waiting)
		o.choices = o.choices[1:]
	case o.chance != nil:
		i = o.chance.IntN(len(waiting))
	}
	o.made = append(o.made, i)
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
