package statetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// operation is one thing that somebody does, on a model and on a reference. Both
// say whether it was done, rather than refused.
type operation struct {
	name string
	do   func(context.Context, *state.Model) error
	ref  func(*reference) bool
	// several: it takes several transactions, so that others may see it half done.
	several bool
	// begin is what its first transaction alone comes to, where others may do what
	// depends on it before the rest is done; nil: nothing does.
	begin func(*reference)
}

// refused says whether an error is a refusal, and not a fault.
func refused(err error) bool {
	for _, kind := range []error{
		errors.NotFound, errors.NotValid, errors.AlreadyExists, errors.QuotaLimitExceeded, state.ErrCannotEnterScope, state.ErrCannotEnterScopeYet,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// The troupe: two principals that relate to each other, a peer relation, and a
// subordinate of both.
var (
	troupe = map[string]model.Charm{
		"shop":  charmOf("shop", false, map[string]model.CharmRel{"db": {Role: model.Requirer, Interface: "kv", Scope: model.Global}}),
		"store": charmOf("store", false, map[string]model.CharmRel{"db": {Role: model.Provider, Interface: "kv", Scope: model.Global}, "ring": {Role: model.Peer, Interface: "ring", Scope: model.Global}}),
		"log":   charmOf("log", true, map[string]model.CharmRel{"info": {Role: model.Requirer, Interface: "juju-info", Scope: model.Container}}),
	}
	players = []string{"log", "shop", "store"}
	// pairs are what can be related, and the names of those relations.
	pairs = map[[2]string]string{
		{"shop", "store"}:     "shop:db store:db",
		{"log:info", "shop"}:  "log:info shop:juju-info",
		{"log:info", "store"}: "log:info store:juju-info",
	}
	pairsInOrder = [][2]string{{"log:info", "shop"}, {"log:info", "store"}, {"shop", "store"}}
)

func charmOf(name string, subordinate bool, endpoints map[string]model.CharmRel) model.Charm {
	return model.Charm{Name: name, Subordinate: subordinate, Endpoints: endpoints}
}

// draw draws an operation of one of the documents' kinds. Most are about what the
// reference has; some about what it doesn't.
func draw(t *rapid.T, r *reference) operation {
	app := rapid.SampledFrom(players).Draw(t, "application")
	unit := model.NewUnitName(app, rapid.IntRange(0, 3).Draw(t, "number"))
	if all := unitNames(r); len(all) > 0 && rapid.IntRange(0, 9).Draw(t, "known") > 0 {
		unit = rapid.SampledFrom(all).Draw(t, "unit")
	}
	id := model.RelationID(rapid.IntRange(0, max(r.nextRelation, 1)).Draw(t, "relation"))
	if all := relationIDs(r); len(all) > 0 && rapid.IntRange(0, 9).Draw(t, "known") > 0 {
		id = rapid.SampledFrom(all).Draw(t, "relation")
	}
	how := rapid.SampledFrom([]state.Force{state.Orderly, state.Orderly, state.SkipFailing, state.Abandon}).Draw(t, "force")
	pair := rapid.SampledFrom(pairsInOrder).Draw(t, "pair")
	return rapid.SampledFrom([]operation{
		deploy(app, rapid.IntRange(0, 2).Draw(t, "units")), addUnit(app),
		integrate(pair), integrate(pair),
		removeRelation(id, how), removeUnit(unit, how), removeApplication(app, how),
		setDeployed(unit), enter(unit, id), enter(unit, id), enter(unit, id),
		leave(unit, id), leave(unit, id),
		setDying(unit), setDead(unit), removeDead(unit), removeDead(unit), cleanUp(),
	}).Draw(t, "operation")
}

// String is the operation's name, for rapid to show.
func (o operation) String() string { return o.name }

func unitNames(r *reference) []model.UnitName {
	var all []model.UnitName
	for _, app := range players {
		all = append(all, r.unitsOf(app)...)
	}
	return all
}

func relationIDs(r *reference) []model.RelationID {
	var all []model.RelationID
	for id := range model.RelationID(r.nextRelation) {
		if _, ok := r.relations[id]; ok {
			all = append(all, id)
		}
	}
	return all
}

func deploy(app string, units int) operation {
	if troupe[app].Subordinate {
		units = 0
	}
	return operation{
		name: fmt.Sprintf("deploy %s -n %d", app, units),
		do: func(ctx context.Context, m *state.Model) error {
			return m.Deploy(ctx, state.DeployArgs{Application: app, Charm: "local:" + app + "-0", Units: units})
		},
		ref: func(r *reference) bool {
			if _, ok := r.apps[app]; ok {
				return false
			}
			r.apps[app] = refApp{}
			if app == "store" {
				r.addRelation("store:ring", app)
			}
			for range units {
				r.addUnit(app, "")
			}
			return true
		},
	}
}

func addUnit(app string) operation {
	return operation{
		name: "add-unit " + app,
		do: func(ctx context.Context, m *state.Model) error {
			_, err := m.AddUnits(ctx, app, 1)
			return err
		},
		ref: func(r *reference) bool {
			if a, ok := r.apps[app]; !ok || a.life != model.Alive || troupe[app].Subordinate {
				return false
			}
			r.addUnit(app, "")
			return true
		},
	}
}

func integrate(pair [2]string) operation {
	key := pairs[pair]
	first, _, _ := strings.Cut(pair[0], ":")
	second, _, _ := strings.Cut(pair[1], ":")
	return operation{
		name: fmt.Sprintf("integrate %s %s", pair[0], pair[1]),
		do: func(ctx context.Context, m *state.Model) error {
			_, err := m.AddRelation(ctx, pair[0], pair[1])
			return err
		},
		ref: func(r *reference) bool {
			for _, name := range []string{first, second} {
				if a, ok := r.apps[name]; !ok || a.life != model.Alive {
					return false
				}
			}
			for _, rel := range r.relations {
				if rel.key == key {
					return false
				}
			}
			r.addRelation(key, first, second)
			return true
		},
	}
}

func removeRelation(id model.RelationID, how state.Force) operation {
	return operation{
		name: fmt.Sprintf("remove-relation %d with force %d", id, how), several: how == state.Abandon,
		do: func(ctx context.Context, m *state.Model) error { return m.ForceRelation(ctx, id, how, nil) },
		ref: func(r *reference) bool {
			if rel, ok := r.relations[id]; !ok || len(rel.apps) == 1 {
				return false
			}
			r.destroyRelation(id, how)
			return true
		},
	}
}

func removeUnit(u model.UnitName, how state.Force) operation {
	return operation{
		name: fmt.Sprintf("remove-unit %s with force %d", u, how), several: how == state.Abandon,
		do: func(ctx context.Context, m *state.Model) error { return m.ForceUnit(ctx, u, how) },
		begin: func(r *reference) {
			if _, ok := r.units[u]; ok && how == state.Abandon {
				r.setDying(u)
			}
		},
		ref: func(r *reference) bool {
			doc, ok := r.units[u]
			switch {
			case how == state.Abandon:
				r.kill(u)
				return true
			case !ok || doc.principal != "":
				return false
			}
			r.setDying(u)
			r.removeUndeployed(u)
			return true
		},
	}
}

func removeApplication(app string, how state.Force) operation {
	return operation{
		name: fmt.Sprintf("remove-application %s with force %d", app, how), several: true,
		do: func(ctx context.Context, m *state.Model) error {
			_, err := m.ForceApplication(ctx, app, how, nil)
			return err
		},
		begin: func(r *reference) {
			if a, ok := r.apps[app]; ok {
				a.life = model.Dying
				r.apps[app] = a
				r.settle()
			}
		},
		ref: func(r *reference) bool {
			a, ok := r.apps[app]
			if !ok {
				return false
			}
			a.life = model.Dying
			r.apps[app] = a
			for _, id := range relationIDs(r) {
				if slices.Contains(r.relations[id].apps, app) {
					r.destroyRelation(id, how)
				}
			}
			for _, u := range r.unitsOf(app) {
				if how == state.Abandon {
					r.kill(u)
				} else {
					r.removeUndeployed(u)
				}
			}
			r.settle()
			return true
		},
	}
}
