package machine

import (
	"context"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// react does what a change asks of the agent itself, and pokes the units that
// it may concern.
func (a *modelAgent) react(ctx context.Context, c state.Change) error {
	a.rev = max(a.rev, c.Rev)
	if c.Manager || c.Resync {
		if err := a.manage(ctx); err != nil {
			return errors.Trace(err)
		}
	}
	a.answering.heed(c)
	a.shipping.heed(c)
	a.sharing.heed(c)
	a.externals.heed(c)
	if c.Status && !c.Resync {
		return nil
	}
	a.dirty = true
	others, err := a.follow(ctx, c)
	if err != nil {
		return errors.Trace(err)
	}
	if c.Storage || c.Resync {
		a.storeroom.poke()
	}
	if c.Tunnels && !c.Resync {
		if err := a.wiring.meet(ctx); err != nil { // before a unit hears of one that is there
			return errors.Trace(err)
		}
	}
	a.wiring.heed(c)
	if c.Resync || len(c.Machines) > 0 {
		a.commands.poke()
		if err := a.machineDuties(ctx, c); err != nil {
			return errors.Trace(err)
		}
	}
	if c.Resync || others || a.hasNew(ctx, c) {
		if err := a.reconcile(ctx); err != nil {
			return errors.Trace(err)
		}
	}
	if err := a.rollOut(ctx, c); err != nil {
		return errors.Trace(err)
	}
	if c.Storage || c.Consumed { // it may have been the last that was in a model that goes
		if err := a.finish(ctx); err != nil {
			return errors.Trace(err)
		}
	}
	if err := a.lead(ctx, c); err != nil {
		return errors.Trace(err)
	}
	if c.Cleanups { // those who have joined do it when they look at everything
		a.cleanUp(ctx)
	}
	if err := a.poke(ctx, c); err != nil {
		return errors.Trace(err)
	}
	a.tellCauses(ctx, c) // when the units are on their way
	if err := a.endCancelled(ctx, c); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(a.dismissAny(ctx, c))
}

// cleanUp does what removals have left, and tries again later what can't be done: it keeps nobody from
// their hooks.
func (a *modelAgent) cleanUp(ctx context.Context) {
	err := a.model.RunCleanups(ctx)
	if a.unclean = nil; err == nil || ctx.Err() != nil {
		a.uncleaned = 0
		return
	}
	a.log.Error("cannot clean up, trying again", "err", err)
	a.unclean = a.Clock.After(min(100*time.Millisecond<<min(a.uncleaned, 10), ResyncInterval))
	a.uncleaned++
}

// hasNew says whether the change is about a unit that isn't hosted yet, and may
// have to be. The units of other hosts change all the time, so it is looked at
// what has changed of them.
func (a *modelAgent) hasNew(ctx context.Context, c state.Change) bool {
	for name := range c.Units {
		if _, ok := a.units[name]; ok {
			continue
		}
		if !a.elsewhere[name] {
			return true
		}
		doc, err := a.model.Unit(ctx, name)
		if errors.Is(err, errors.NotFound) {
			delete(a.elsewhere, name)
		} else if err != nil || a.Machine.hosts(doc) {
			return true
		}
	}
	return false
}

// dismissAny ends the agents of the units in the change that are gone and that
// wait for their hooks: they would not look before those have ended.
func (a *modelAgent) dismissAny(ctx context.Context, c state.Change) error {
	for name := range c.Units {
		u, ok := a.units[name]
		if !ok || !u.busy.Load() {
			continue
		}
		doc, err := u.model.Unit(ctx, name)
		switch {
		case errors.Is(err, errors.NotFound) || err == nil && doc.Life == model.Dead:
			u.dismiss()
		case err != nil:
			return errors.Trace(err)
		}
	}
	return nil
}

func (a *modelAgent) poke(ctx context.Context, c state.Change) error {
	if c.Resync {
		clear(a.endpoints)
	}
	related := map[model.UnitName]bool{}
	for id, touched := range c.Relations {
		endpoints, err := a.endpointsOf(ctx, id)
		if err != nil {
			return errors.Trace(err)
		}
		for name := range a.units {
			related[name] = related[name] || touched.Concerns(name, endpoints)
		}
	}
	for name := range c.Units {
		u, ok := a.units[name]
		if !ok {
			continue
		}
		u.poke()
		if p, ok := a.units[u.principal]; ok {
			p.poke()
		}
	}
	if !c.Resync && !c.Model && !c.Secrets && len(c.Applications)+len(c.Relations)+len(c.Machines) == 0 && a.nested == 0 {
		return nil
	}
	for name, u := range a.units {
		app := name.Application()
		if c.Resync || c.Model || c.Secrets || c.Units[u.principal] || c.Applications[app] || related[name] || c.Machines[u.machine] {
			u.poke()
		}
	}
	return nil
}

// endpointsOf are the endpoints of a relation; none for one that is gone, which is a
// change of both applications too. They never change.
func (a *modelAgent) endpointsOf(ctx context.Context, id model.RelationID) ([]model.Endpoint, error) {
	if known, ok := a.endpoints[id]; ok {
		return known, nil
	}
	r, err := a.model.Relation(ctx, id)
	if errors.Is(err, errors.NotFound) {
		return nil, nil
	}
	if err == nil {
		a.endpoints[id] = r.Endpoints
	}
	return r.Endpoints, errors.Trace(err)
}
