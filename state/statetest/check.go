package statetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// checker holds every document of a model, to compare them with each other.
type checker struct {
	apps      map[string]state.ApplicationDoc
	units     map[model.UnitName]state.UnitDoc
	machines  map[string]state.MachineDoc
	relations map[model.RelationID]state.RelationDoc
	saas      map[string]state.SAASDoc
	offers    map[string]state.OfferDoc
	standIns  map[string]standIn
	inScope   map[model.RelationID][]model.UnitName
	storage   map[model.StorageID]state.StorageDoc
	attached  map[model.StorageID]state.AttachmentDoc
	next      map[string]int // what numbers come next, by kind
	keys      []string
	problems  []string
	rest      bool
}

// Problems lists what contradicts the rules of seed 000 in the model with that
// UUID: wrong counts, references to what isn't there, and documents that nothing
// refers to. rest says that nobody is in the middle of removing something.
func Problems(ctx context.Context, s store.Store, uuid string, rest bool) ([]string, error) {
	c, err := load(ctx, s, uuid)
	if err != nil {
		return nil, errors.Trace(err)
	}
	c.rest = rest
	c.applications()
	c.unitsAndMachines()
	c.relationDocs()
	c.storageDocs()
	c.acrossDocs()
	c.orphans()
	return c.problems, nil
}

// load reads all of a model in one view.
func load(ctx context.Context, s store.Store, uuid string) (*checker, error) {
	var c *checker
	_, err := s.View(ctx, func(r store.Reader) error {
		c = &checker{
			apps: map[string]state.ApplicationDoc{}, units: map[model.UnitName]state.UnitDoc{},
			machines: map[string]state.MachineDoc{}, relations: map[model.RelationID]state.RelationDoc{},
			inScope: map[model.RelationID][]model.UnitName{}, storage: map[model.StorageID]state.StorageDoc{}, attached: map[model.StorageID]state.AttachmentDoc{},
			next: map[string]int{}, saas: map[string]state.SAASDoc{}, offers: map[string]state.OfferDoc{}, standIns: map[string]standIn{},
		}
		prefix := "m/" + uuid + "/"
		kvs, err := r.List(prefix)
		if err != nil {
			return errors.Trace(err)
		}
		for _, kv := range kvs {
			key := strings.TrimPrefix(kv.Key, prefix)
			c.keys = append(c.keys, key)
			if err := c.load(key, kv.Value); err != nil {
				return errors.Annotatef(err, "document %s", key)
			}
		}
		return nil
	})
	return c, errors.Trace(err)
}

func (c *checker) bad(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func loadInto[K comparable, T any](m map[K]T, value []byte, key func(T) K) error {
	var doc T
	if err := json.Unmarshal(value, &doc); err != nil {
		return errors.Trace(err)
	}
	m[key(doc)] = doc
	return nil
}

func (c *checker) load(key string, value []byte) error {
	kind, rest := splitKey(key)
	switch kind {
	case "app":
		return loadInto(c.apps, value, func(d state.ApplicationDoc) string { return d.Name })
	case "unit":
		return loadInto(c.units, value, func(d state.UnitDoc) model.UnitName { return d.Name })
	case "machine":
		return loadInto(c.machines, value, func(d state.MachineDoc) string { return d.ID })
	case "relation":
		return loadInto(c.relations, value, func(d state.RelationDoc) model.RelationID { return d.ID })
	case "saas":
		return loadInto(c.saas, value, func(d state.SAASDoc) string { return d.Name })
	case "offer":
		return loadInto(c.offers, value, func(d state.OfferDoc) string { return d.Name })
	case "stand-in":
		return loadInto(c.standIns, value, func(d standIn) string { return d.Name })
	case "storage":
		return loadInto(c.storage, value, func(d state.StorageDoc) model.StorageID { return d.ID })
	case "attachment":
		return loadInto(c.attached, value, func(d state.AttachmentDoc) model.StorageID { return d.Storage })
	case "sequence":
		var n int
		err := json.Unmarshal(value, &n)
		c.next[rest] = n
		return errors.Trace(err)
	case "scope":
		id, member := splitKey(rest)
		n, err := strconv.Atoi(id)
		_, unit := splitKey(member) // after the part of the scope
		c.inScope[model.RelationID(n)] = append(c.inScope[model.RelationID(n)], model.UnitName(unit))
		return errors.Trace(err)
	}
	return nil
}

// applications: counts are right, and no application is seen Dead, or Dying
// with nothing that refers to it.
func (c *checker) applications() {
	for name, a := range c.apps {
		units, rels := 0, 0
		for _, u := range c.units {
			if u.Name.Application() == name {
				units++
			}
		}
		for _, r := range c.relations {
			if _, _, ok := r.Endpoint(name); ok {
				rels++
			}
		}
		if a.Units != units || a.Relations != rels {
			c.bad("application %s counts %d units and %d relations, there are %d and %d", name, a.Units, a.Relations, units, rels)
		}
		if a.Life == model.Dead || a.Life == model.Dying && units+rels == 0 {
			c.bad("application %s is %s with nothing that refers to it", name, a.Life)
		}
	}
}

// unitsAndMachines refer to each other both ways.
func (c *checker) unitsAndMachines() {
	for name, u := range c.units {
		if _, ok := c.apps[name.Application()]; !ok {
			c.bad("unit %s has no application", name)
		}
		m, ok := c.machines[u.Machine]
		if !ok {
			c.bad("unit %s is on machine %q, which isn't there", name, u.Machine)
		}
		if u.Principal == "" && !slices.Contains(m.Units, name) {
			c.bad("unit %s is not among the units of machine %s: %v", name, u.Machine, m.Units)
		}
		if p, ok := c.units[u.Principal]; u.Principal != "" && (!ok || !slices.Contains(p.Subordinates, name)) {
			c.bad("unit %s is not among the subordinates of %s: %v", name, u.Principal, p.Subordinates)
		}
		for _, s := range u.Subordinates {
			if c.units[s].Principal != name {
				c.bad("unit %s has a subordinate %s, which isn't there or has another principal", name, s)
			}
		}
	}
	for id, m := range c.machines {
		for _, u := range m.Units {
			if c.units[u].Machine != id {
				c.bad("machine %s has unit %s, which isn't there or is elsewhere", id, u)
			}
		}
		if m.ForUnit && len(m.Units) == 0 {
			c.bad("machine %s was made for a unit that is gone", id)
		}
		free := slices.Contains(c.keys, "machine-free/"+id)
		if want := !m.ForUnit && m.Life == model.Alive && len(m.Units) == 0; free != want {
			c.bad("that machine %s is free is said: %t", id, free)
		}
		for _, u := range m.Units {
			if c.units[u].Provider != m.Provider {
				c.bad("unit %s says %q of the provider of machine %s", u, c.units[u].Provider, id)
			}
		}
	}
}

// relationDocs: who is in scope knows it, both applications are there, and no
// relation is seen Dead, or Dying with nobody in scope.
func (c *checker) relationDocs() {
	for id, r := range c.relations {
		for _, u := range c.inScope[id] {
			if !c.strange(r, u.Application()) && !slices.Contains(c.keys, fmt.Sprintf("scope-of/%s/%d", u, id)) {
				c.bad("unit %s is in the scope of relation %d, which is not among its own", u, id)
			}
		}
		if r.Life == model.Dead || r.Life == model.Dying && len(c.inScope[id]) == 0 {
			c.bad("relation %d is %s with nobody in scope", id, r.Life)
		}
		for _, e := range r.Endpoints {
			if c.strange(r, e.Application) {
				continue
			}
			a, ok := c.apps[e.Application]
			if !ok {
				c.bad("relation %d refers to application %s, which isn't there", id, e.Application)
			} else if c.rest && a.Life != model.Alive && r.Life == model.Alive {
				c.bad("relation %d is alive, its application %s is %s", id, e.Application, a.Life)
			}
		}
	}
}

// storageDocs: storage and its attachments refer to each other, and units count
// what is attached to them.
func (c *checker) storageDocs() {
	count := map[model.UnitName]int{}
	for id, a := range c.attached {
		count[a.Unit]++
		if _, ok := c.units[a.Unit]; !ok || c.storage[id].Unit != a.Unit {
			c.bad("storage %s is attached to %s, which isn't there, or it says that it is attached to %q", id, a.Unit, c.storage[id].Unit)
		}
	}
	for id, s := range c.storage {
		if _, ok := c.attached[id]; s.Unit != "" && !ok {
			c.bad("storage %s says that it is attached to %s, and isn't", id, s.Unit)
		}
	}
	for name, u := range c.units {
		if u.Storage != count[name] {
			c.bad("unit %s counts %d instances of storage, there are %d", name, u.Storage, count[name])
		}
	}
}

// orphans are documents about what is gone. Settings of a relation that is
// gone may wait for the cleanup queue.
func (c *checker) orphans() {
	for _, key := range c.keys {
		kind, rest := splitKey(key)
		ok := true
		switch kind {
		case "config", "leader", "last-leader", "leader-settings":
			_, ok = c.apps[rest]
		case "charm-state", "failure":
			_, ok = c.units[model.UnitName(rest)]
		case "scope-of":
			ok = c.isIn(rest)
		case "ports", "presence", "machine-free":
			_, ok = c.machines[rest]
		case "settled":
			_, ok = c.machines[rest]
			ok = ok || rest == ""
		case "scope":
			ok = c.scopeFits(rest)
		case "relation-of":
			app, id := splitKey(rest)
			n, err := strconv.Atoi(id)
			_, _, part := c.relations[model.RelationID(n)].Endpoint(app)
			ok = err == nil && part
		case "status":
			k, name := splitKey(rest)
			if state.StatusKind(k) == state.ApplicationStatus {
				_, ok = c.apps[name]
			} else {
				_, ok = c.units[model.UnitName(name)]
			}
		}
		if !ok {
			c.bad("document %s is about what isn't there", key)
		}
	}
}

// isIn: "app/n/id" names a unit, and a relation in whose scope it is.
func (c *checker) isIn(rest string) bool {
	i := strings.LastIndexByte(rest, '/')
	n, err := strconv.Atoi(rest[i+1:])
	return err == nil && i > 0 && slices.Contains(c.inScope[model.RelationID(n)], model.UnitName(rest[:i]))
}

// scopeFits: "id/container/app/n" names a relation and a unit of one of its
// applications.
func (c *checker) scopeFits(rest string) bool {
	id, rest := splitKey(rest)
	n, err := strconv.Atoi(id)
	if err != nil {
		return false
	}
	parts := strings.Split(rest, "/")
	if len(parts) < 2 {
		return false
	}
	u := model.UnitName(strings.Join(parts[len(parts)-2:], "/"))
	_, there := c.units[u]
	r := c.relations[model.RelationID(n)]
	_, _, part := r.Endpoint(u.Application())
	return part && (there || c.strange(r, u.Application()))
}

// splitKey takes a key apart: "unit/mysql/0" is "unit" and "mysql/0".
func splitKey(key string) (kind, rest string) {
	kind, rest, _ = strings.Cut(key, "/")
	return kind, rest
}
