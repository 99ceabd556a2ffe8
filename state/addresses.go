package state

import (
	"context"
	"maps"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// refreshAtOnce is in how many relations a unit's settings are written in one
// transaction so that they have its addresses.
const refreshAtOnce = 20

// tellAddresses has a unit's addresses follow in its relations as a commit wants
// them, and returns the commit that does the rest: that of a unit in many
// relations would be too large with all of them. What is told before it is true
// whatever becomes of it.
func (m *Model) tellAddresses(ctx context.Context, c HookCommit) (HookCommit, error) {
	if c.Addresses == nil {
		return c, nil
	}
	stale, err := m.staleAddresses(ctx, c)
	if err != nil || len(stale) == 0 {
		return c, errors.Trace(err)
	}
	changes := maps.Clone(c.Changes.Relations)
	if changes == nil {
		changes = map[model.RelationID]model.RelationChange{}
	}
	var before []model.RelationID
	for _, id := range stale {
		change, written := changes[id]
		if !written && len(changes) >= refreshAtOnce {
			before = append(before, id)
			continue
		}
		told := c.addressesIn(id)
		maps.Copy(told, change.Unit)
		change.Unit = told
		changes[id] = change
	}
	for len(before) > 0 {
		n := min(len(before), refreshAtOnce)
		if err := m.writeAddresses(ctx, c, before[:n]); err != nil {
			return c, errors.Trace(err)
		}
		before = before[n:]
	}
	c.Changes.Relations = changes
	return c, nil
}

func (m *Model) writeAddresses(ctx context.Context, c HookCommit, in []model.RelationID) error {
	_, err := m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(c.Unit)
		if err != nil {
			return errors.Trace(err)
		}
		for _, id := range in {
			if err := tx.applyRelation(u, id, model.RelationChange{Unit: c.Addresses}); err != nil {
				return errors.Trace(err)
			}
		}
		return nil
	})
	return errors.Trace(err)
}

// staleAddresses are the relations that the unit is in the scope of and in which
// its settings differ from what a commit says of its addresses. Nobody else
// writes them meanwhile. There are none if the run is stamped already.
func (m *Model) staleAddresses(ctx context.Context, c HookCommit) (stale []model.RelationID, err error) {
	_, err = m.view(ctx, func(d docs) error {
		stale = nil
		if u, err := d.unit(c.Unit); err != nil || u.Run >= c.Run {
			return errors.Trace(err)
		}
		in, err := list[model.RelationID](d, scopesOfUnit(c.Unit))
		if err != nil {
			return errors.Trace(err)
		}
		for _, id := range in {
			var bag settingsDoc
			if _, err := d.find(unitSettingsKey(id, c.Unit), &bag); err != nil {
				return errors.Trace(err)
			}
			if _, differs := bag.Values.Apply(c.addressesIn(id)); differs {
				stale = append(stale, id)
			}
		}
		return nil
	})
	return stale, errors.Trace(err)
}

// addressesIn is what a commit says of the unit's addresses in a relation: what
// the hook has written there itself holds.
func (c HookCommit) addressesIn(id model.RelationID) model.Settings {
	told := maps.Clone(c.Addresses)
	for k := range c.Changes.Relations[id].Unit {
		delete(told, k)
	}
	return told
}
