package state

import (
	"context"
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

const (
	// leaveWrites is how many keys leaving a scope writes at most: where it
	// takes the relation away, and both applications with it.
	leaveWrites = 24
	// leavesPerTxn is how many scopes one transaction leaves; it draws numbers
	// for the cleanup queue as well.
	leavesPerTxn = (maxWrites - 1) / leaveWrites
	// acrossPerTxn is leavesPerTxn for relations across models, where twice as
	// much is written.
	acrossPerTxn = leavesPerTxn / 2
	// deathsPerTxn is how many units one transaction marks Dead.
	deathsPerTxn = maxWrites / 2
)

// RemoveUnit takes a Dead unit away (seed 000): from its machine or principal,
// and from its application, which goes with its last unit if it is Dying. It
// is no error if the unit is gone.
func (m *Model) RemoveUnit(ctx context.Context, name model.UnitName) error {
	u, err := m.Unit(ctx, name)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	if u.Life != model.Dead {
		return errors.NewNotValid(nil, fmt.Sprintf("cannot remove unit %q: it is not dead", name))
	}
	return errors.Trace(m.removeDead(ctx, u))
}

// ForceRemoveUnit removes a unit whatever state it is in, with its
// subordinates, without any hook. It is no error if the unit is gone. All of
// them are marked Dead first: an agent that saw them on their way out would run
// their hooks. Who is cut off after that leaves the rest to the cleanup queue, and
// to the unit's agent, for which a Dead unit is one that it takes away.
func (m *Model) ForceRemoveUnit(ctx context.Context, name model.UnitName) error {
	return errors.Trace(m.forceRemoveUnit(ctx, name, StorageStays))
}

// forceRemoveUnit is ForceRemoveUnit that says what becomes of storage.
func (m *Model) forceRemoveUnit(ctx context.Context, name model.UnitName, storage StorageFate) error {
	first := true
	for more := true; more; first = false {
		_, err := m.update(ctx, func(tx *txn) (err error) {
			if more, err = tx.kill(name, storage); err != nil || !first {
				return errors.Trace(err)
			}
			return tx.queueDead(name)
		})
		switch {
		case errors.Is(err, errors.NotFound):
			return nil
		case err != nil && first:
			return errors.Trace(err)
		case err != nil:
			return unfinished(err)
		}
	}
	return unfinished(m.RemoveUnit(ctx, name))
}

// kill marks a unit Dead and then its subordinates, and says whether there are
// more than one transaction can take.
func (t *txn) kill(name model.UnitName, storage StorageFate) (more bool, err error) {
	u, err := t.unit(name)
	if err != nil {
		return false, errors.Trace(err)
	}
	if err := t.takesStorage(&u, storage); err != nil {
		return false, errors.Trace(err)
	}
	n := 0
	for _, name := range append([]model.UnitName{name}, u.Subordinates...) {
		if n == deathsPerTxn {
			return true, nil
		}
		u, err := t.unit(name)
		if err != nil {
			return false, errors.Trace(err)
		}
		if u.Life == model.Dead {
			continue
		}
		n++
		u.Life = model.Dead
		if err := t.put(unitKey(name), u); err != nil {
			return false, errors.Trace(err)
		}
	}
	return false, nil
}

// queueDead leaves a unit that was killed to the cleanup queue, for the case that
// who kills it is cut off, and its own machine is lost.
func (t *txn) queueDead(name model.UnitName) error {
	u, err := t.unit(name)
	if err != nil {
		return errors.Trace(err)
	}
	return t.queue(cleanupDoc{Unit: &cleanupUnit{Name: name, ID: u.ID}})
}

// removeDead removes a Dead unit in as many transactions as it takes. One that
// was not forced has nothing left by then but itself.
func (m *Model) removeDead(ctx context.Context, u UnitDoc) error {
	for _, s := range u.Subordinates {
		if err := m.ForceRemoveUnit(ctx, s); err != nil {
			return errors.Trace(err)
		}
	}
	for gone := false; !gone; {
		_, err := m.update(ctx, func(tx *txn) (err error) {
			gone, err = tx.removeStep(u)
			return errors.Trace(err)
		})
		if err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// removeStep leaves some of the unit's scopes, or, where it is in none, removes
// the unit, and says whether it is gone. It isn't the business of who removes
// one unit if another has got its name.
func (t *txn) removeStep(of UnitDoc) (gone bool, err error) {
	u, err := t.unit(of.Name)
	if errors.Is(err, errors.NotFound) || err == nil && (u.ID != of.ID || u.Life != model.Dead) {
		return true, nil
	}
	if err != nil {
		return false, errors.Trace(err)
	}
	in, err := t.inScopes(u.Name, leavesPerTxn)
	if err != nil {
		return false, errors.Trace(err)
	}
	left := 0
	for _, id := range in {
		r, err := t.relation(id)
		if err != nil {
			return false, errors.Trace(err)
		}
		if r.Across != nil && left >= acrossPerTxn {
			break // the rest in the next one
		}
		left++
		if err := t.leaveScope(u, id); err != nil {
			return false, errors.Trace(err)
		}
	}
	if len(in) > 0 {
		return false, nil
	}
	return true, t.removeUnit(u)
}
