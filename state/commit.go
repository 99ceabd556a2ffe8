package state

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// ErrNotLeader is returned by CommitHook where the hook wrote what only a
// leader may and its unit is the leader no more, or has become it anew
// meanwhile. Nothing was committed.
const ErrNotLeader = errors.ConstError("the unit is not the leader")

// HookCommit is what CommitHook writes.
type HookCommit struct {
	Unit model.UnitName
	// Run is the number of the hook run, greater than all before it.
	Run     int64
	Changes model.Changes
	// Memory is what the unit's agent wants to find beside the stamp if its own
	// disk is lost: JSON that the model doesn't look into.
	Memory json.RawMessage
	// Addresses is what the unit's settings are to say of its addresses in each
	// relation that it is in the scope of, but for what the hook has written there
	// itself; an empty value deletes. nil: they stay as they are. Source:
	// docs/spec/uniter-facts.md §4.5.
	Addresses model.Settings
	// Seen is how the unit looks once the hook has ended, whatever the hook has set itself.
	Seen Report
	// LeaveScope is the relation whose broken hook it is; model.NoRelation: none.
	LeaveScope model.RelationID
	// Rotated is the secret whose secret-rotate hook it is; empty: none.
	Rotated model.SecretID
	// RotatedLate: it runs again because it has asked to. If it makes a revision, the rotation that
	// it has put off is done; else nothing changes.
	RotatedLate bool
	// Detach is the storage whose detaching hook it is; empty: none.
	Detach model.StorageID
	// Boot names the time since the machine was last booted. Where the hook
	// asks for a reboot it is noted in the unit's document: as long as it is the
	// present one, the reboot is to come. Empty: nothing is noted.
	Boot string
	// By is the run's traceparent: what it has written says so, see Origin. Empty: it isn't
	// traced.
	By string
	// At, where it is set, gets the store's revision that it was committed at; nothing if
	// the run was stamped already.
	At *int64
}

// CommitHook writes all that a hook changed, and the unit's stamp, in one
// transaction (docs/architecture.md, "One commit"). A run that is stamped already is left as it is. What
// the hook wrote to a relation that is gone meanwhile is dropped. Errors:
// ErrNotLeader, NotValid for ports in conflict, QuotaLimitExceeded for settings
// or state that grew too large, and for more than one transaction can take.
func (m *Model) CommitHook(ctx context.Context, c HookCommit) error {
	c, err := m.tellAddresses(ctx, c)
	if err != nil {
		return errors.Trace(err)
	}
	stamped := false
	rev, err := m.update(ctx, func(tx *txn) error {
		tx.by = c.By
		u, err := tx.unit(c.Unit)
		stamped = u.Run >= c.Run
		if err != nil || stamped {
			return errors.Trace(err)
		}
		if u.Failed != 0 {
			if err := tx.delete(failureKey(c.Unit)); err != nil {
				return errors.Trace(err)
			}
		}
		u.Run, u.Memory, u.Failed = c.Run, c.Memory, 0
		if c.Changes.Reboot != model.NoReboot {
			u.Reboot = c.Boot
		}
		if c.Changes.WorkloadVersion != nil {
			u.WorkloadVersion = *c.Changes.WorkloadVersion
		}
		if err := tx.put(unitKey(u.Name), u); err != nil {
			return errors.Trace(err)
		}
		if err := tx.tell(u, c.Seen); err != nil {
			return errors.Trace(err)
		}
		rotated := c.Rotated
		if c.RotatedLate {
			rotated = ""
		}
		rotating, err := tx.rotating(rotated)
		if err != nil {
			return errors.Trace(err)
		}
		if err := tx.apply(u, c.Changes); err != nil {
			return errors.Trace(err)
		}
		if err := tx.rotated(rotating); err != nil {
			return errors.Trace(err)
		}
		if c.RotatedLate {
			if err := tx.rotatedLate(c.Changes.Secrets); err != nil {
				return errors.Trace(err)
			}
		}
		if c.Detach != "" {
			if err := tx.detach(u.Name, c.Detach); err != nil {
				return errors.Trace(err)
			}
		}
		if c.LeaveScope == model.NoRelation {
			return nil
		}
		return tx.leaveScope(u, c.LeaveScope)
	})
	if errors.Is(err, store.ErrTooLarge) {
		return errors.NewQuotaLimitExceeded(nil, "the hook wrote more than one commit can take")
	}
	if err == nil && !stamped && c.At != nil {
		*c.At = rev
	}
	return errors.Trace(err)
}

// Apply writes what a hook of the unit would have changed, without one: for
// whoever plays the charm. Errors are those of CommitHook.
func (m *Model) Apply(ctx context.Context, unit model.UnitName, c model.Changes) error {
	return m.play(ctx, unit, func(tx *txn, u UnitDoc) error { return tx.apply(u, c) })
}

// ApplyAsLeader is Apply as if the unit led, for whoever plays a whole application, in which
// nobody leads before an agent has seen to it. As it comes after its secret-rotate, and not
// in it, new content of a secret that was to be rotated counts as that.
func (m *Model) ApplyAsLeader(ctx context.Context, unit model.UnitName, c model.Changes) error {
	return m.play(ctx, unit, func(tx *txn, u UnitDoc) error {
		if err := tx.applyAs(u, true, c); err != nil {
			return errors.Trace(err)
		}
		return tx.rotatedLate(c.Secrets)
	})
}

func (m *Model) play(ctx context.Context, unit model.UnitName, apply func(*txn, UnitDoc) error) error {
	_, err := m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		return apply(tx, u)
	})
	return errors.Trace(err)
}

func (t *txn) apply(u UnitDoc, c model.Changes) error {
	leader, err := t.leader(u.Name.Application())
	if err != nil {
		return errors.Trace(err)
	}
	return t.applyAs(u, leader.Unit == u.Name && (c.Epoch == 0 || c.Epoch == leader.Epoch), c)
}

// applyAs is apply for a unit that leads, or doesn't.
func (t *txn) applyAs(u UnitDoc, leads bool, c model.Changes) error {
	app := u.Name.Application()
	for _, id := range slices.Sorted(maps.Keys(c.Relations)) {
		change := c.Relations[id]
		if len(change.Application) > 0 && !leads {
			return errors.Annotatef(ErrNotLeader, "cannot write the settings of %q in relation %d", app, id)
		}
		if err := t.applyRelation(u, id, change); err != nil {
			return errors.Trace(err)
		}
	}
	if len(c.LeaderSettings) > 0 {
		if !leads {
			return errors.Annotatef(ErrNotLeader, "cannot write the leader settings of %q", app)
		}
		if _, err := t.changeSettings(leaderSettingsKey(app), c.LeaderSettings); err != nil {
			return errors.Trace(err)
		}
	}
	if err := t.applyPorts(u, c.Ports); err != nil {
		return errors.Trace(err)
	}
	if err := t.applyStorage(u, c.Storage); err != nil {
		return errors.Trace(err)
	}
	if err := t.applyState(u, c.State); err != nil {
		return errors.Trace(err)
	}
	return t.applySecrets(u, leads, c.Secrets)
}

func (t *txn) applyRelation(u UnitDoc, id model.RelationID, change model.RelationChange) error {
	r, err := t.relation(id)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	if _, _, ours := r.Endpoint(u.Name.Application()); !ours {
		return errors.NewNotValid(nil, fmt.Sprintf("cannot write the settings of %q in relation %d: it has no part in it", u.Name, id))
	}
	if len(change.Application) > 0 {
		if _, err := t.changeBag(r, u.Name.Application(), "", change.Application); err != nil {
			return errors.Trace(err)
		}
	}
	if len(change.Unit) == 0 {
		return nil
	}
	version, err := t.changeBag(r, u.Name.Application(), u.Name, change.Unit)
	if err != nil {
		return errors.Trace(err)
	}
	var s scopeDoc
	in, err := t.find(scopeKey(r, u), &s)
	if err != nil || !in || s.Version == version {
		return errors.Trace(err)
	}
	return t.putScope(r, u, version)
}

func (t *txn) applyPorts(u UnitDoc, changes []model.PortChange) error {
	if len(changes) == 0 {
		return nil
	}
	doc := portsDoc{}
	if _, err := t.find(portsKey(u.Machine), &doc); err != nil {
		return errors.Trace(err)
	}
	if doc.Units == nil {
		doc.Units = map[model.UnitName]model.Ports{}
	}
	mine := doc.Units[u.Name].Apply(changes)
	for _, p := range mine.All() {
		for _, other := range slices.SortedFunc(maps.Keys(doc.Units), model.CompareUnits) {
			for _, q := range doc.Units[other].All() {
				if other != u.Name && p.Conflicts(q) {
					return errors.NewNotValid(nil, fmt.Sprintf("cannot open %s (unit %q): port range conflicts with %s (unit %q)", p, u.Name, q, other))
				}
			}
		}
	}
	doc.Units[u.Name] = mine
	if len(mine) == 0 {
		delete(doc.Units, u.Name)
	}
	return t.put(portsKey(u.Machine), doc)
}

func (t *txn) applyState(u UnitDoc, changes map[string]*string) error {
	if len(changes) == 0 {
		return nil
	}
	values := map[string]string{}
	if _, err := t.find(charmStateKey(u.Name), &values); err != nil {
		return errors.Trace(err)
	}
	for k, v := range changes {
		if v == nil {
			delete(values, k)
		} else {
			values[k] = *v
		}
	}
	if err := model.CheckStored("state", values); err != nil {
		return err
	}
	return t.put(charmStateKey(u.Name), values)
}

// CharmState is what the unit's charm keeps by state-set.
func (m *Model) CharmState(ctx context.Context, unit model.UnitName) (map[string]string, error) {
	values := map[string]string{}
	_, err := m.view(ctx, func(r docs) error {
		_, err := r.find(charmStateKey(unit), &values)
		return errors.Trace(err)
	})
	return values, errors.Trace(err)
}

// Ports are the ports open on a machine, by unit.
func (m *Model) Ports(ctx context.Context, machine string) (map[model.UnitName]model.Ports, error) {
	var doc portsDoc
	_, err := m.view(ctx, func(r docs) error {
		_, err := r.find(portsKey(machine), &doc)
		return errors.Trace(err)
	})
	return doc.Units, errors.Trace(err)
}
