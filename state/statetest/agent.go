package statetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// What a unit's agent does, in one transaction each but for removing.

func setDeployed(u model.UnitName) operation {
	return onUnit("set-deployed", u, func(ctx context.Context, m *state.Model) error { return m.SetDeployed(ctx, u) },
		func(r *reference, doc refUnit) bool {
			doc.deployed = true
			r.units[u] = doc
			return true
		})
}

func setDying(u model.UnitName) operation {
	return onUnit("set-dying", u, func(ctx context.Context, m *state.Model) error { return m.SetDying(ctx, u) },
		func(r *reference, _ refUnit) bool {
			r.setDying(u)
			return true
		})
}

func setDead(u model.UnitName) operation {
	return onUnit("set-dead", u, func(ctx context.Context, m *state.Model) error { return m.SetDead(ctx, u) },
		func(r *reference, doc refUnit) bool {
			switch {
			case doc.life == model.Dead:
				return true
			case doc.life == model.Alive, len(r.subordinates(u)) > 0, len(r.scopes(u)) > 0:
				return false
			}
			doc.life = model.Dead
			r.units[u] = doc
			return true
		})
}

// removeDead is no error for a unit that is gone.
func removeDead(u model.UnitName) operation {
	return operation{
		name: "remove-dead " + string(u),
		do:   func(ctx context.Context, m *state.Model) error { return m.RemoveUnit(ctx, u) },
		ref: func(r *reference) bool {
			doc, ok := r.units[u]
			if ok && doc.life == model.Dead {
				r.kill(u)
			}
			return !ok || doc.life == model.Dead
		},
	}
}

func enter(u model.UnitName, id model.RelationID) operation {
	return onUnit(fmt.Sprintf("enter %d", id), u,
		func(ctx context.Context, m *state.Model) error {
			return m.EnterScope(ctx, u, id, model.Settings{"hello": "1"})
		},
		func(r *reference, doc refUnit) bool {
			rel, ok := r.relations[id]
			switch {
			case !ok:
				return false
			case slices.Contains(rel.members, u):
				return true
			case !rel.concerns(u, doc), doc.life != model.Alive, rel.life != model.Alive:
				return false
			}
			if rel.hasContainer() && doc.principal == "" {
				if !r.provideSubordinate(u) {
					return false
				}
			}
			rel.members = append(slices.Clone(rel.members), u)
			r.relations[id] = rel
			return true
		})
}

// hasContainer: all relations of log, and no other, have container scope.
func (rel refRelation) hasContainer() bool { return rel.apps[0] == "log" }

// concerns: a subordinate has no part in the relation of another principal.
func (rel refRelation) concerns(u model.UnitName, doc refUnit) bool {
	return slices.Contains(rel.apps, u.Application()) &&
		(!rel.hasContainer() || doc.principal == "" || doc.principal.Application() == rel.apps[1])
}

// provideSubordinate makes the subordinate of a principal, and says whether the
// principal may enter: not while a former one is going.
func (r *reference) provideSubordinate(u model.UnitName) bool {
	if r.apps["log"].life != model.Alive {
		return true
	}
	for _, s := range r.subordinates(u) {
		return r.units[s].life == model.Alive // there is one application that has any
	}
	r.addUnit("log", u)
	return true
}

func leave(u model.UnitName, id model.RelationID) operation {
	return onUnit(fmt.Sprintf("leave %d", id), u,
		func(ctx context.Context, m *state.Model) error { return m.LeaveScope(ctx, u, id) },
		func(r *reference, _ refUnit) bool {
			r.leave(u, id)
			return true
		})
}

// cleanUp changes nothing that a reference knows of.
func cleanUp() operation {
	return operation{
		name: "clean up",
		do:   func(ctx context.Context, m *state.Model) error { return m.RunCleanups(ctx) },
		ref:  func(*reference) bool { return true },
	}
}

// onUnit is an operation that is refused where there is no such unit.
func onUnit(name string, u model.UnitName, do func(context.Context, *state.Model) error, ref func(*reference, refUnit) bool) operation {
	return operation{
		name: name + " " + string(u), do: do,
		ref: func(r *reference) bool {
			doc, ok := r.units[u]
			return ok && ref(r, doc)
		},
	}
}
