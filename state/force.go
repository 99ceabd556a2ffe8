package state

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Force is how much of what is due is left out when something is removed. It
// only ever grows: what was asked for by force isn't taken back.
type Force int

// The levels of force. Seed 000 and 001 want force to leave all references whole.
const (
	// Orderly: all hooks run, and one that fails waits to be resolved.
	Orderly Force = iota
	// SkipFailing: all hooks run, and those that fail are skipped.
	SkipFailing
	// Abandon: no hook runs, and nobody is waited for.
	Abandon
)

// ErrUnfinished is the type of errors of a removal of which the beginning is in
// the model: the cleanup queue has the rest.
const ErrUnfinished = errors.ConstError("the rest is left to the agent")

// Progress is told how many of the units and relations that are to go have been
// seen to.
type Progress func(done, total int)

// counter counts for a Progress, which may be nil.
type counter struct {
	done, total int
	tell        Progress
}

func newCounter(total int, tell Progress) *counter { return &counter{total: total, tell: tell} }

func (c *counter) add(n int) {
	c.done += n
	if c.tell != nil {
		c.tell(c.done, c.total)
	}
}

// ForceUnit is ForceUnitWith that detaches the unit's storage.
func (m *Model) ForceUnit(ctx context.Context, name model.UnitName, how Force) error {
	return errors.Trace(m.ForceUnitWith(ctx, name, how, StorageStays))
}

// ForceUnitWith removes a unit (seed 000, "remove-unit") with that much force, and
// says what becomes of its storage and of its subordinates'. The error is NotFound if
// there is none, and, but for Abandon, NotValid for a subordinate; then nothing has
// been changed.
func (m *Model) ForceUnitWith(ctx context.Context, name model.UnitName, how Force, storage StorageFate) error {
	if how == Abandon {
		return errors.Trace(m.forceRemoveUnit(ctx, name, storage))
	}
	_, err := m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(name)
		if errors.Is(err, errors.NotFound) {
			return errors.NewNotFound(nil, fmt.Sprintf("unit %q does not exist", name))
		}
		if err != nil {
			return errors.Trace(err)
		}
		if u.Pod && u.Principal == "" {
			return errNamedUnit
		}
		if u.Principal != "" {
			return errors.NewNotValid(nil, fmt.Sprintf("unit %q is a subordinate, to remove use remove-relation. Note: this will remove all relations to %s", name, name.Application()))
		}
		if err := tx.takesStorage(&u, storage); err != nil {
			return errors.Trace(err)
		}
		if err := tx.setDying(u, how); err != nil {
			return errors.Trace(err)
		}
		return tx.removeUndeployed(name)
	})
	return errors.Trace(err)
}

// errNamedUnit is the error of removing a container unit by its name: numbers stay
// dense. Source: docs/spec/containers.md §7.2, K-118.
var errNamedUnit = errors.NewNotSupported(nil, "k8s models do not support removing named units.\n"+
	"Instead specify an application with --num-units.")

// ForceRelation removes a relation (seed 000, "remove-relation") with that much
// force; with Abandon no unit is in its scope any more when it returns, and it is
// gone. The error is NotFound if there is none, and NotValid for a peer relation.
// progress may be nil: it counts units.
func (m *Model) ForceRelation(ctx context.Context, id model.RelationID, how Force, progress Progress) error {
	_, err := m.update(ctx, func(tx *txn) error {
		r, err := tx.relation(id)
		if err != nil {
			return errors.NewNotFound(nil, fmt.Sprintf("relation %d not found (not found)", id))
		}
		if r.IsPeer() {
			return errors.NewNotValid(nil, fmt.Sprintf("cannot remove relation %q: it is a peer relation and goes with its application", r.Key))
		}
		return tx.destroyRelation(id, how)
	})
	if err != nil || how != Abandon {
		return errors.Trace(err)
	}
	var in []model.UnitName
	if progress != nil {
		if in, err = m.InScope(ctx, id); err != nil {
			return unfinished(err)
		}
	}
	return unfinished(m.abandonRelation(ctx, id, newCounter(len(in), progress)))
}

func unfinished(err error) error {
	if err == nil {
		return nil
	}
	return errors.WithType(errors.Trace(err), ErrUnfinished)
}

// fewLeft is how many relations LeftBehind names at most.
const fewLeft = 100

// LeftBehind is what nobody tells a charm of when its unit is abandoned.
type LeftBehind struct {
	// Subordinates go with their principal.
	Subordinates []model.UnitName
	// Relations are those in whose scope the unit is, as canonical names.
	Relations []string
	// Storage is what is detached.
	Storage []model.StorageID
}

// LeftBehind says, before it is done, what abandoning a unit leaves behind; the
// error is NotFound if there is none. Of relations it names the first few.
func (m *Model) LeftBehind(ctx context.Context, name model.UnitName) (LeftBehind, error) {
	var left LeftBehind
	_, err := m.view(ctx, func(r docs) error {
		left = LeftBehind{}
		u, err := r.unit(name)
		if err != nil {
			return errors.Trace(err)
		}
		left.Subordinates = u.Subordinates
		ids, err := r.inScopes(name, fewLeft)
		if err != nil {
			return errors.Trace(err)
		}
		for _, id := range ids {
			rel, err := r.relation(id)
			if err != nil {
				return errors.Trace(err)
			}
			left.Relations = append(left.Relations, rel.Key)
		}
		stored, err := r.storageOf(u)
		for _, s := range Undetached(stored) {
			left.Storage = append(left.Storage, s.ID)
		}
		return errors.Trace(err)
	})
	return left, errors.Trace(err)
}

// InScope are the units in the scope of a relation, by name.
func (m *Model) InScope(ctx context.Context, id model.RelationID) ([]model.UnitName, error) {
	var units []model.UnitName
	_, err := m.view(ctx, func(r docs) error {
		in, err := list[scopeDoc](r, scopesOf(id))
		units = nil
		for _, s := range in {
			units = append(units, s.Unit)
		}
		return errors.Trace(err)
	})
	slices.SortFunc(units, model.CompareUnits)
	return units, errors.Trace(err)
}

// abandonLeft takes away what refers to an application that is Dying, without
// any hook: its units, and then its relations, whoever is in them.
func (m *Model) abandonLeft(ctx context.Context, left leftOf, counted *counter) error {
	for _, u := range left.units {
		if err := m.abandonUnit(ctx, u); err != nil {
			return errors.Annotatef(err, "cannot remove unit %s", u.Name)
		}
		counted.add(1)
	}
	for _, r := range left.relations {
		_, err := m.update(ctx, func(tx *txn) error { return tx.destroyRelation(r.ID, Abandon) })
		if err == nil {
			err = m.abandonRelation(ctx, r.ID, newCounter(0, nil))
		}
		if err != nil {
			return errors.Annotatef(err, "cannot remove relation %q", r.Key)
		}
		counted.add(1)
	}
	return nil
}

// abandonUnit is ForceRemoveUnit unless the name is another unit's.
func (m *Model) abandonUnit(ctx context.Context, of UnitDoc) error {
	u, err := m.Unit(ctx, of.Name)
	if errors.Is(err, errors.NotFound) || err == nil && u.ID != of.ID {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(m.ForceRemoveUnit(ctx, of.Name))
}

// abandonRelation has all units leave the scope of a relation that is Dying,
// in transactions of a few; with the last one the relation is gone.
func (m *Model) abandonRelation(ctx context.Context, id model.RelationID, counted *counter) error {
	return errors.Trace(m.haveLeave(ctx, id, counted, false))
}

// loseStrangers has those leave a relation that is Dying who are of a model that isn't in the
// store.
func (m *Model) loseStrangers(ctx context.Context, id model.RelationID) error {
	return errors.Trace(m.haveLeave(ctx, id, newCounter(0, nil), true))
}

func (m *Model) haveLeave(ctx context.Context, id model.RelationID, counted *counter, strangers bool) error {
	for done := false; !done; {
		n := 0
		_, err := m.update(ctx, func(tx *txn) error {
			r, err := tx.relation(id)
			if errors.Is(err, errors.NotFound) || err == nil && r.Life == model.Alive {
				done = true
				return nil
			}
			if err != nil {
				return errors.Trace(err)
			}
			if strangers {
				n, err = tx.strangersOut(r)
				done = n == 0
				return errors.Trace(err)
			}
			if n, err = tx.leaveSome(r); err == nil && n == 0 {
				err = tx.removeRelation(r) // nobody is in it
			}
			return errors.Trace(err)
		})
		if err != nil {
			return errors.Trace(err)
		}
		counted.add(n)
	}
	return nil
}

// leaveSome has as many units leave a scope as fit in a transaction.
func (t *txn) leaveSome(r RelationDoc) (int, error) {
	prefix := t.m.prefix() + scopesOf(r.ID)
	page, err := t.Page(prefix, "", leavesPerTxn)
	if err != nil {
		return 0, errors.Trace(err)
	}
	in, err := decode[scopeDoc](page)
	if err != nil {
		return 0, errors.Trace(err)
	}
	for i, s := range in {
		part := strings.TrimSuffix(strings.TrimPrefix(page[i].Key, prefix), "/"+string(s.Unit))
		if err := t.leave(r.ID, part, s.Unit, model.Forced); err != nil {
			return 0, errors.Trace(err)
		}
	}
	return len(in), nil
}

// finishUnit does the rest of a ForceRemoveUnit, if there is any.
func (m *Model) finishUnit(ctx context.Context, of cleanupUnit) error {
	u, err := m.Unit(ctx, of.Name)
	if errors.Is(err, errors.NotFound) || err == nil && (u.ID != of.ID || u.Life != model.Dead) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(m.removeDead(ctx, u))
}
