package machine

import (
	"context"
	"slices"
	"sync"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// gate is where a unit waits before each hook, if the agent has a Config.Gate.
// It is safe for use by many goroutines.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed to let the unit in; nil: it isn't there
	// standing: the unit waits at a Point, on purpose.
	standing bool
}

// enter waits until the gate is opened. arrived is called once the unit is
// there.
func (g *gate) enter(ctx context.Context, arrived func()) error {
	open := make(chan struct{})
	g.mu.Lock()
	g.open = open
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.open = nil
	}()
	arrived()
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return errors.Trace(ctx.Err())
	}
}

// waiting says whether the unit is at the gate.
func (g *gate) waiting() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open != nil
}

// pass opens the gate.
func (g *gate) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		close(g.open)
		g.open = nil
	}
}

// stand notes that the unit waits at a Point, or does no more.
func (g *gate) stand(standing bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.standing = standing
}

// stands says whether the unit waits at a Point.
func (g *gate) stands() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.standing
}

// quiet says what happens by itself yet (empty: nothing does any more), and else which units
// wait at their gates.
func (a *modelAgent) quiet() (busy string, waiting []model.UnitName) {
	switch {
	case !a.storeroom.settled():
		return "storage is made or removed", nil
	case !a.wiring.settled():
		return "the units' network is made", nil
	case !a.commands.settled():
		return "commands run on a machine", nil
	case len(a.moved) > 0:
		return "the host's address has changed", nil
	case len(a.leases) > 0:
		return "leadership is seen to", nil
	case a.health.room.returns():
		return "there is room on the disk again", nil
	}
	for name, u := range a.units {
		switch {
		case u.gate.waiting():
			waiting = append(waiting, name)
		case !u.waits() && !u.stands() && !u.behindOneThatStands():
			return string(name) + " is busy", nil
		}
	}
	if unit := a.telling.untold(a.model.UUID()); unit != "" {
		return "what is to be seen of " + string(unit) + " isn't written yet", nil
	}
	slices.SortFunc(waiting, model.CompareUnits)
	return "", waiting
}

// someStand says whether a unit stands still at a Point, or behind one that does, or is in trouble.
func (a *modelAgent) someStand() bool {
	for _, u := range a.units {
		if u.held.Load() || u.stands() || u.behindOneThatStands() {
			return true
		}
	}
	return false
}

// behindOneThatStands says whether the unit waits for the turn of one that waits
// at a Point.
func (u *unit) behindOneThatStands() bool {
	one := u.queued.Load()
	if one == nil {
		return false
	}
	holder := u.turns.holder(one)
	return holder != nil && holder.stands() && u.turns.holder(one) == holder
}

// busy tells whoever wants to know it.
func (a *modelAgent) busy(why string) {
	if a.Busy != nil {
		a.Busy(a.model.UUID(), why)
	}
}

// letIn opens the gate of the unit that Config.Gate chooses.
func (a *modelAgent) letIn(waiting []model.UnitName) {
	name := a.Gate(waiting)
	if u, ok := a.units[name]; ok {
		a.busy(string(name) + " is busy")
		u.gate.pass()
	}
}

// stand is Point.Stand.
func (u *unit) stand(standing bool) {
	u.gate.stand(standing)
	u.idle()
}
