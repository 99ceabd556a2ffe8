package state

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// Concerning are the keys of what concerns the units on some machines, and nothing
// else of the model, for WatchOf: the machines with their tasks, the units with theirs,
// what their applications' documents say, and of each relation the other side. Of the
// model it is its configuration, its secrets and storage, which aren't by machine, and
// who asks whether all is settled. A machine that isn't there concerns them as well: it
// may have been removed just now.
//
// units are those that were found on the machines, subordinates among them. Once
// there are others, or others have relations, there is more to be followed: see
// Concern.Changed.
func (m *Model) Concerning(ctx context.Context, machines ...string) (Concern, error) {
	var c Concern
	rev, err := m.view(ctx, func(r docs) (err error) {
		c, err = r.concerning(machines)
		return errors.Trace(err)
	})
	c.Rev = rev
	return c, errors.Trace(err)
}

// Concern is what Concerning finds.
type Concern struct {
	// Rev is the revision that it was read at.
	Rev  int64
	Keys []store.Keys
	// Units are those on the machines with how many subordinates each has.
	Units map[model.UnitName]int

	machines, applications map[string]bool
}

// Changed says whether a change may have made it another Concern; read reads a unit.
// What units commit doesn't, so of theirs only their subordinates are looked at.
func (c Concern) Changed(change Change, read func(model.UnitName) (UnitDoc, error)) (bool, error) {
	if change.Resync {
		return true, nil
	}
	for id := range change.Machines {
		if c.machines[id] {
			return true, nil
		}
	}
	for app := range change.Applications {
		if c.applications[app] {
			return true, nil
		}
	}
	for name := range change.Units {
		has, ours := c.Units[name]
		if !ours {
			continue
		}
		u, err := read(name)
		if errors.Is(err, errors.NotFound) || err == nil && len(u.Subordinates) != has {
			return true, nil
		}
		if err != nil {
			return false, errors.Trace(err)
		}
	}
	return false, nil
}

func (d docs) concerning(machines []string) (Concern, error) {
	c := Concern{Units: map[model.UnitName]int{}, machines: map[string]bool{}, applications: map[string]bool{}}
	c.only(modelConfigKey, askKey)
	c.below("secret/", "secret-reader/", "secret-news/", "storage/")
	var units []UnitDoc
	for _, id := range machines {
		c.machines[id] = true
		c.only(machineKey(id), markOf(id), keyGiftKey(id))
		c.below(machineTasks(id), questionsOf(id))
		host, err := d.machine(id)
		if err != nil && !errors.Is(err, errors.NotFound) {
			return c, errors.Trace(err)
		}
		if units, err = d.withSubordinates(units, host.Units); err != nil {
			return c, errors.Trace(err)
		}
	}
	for _, u := range units {
		c.Units[u.Name] = len(u.Subordinates)
		c.only(unitKey(u.Name), podKey(u.Name))
		c.below(tasksOf(u.Name, u.ID), attachmentsOf(u.Name), scopesOfUnit(u.Name))
		app := u.Name.Application()
		if c.applications[app] {
			continue
		}
		c.applications[app] = true
		c.only(applicationKey(app), configKey(app), leaderKey(app), leaderSettingsKey(app))
		c.below(relationsOf(app))
		rels, err := d.relationsOf(app)
		if err != nil {
			return c, errors.Trace(err)
		}
		for _, r := range rels {
			c.relation(r, app, units)
		}
	}
	for i, k := range c.Keys {
		c.Keys[i].Key = d.m.prefix() + k.Key
	}
	return c, nil
}

func (c *Concern) only(keys ...string) {
	for _, k := range keys {
		c.Keys = append(c.Keys, store.Only(k))
	}
}

func (c *Concern) below(prefixes ...string) {
	for _, p := range prefixes {
		c.Keys = append(c.Keys, store.Below(p))
	}
}

// relation adds what an application's units may see of a relation: of one that is by
// families those of these units.
func (c *Concern) relation(r RelationDoc, app string, units []UnitDoc) {
	_, other, _ := r.Endpoint(app)
	c.only(relationKey(r.ID), appSettingsKey(r.ID, other.Application))
	if r.Scope() == model.Global {
		c.below(containerScope(r.ID, global)+other.Application+"/", settingsOf(r.ID)+"unit/"+other.Application+"/")
		return
	}
	for _, u := range units {
		if u.Name.Application() == other.Application || u.Name.Application() == app {
			c.below(containerScope(r.ID, container(r, u)))
			c.only(unitSettingsKey(r.ID, u.Name))
		}
	}
}

// withSubordinates adds units with their subordinates; those that are gone aren't.
func (d docs) withSubordinates(units []UnitDoc, names []model.UnitName) ([]UnitDoc, error) {
	for _, name := range names {
		u, err := d.unit(name)
		if errors.Is(err, errors.NotFound) {
			continue
		}
		if err != nil {
			return nil, errors.Trace(err)
		}
		units = append(units, u)
		if units, err = d.withSubordinates(units, u.Subordinates); err != nil {
			return nil, errors.Trace(err)
		}
	}
	return units, nil
}
