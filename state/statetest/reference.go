package statetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// reference is what a model should be: the sentences of seeds 000 to 002 over a
// few maps. Nothing is counted in it: who asks looks.
type reference struct {
	apps      map[string]refApp
	units     map[model.UnitName]refUnit
	relations map[model.RelationID]refRelation
	// next relation and machine.
	nextRelation, nextMachine int
}

type refApp struct {
	life model.Life
	next int // number of a unit
}

type refUnit struct {
	life      model.Life
	principal model.UnitName
	deployed  bool
	machine   string
}

type refRelation struct {
	key     string
	apps    []string // one: peers
	life    model.Life
	members []model.UnitName
}

func newReference() *reference {
	return &reference{apps: map[string]refApp{}, units: map[model.UnitName]refUnit{}, relations: map[model.RelationID]refRelation{}}
}

func (r *reference) clone() *reference {
	c := *r
	c.apps, c.units, c.relations = maps.Clone(r.apps), maps.Clone(r.units), maps.Clone(r.relations)
	for id, rel := range c.relations {
		rel.members = slices.Clone(rel.members)
		c.relations[id] = rel
	}
	return &c
}

func (r *reference) subordinates(u model.UnitName) []model.UnitName {
	var subs []model.UnitName
	for name, other := range r.units {
		if other.principal == u {
			subs = append(subs, name)
		}
	}
	slices.SortFunc(subs, model.CompareUnits)
	return subs
}

func (r *reference) scopes(u model.UnitName) []model.RelationID {
	var in []model.RelationID
	for id, rel := range r.relations {
		if slices.Contains(rel.members, u) {
			in = append(in, id)
		}
	}
	return in
}

// settle takes away what is Dying and has nothing that refers to it.
func (r *reference) settle() {
	maps.DeleteFunc(r.relations, func(_ model.RelationID, rel refRelation) bool {
		return rel.life == model.Dying && len(rel.members) == 0
	})
	maps.DeleteFunc(r.apps, func(name string, app refApp) bool {
		if app.life == model.Alive {
			return false
		}
		for u := range r.units {
			if u.Application() == name {
				return false
			}
		}
		for _, rel := range r.relations {
			if slices.Contains(rel.apps, name) {
				return false
			}
		}
		return true
	})
}

func (r *reference) addRelation(key string, apps ...string) {
	r.relations[model.RelationID(r.nextRelation)] = refRelation{key: key, apps: apps}
	r.nextRelation++
}

func (r *reference) addUnit(application string, principal model.UnitName) {
	app := r.apps[application]
	u := refUnit{principal: principal}
	if principal == "" {
		u.machine = fmt.Sprint(r.nextMachine)
		r.nextMachine++
	} else {
		u.machine = r.units[principal].machine
	}
	r.units[model.NewUnitName(application, app.next)] = u
	app.next++
	r.apps[application] = app
}

func (r *reference) leave(u model.UnitName, id model.RelationID) {
	rel, ok := r.relations[id]
	if !ok {
		return
	}
	rel.members = slices.DeleteFunc(rel.members, func(m model.UnitName) bool { return m == u })
	r.relations[id] = rel
	r.settle()
}

func (r *reference) kill(u model.UnitName) {
	for _, s := range r.subordinates(u) {
		r.kill(s)
	}
	for _, id := range r.scopes(u) {
		r.leave(u, id)
	}
	delete(r.units, u)
	r.settle()
}

func (r *reference) setDying(u model.UnitName) {
	doc := r.units[u]
	if doc.life != model.Alive {
		return
	}
	for _, s := range r.subordinates(u) {
		r.setDying(s)
	}
	doc.life = model.Dying
	r.units[u] = doc
}

// removeUndeployed takes away a unit that is going and that no agent has.
func (r *reference) removeUndeployed(u model.UnitName) {
	doc, ok := r.units[u]
	going := doc.life != model.Alive || r.apps[u.Application()].life != model.Alive
	if ok && going && !doc.deployed && len(r.subordinates(u)) == 0 && len(r.scopes(u)) == 0 {
		delete(r.units, u)
		r.settle()
	}
}

func (r *reference) destroyRelation(id model.RelationID, how state.Force) {
	rel, ok := r.relations[id]
	if !ok {
		return
	}
	rel.life = model.Dying
	if how == state.Abandon {
		rel.members = nil
	}
	r.relations[id] = rel
	r.settle()
}

func (r *reference) unitsOf(app string) []model.UnitName {
	units := slices.DeleteFunc(slices.Collect(maps.Keys(r.units)), func(u model.UnitName) bool { return u.Application() != app })
	slices.SortFunc(units, model.CompareUnits)
	return units
}

// String is the whole of it in lines, to compare with what the store has.
func (r *reference) String() string {
	lines := []string{nextLine(r.nextRelation, r.nextMachine)}
	for name, a := range r.apps {
		lines = append(lines, appLine(name, a.life, a.next))
	}
	for name, u := range r.units {
		lines = append(lines, unitLine(name, u.life, u.principal, u.deployed, u.machine))
	}
	for id, rel := range r.relations {
		lines = append(lines, relationLine(id, rel.key, rel.life, rel.members))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func nextLine(relation, machine int) string {
	return fmt.Sprintf("next relation %d, next machine %d", relation, machine)
}

func appLine(name string, life model.Life, next int) string {
	return fmt.Sprintf("application %s %s, next unit %d", name, life, next)
}

func unitLine(name model.UnitName, life model.Life, principal model.UnitName, deployed bool, machine string) string {
	return fmt.Sprintf("unit %s %s, principal %q, deployed %t, machine %s", name, life, principal, deployed, machine)
}

func relationLine(id model.RelationID, key string, life model.Life, members []model.UnitName) string {
	in := slices.Clone(members)
	slices.SortFunc(in, model.CompareUnits)
	return fmt.Sprintf("relation %d %s %s %v", id, key, life, in)
}

// String is what the store has, in the lines of a reference.
func (c *checker) String() string {
	lines := []string{nextLine(c.next["relation"], c.next["machine"])}
	for name, a := range c.apps {
		lines = append(lines, appLine(name, a.Life, a.NextUnit))
	}
	for name, u := range c.units {
		lines = append(lines, unitLine(name, u.Life, u.Principal, u.Deployed, u.Machine))
	}
	for id, rel := range c.relations {
		lines = append(lines, relationLine(id, rel.Key, rel.Life, c.inScope[id]))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
