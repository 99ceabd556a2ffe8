package hookcontext

import (
	"cmp"
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// bag names one databag: that of a unit or of an application in a relation.
type bag struct {
	relation model.RelationID
	owner    string // "mysql/0" or "mysql"; no application has a slash
}

// Relation is the relation with that id. The error is NotFound, with the
// contract's text "relation not found", unless the unit is in it.
func (c *Context) Relation(id model.RelationID) (Relation, error) {
	r, ok := c.relations[id]
	if !ok {
		return Relation{}, errors.NewNotFound(nil, "relation not found")
	}
	return r, nil
}

// HookRelation is the id of the relation that the hook is about; false in
// hooks that are about none.
func (c *Context) HookRelation() (model.RelationID, bool) {
	return c.p.Hook.RelationID, c.p.Hook.HasRelation()
}

// Relations are the relations at an endpoint, by id, without broken ones.
func (c *Context) Relations(endpoint string) []Relation {
	var out []Relation
	for _, id := range slices.Sorted(maps.Keys(c.relations)) {
		if r := c.relations[id]; r.Endpoint == endpoint && !r.Broken {
			out = append(out, r)
		}
	}
	return out
}

// UnitSettings are a unit's settings in a relation: the unit's own as the hook
// has left them, or those of a unit on the other side, even after it left. The
// error is Forbidden, "permission denied", for a unit that isn't in the
// relation. Source: docs/spec/hook-tools.md §5.
func (c *Context) UnitSettings(id model.RelationID, unit model.UnitName) (model.Settings, error) {
	r, err := c.Relation(id)
	if err != nil {
		return nil, errors.Trace(err)
	}
	own := unit == c.p.Unit
	if !own && unit.Application() != r.RemoteApp {
		return nil, permissionDenied()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	settings, err := c.readBag(bag{id, string(unit)}, func() (model.Settings, error) {
		return c.p.View.Settings(id, unit)
	})
	if errors.Is(err, errors.NotFound) {
		if !own {
			return nil, permissionDenied()
		}
		err = nil // not in scope yet: nothing was written so far
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot read relation settings")
	}
	return settings, nil
}

// ApplicationSettings are an application's settings in a relation. The remote
// application's can be read by every unit; the own one's by the leader, who
// sees what the hook wrote, and by every unit of a peer relation. Otherwise
// the error is Forbidden, "permission denied".
func (c *Context) ApplicationSettings(id model.RelationID, application string) (model.Settings, error) {
	r, err := c.Relation(id)
	if err != nil {
		return nil, errors.Trace(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case application == c.p.Unit.Application() && !r.Peer:
		leader, err := c.isLeader()
		if err != nil {
			return nil, errors.Annotate(err, "cannot determine leadership status")
		}
		if !leader {
			return nil, permissionDenied()
		}
	case application != r.RemoteApp:
		return nil, permissionDenied()
	}
	settings, err := c.readBag(bag{id, application}, func() (model.Settings, error) {
		return c.p.View.ApplicationSettings(id, application)
	})
	if err != nil && !errors.Is(err, errors.NotFound) {
		return nil, errors.Annotate(err, "cannot read relation application settings")
	}
	return settings, nil
}

// readBag is the bag as the hook sees it: what the View said, and over it what
// the hook wrote. With NotFound it is what the hook wrote.
func (c *Context) readBag(b bag, ask func() (model.Settings, error)) (model.Settings, error) {
	settings, err := forKey(c.bags, b).get(ask)
	seen, _ := settings.Apply(c.bagWrites[b])
	return seen, err
}

// SetUnitSettings lays a change over the unit's own settings in a relation; an
// empty value deletes its key. The error is NotValid for what isn't UTF-8, and
// QuotaLimitExceeded for settings that are too large; then nothing is written.
func (c *Context) SetUnitSettings(id model.RelationID, change model.Settings) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeBag(bag{id, string(c.p.Unit)}, change, func() (model.Settings, error) {
		return c.p.View.Settings(id, c.p.Unit)
	})
}

// SetApplicationSettings lays a change over the own application's settings in
// a relation. The error is Forbidden, "cannot write relation settings", for
// any unit but the leader.
func (c *Context) SetApplicationSettings(id model.RelationID, change model.Settings) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	leader, err := c.isLeader()
	if err != nil {
		return errors.Annotate(err, "cannot determine leadership status")
	}
	if !leader {
		return errors.NewForbidden(nil, "cannot write relation settings")
	}
	application := c.p.Unit.Application()
	return c.writeBag(bag{id, application}, change, func() (model.Settings, error) {
		return c.p.View.ApplicationSettings(id, application)
	})
}

func (c *Context) writeBag(b bag, change model.Settings, ask func() (model.Settings, error)) error {
	if _, err := c.Relation(b.relation); err != nil {
		return errors.Trace(err)
	}
	if _, ok := change[""]; ok {
		return errors.NewNotValid(nil, "empty key in relation settings")
	}
	writes, err := extended(c.bagWrites[b], change, c.tallyOf(b), func() (model.Settings, error) {
		return forKey(c.bags, b).get(ask)
	})
	if err != nil {
		return errors.Annotate(err, "cannot write relation settings")
	}
	c.bagWrites[b] = writes
	return nil
}

func (c *Context) relationChanges() map[model.RelationID]model.RelationChange {
	out := map[model.RelationID]model.RelationChange{}
	for b, writes := range c.bagWrites {
		settings := dropSame(writes, *cmp.Or(c.bags[b], &answer[model.Settings]{}))
		if c.p.Hook.Kind == hooks.ConfigChanged && b.owner == string(c.p.Unit) {
			settings = c.keepAddresses(settings, writes)
		}
		if settings == nil {
			continue
		}
		change := out[b.relation]
		if b.owner == string(c.p.Unit) {
			change.Unit = settings
		} else {
			change.Application = settings
		}
		out[b.relation] = change
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// keepAddresses adds what the hook has written of the unit's addresses, be it
// what was there: the commit of this hook has them follow where the hook says
// nothing.
func (c *Context) keepAddresses(settings, writes model.Settings) model.Settings {
	for _, k := range model.AddressKeys() {
		if v, written := writes[k]; written {
			settings = settings.Clone()
			settings[k] = v
		}
	}
	return settings
}

func permissionDenied() error { return errors.NewForbidden(nil, "permission denied") }
