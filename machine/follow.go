package machine

import (
	"context"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// following is what a model's agent is told of. The agent that has the models follows
// the whole of each. One that has joined as a machine follows what concerns its units:
// else each transaction would be told to all machines, of which hardly any is concerned
// (docs/scale.md). Where its host has units of which others are found by their names it
// follows the whole model as well, as these may be anybody's.
type following struct {
	changes <-chan state.Change
	// concern is what is followed, unless it is the whole.
	concern state.Concern
	whole   bool
	end     context.CancelFunc
}

// watch begins to watch, before anything was looked at.
func (a *modelAgent) watch(ctx context.Context) error {
	if a.Machine == nil {
		changes, err := a.model.Watch(ctx, 0)
		a.changes = changes
		return errors.Trace(err)
	}
	concern, err := a.model.Concerning(ctx, a.Machine.ID)
	if err != nil {
		return errors.Trace(err)
	}
	a.rev = concern.Rev
	return errors.Trace(a.change(ctx, concern, false))
}

// change has the agent follow something else from now on. The new watch goes on after
// the last that the agent was told of, so nothing is missed of what was followed
// before. What is new has to be looked at after this.
func (a *modelAgent) change(ctx context.Context, concern state.Concern, whole bool) error {
	ctx, end := context.WithCancel(ctx)
	follow := func() (<-chan state.Change, error) { return a.model.WatchOf(ctx, concern.Keys, a.rev) }
	if whole {
		follow = func() (<-chan state.Change, error) { return a.model.Watch(ctx, a.rev) }
	}
	changes, err := follow()
	if err != nil {
		end()
		return errors.Trace(err)
	}
	if a.end != nil {
		a.end()
	}
	a.following = following{changes: changes, concern: concern, whole: whole, end: end}
	return nil
}

// follow follows what concerns the machine now, if a change has made that something
// else, and says whether there may be other units on it than before.
func (a *modelAgent) follow(ctx context.Context, c state.Change) (others bool, err error) {
	if a.Machine == nil {
		return false, nil
	}
	changed, err := a.concern.Changed(c, func(name model.UnitName) (state.UnitDoc, error) { return a.model.Unit(ctx, name) })
	if err != nil || !changed {
		return false, errors.Trace(err)
	}
	concern, err := a.model.Concerning(ctx, a.Machine.ID)
	if err != nil {
		return false, errors.Trace(err)
	}
	if !slices.Equal(concern.Keys, a.concern.Keys) {
		if err := a.change(ctx, concern, a.whole); err != nil {
			return false, errors.Trace(err)
		}
	}
	for name := range concern.Units {
		others = others || a.units[name] == nil
	}
	return others || len(concern.Units) != len(a.units), nil
}

// widen follows the whole model once units here are found by their names, and no longer
// once there are none.
func (a *modelAgent) widen(ctx context.Context) error {
	if whole := a.wiring.active.Load(); a.Machine != nil && whole != a.whole {
		if err := a.change(ctx, a.concern, whole); err != nil {
			return errors.Trace(err)
		}
		a.wiring.poke()
	}
	return nil
}
