package state

import (
	"context"
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// Half is what one half of a relation between two stores says to the other: how the relation is, and
// what its own application and units say in it, by the names of its own model.
type Half struct {
	// Gone: there is no such relation. Then nothing else is said.
	Gone bool
	Life model.Life
	// Force is how it is being removed.
	Force Force
	// Suspended and SuspendedMessage count where the half is that of the offer.
	Suspended        bool
	SuspendedMessage string
	// Application is the application's databag.
	Application model.Settings
	// Units are what is said of units; Whole: of all that are in scope.
	Units map[model.UnitName]HalfUnit
	Whole bool
}

// HalfUnit is a unit in a Half.
type HalfUnit struct {
	// In: it is in scope, with these settings. Else Why says why it has left.
	In       bool
	Settings model.Settings
	Why      model.Departure
}

// OwnHalf is what the model says in its half of a relation to the other one. of are the units that
// it is about; nil: all.
func (m *Model) OwnHalf(ctx context.Context, id model.RelationID, of []model.UnitName) (Half, error) {
	var h Half
	_, err := m.view(ctx, func(r docs) (err error) {
		h, err = r.ownHalf(id, of)
		return errors.Trace(err)
	})
	return h, errors.Trace(err)
}

func (d docs) ownHalf(id model.RelationID, of []model.UnitName) (Half, error) {
	r, err := d.relation(id)
	if errors.Is(err, errors.NotFound) {
		return Half{Gone: true}, nil
	}
	if err != nil || r.Across == nil {
		return Half{}, errors.Trace(err)
	}
	h := Half{
		Life: r.Life, Force: r.Force, Suspended: r.Suspended, SuspendedMessage: r.SuspendedMessage,
		Units: map[model.UnitName]HalfUnit{}, Whole: of == nil,
	}
	if h.Application, err = d.bag(appSettingsKey(id, r.Across.Own)); err != nil {
		return h, errors.Trace(err)
	}
	if of == nil {
		in, err := list[scopeDoc](d, containerScope(id, global)+r.Across.Own+"/")
		if err != nil {
			return h, errors.Trace(err)
		}
		for _, s := range in {
			of = append(of, s.Unit)
		}
	}
	for _, unit := range of {
		if unit.Application() != r.Across.Own {
			continue
		}
		if h.Units[unit], err = d.halfUnit(id, unit); err != nil {
			return h, errors.Trace(err)
		}
	}
	return h, nil
}

func (d docs) halfUnit(id model.RelationID, unit model.UnitName) (u HalfUnit, err error) {
	var s scopeDoc
	if u.In, err = d.find(containerScope(id, global)+string(unit), &s); err != nil {
		return u, errors.Trace(err)
	}
	if u.In {
		u.Settings, err = d.bag(unitSettingsKey(id, unit))
		return u, errors.Trace(err)
	}
	var left leftDoc
	_, err = d.find(leftScope(id, global)+string(unit), &left)
	u.Why = left.Why
	return u, errors.Trace(err)
}

// TakeHalf has a half of a relation be as the other one says. It is done in as many transactions as
// it takes, and changes nothing where it is so already. It is no error if the relation isn't there.
func (m *Model) TakeHalf(ctx context.Context, id model.RelationID, says Half) error {
	for n, some := range says.batches() {
		_, err := m.update(ctx, func(tx *txn) error {
			r, ok, err := tx.halfThere(id)
			if err == nil && ok && n == 0 {
				err = tx.takeRelation(r, says)
			}
			for _, unit := range some {
				if err != nil {
					break
				}
				// The last one to leave takes the relation away.
				if r, ok, err = tx.halfThere(id); err == nil && ok {
					err = tx.takeUnit(r, unit, says.Units[unit])
				}
			}
			return errors.Trace(err)
		})
		if err != nil {
			return errors.Trace(err)
		}
	}
	if !says.Whole && !says.Gone {
		return nil
	}
	return errors.Trace(m.othersLeave(ctx, id, says))
}

const (
	// takenBytes bounds what one transaction takes of the databags of several units.
	takenBytes = 256 << 10
	// together bounds it for those of an application and of one unit, which one commit may have written.
	together = store.MaxBytes - 128<<10
)

// batches are the units of which is said, as many together as fit in a transaction. The first is what goes
// together with the relation itself, so that what one commit says of an application and of a unit is seen
// together; it may be empty.
func (h Half) batches() [][]model.UnitName {
	all := [][]model.UnitName{nil}
	bytes, writes := sizeOf(h.Application), 2
	if h.Gone || h.Life != model.Alive {
		writes = leaveWrites
	}
	for _, unit := range slices.SortedFunc(maps.Keys(h.Units), model.CompareUnits) {
		size, keys := 0, leaveWrites
		if of := h.Units[unit]; of.In {
			size, keys = sizeOf(of.Settings), 2
		}
		most := takenBytes
		if len(all) == 1 && len(all[0]) == 0 {
			most = together
		}
		if bytes, writes = bytes+size, writes+keys; bytes > most || writes > maxWrites-1 {
			all, bytes, writes = append(all, nil), size, keys
		}
		all[len(all)-1] = append(all[len(all)-1], unit)
	}
	return all
}

// sizeOf is how many bytes a databag takes as it is stored, which is more than it has.
func sizeOf(bag model.Settings) int {
	b, _ := model.EncodeJSON(bag) // of texts there is no error
	return len(b)
}

// halfThere reads a half of a relation between stores; false: there is none.
func (t *txn) halfThere(id model.RelationID) (RelationDoc, bool, error) {
	r, err := t.relation(id)
	if errors.Is(err, errors.NotFound) {
		return r, false, nil
	}
	return r, r.Across != nil && r.Across.External, errors.Trace(err)
}

// takeRelation takes what is said of the relation itself, and of its application.
func (t *txn) takeRelation(r RelationDoc, says Half) error {
	if says.Gone || says.Life != model.Alive {
		// By force each side removes its own alone: this one's agents may run their hooks.
		if how := min(says.Force, SkipFailing); r.Life == model.Alive || r.Force < how {
			return t.destroyRelation(r.ID, how)
		}
		return nil
	}
	stranger, _ := r.Stranger()
	if err := t.takeBag(appSettingsKey(r.ID, stranger.Application), says.Application, false); err != nil {
		return errors.Trace(err)
	}
	if r.Across.Offering || r.Life != model.Alive || r.Suspended == says.Suspended && r.SuspendedMessage == says.SuspendedMessage {
		return nil
	}
	if r.Suspended != says.Suspended {
		r.Across.Since = t.now()
	}
	r.Suspended, r.SuspendedMessage = says.Suspended, says.SuspendedMessage
	return t.putRelation(r)
}

// takeBag has a databag be these settings; empty: there is one even if it has none.
func (t *txn) takeBag(key string, want model.Settings, empty bool) error {
	have, err := t.bag(key)
	if err != nil {
		return errors.Trace(err)
	}
	change := want.Clone()
	for k := range have {
		if _, ok := want[k]; !ok {
			change[k] = ""
		}
	}
	if len(change) == 0 && !empty {
		return nil
	}
	_, _, err = t.layOver(key, change)
	return errors.Trace(err)
}

// takeUnit takes what is said of a unit of the other side, by its name there.
func (t *txn) takeUnit(r RelationDoc, theirs model.UnitName, says HalfUnit) error {
	stranger, _ := r.Stranger()
	unit := model.NewUnitName(stranger.Application, theirs.Number())
	if !says.In {
		return t.leave(r.ID, global, unit, says.Why)
	}
	var s scopeDoc
	in, err := t.find(containerScope(r.ID, global)+string(unit), &s)
	if err != nil || !in && r.Life != model.Alive { // who hasn't come yet needn't leave
		return errors.Trace(err)
	}
	if err := t.takeBag(unitSettingsKey(r.ID, unit), says.Settings, true); err != nil {
		return errors.Trace(err)
	}
	var bag settingsDoc
	if _, err := t.find(unitSettingsKey(r.ID, unit), &bag); err != nil || in && s.Version == bag.Version {
		return errors.Trace(err)
	}
	return t.put(containerScope(r.ID, global)+string(unit), scopeDoc{Unit: unit, Version: bag.Version})
}

// othersLeave has those units of the other side leave of which a whole half doesn't say that they
// are in scope.
func (m *Model) othersLeave(ctx context.Context, id model.RelationID, says Half) error {
	why := model.Departure("")
	if says.Gone {
		why = model.RelationRemoved
	}
	for after, done := "", false; !done; {
		last := ""
		_, err := m.update(ctx, func(tx *txn) error {
			done = true
			r, ok, err := tx.halfThere(id)
			if err != nil || !ok {
				return errors.Trace(err)
			}
			stranger, _ := r.Stranger()
			page, err := tx.Page(m.prefix()+containerScope(id, global)+stranger.Application+"/", after, leavesPerTxn)
			if err != nil {
				return errors.Trace(err)
			}
			in, err := decode[scopeDoc](page)
			if err != nil {
				return errors.Trace(err)
			}
			if done = len(page) < leavesPerTxn; !done {
				last = page[len(page)-1].Key
			}
			for _, s := range in {
				if says.Units[model.NewUnitName(r.Across.Theirs, s.Unit.Number())].In {
					continue
				}
				if err := tx.leave(id, global, s.Unit, why); err != nil {
					return errors.Trace(err)
				}
			}
			return nil
		})
		if err != nil {
			return errors.Trace(err)
		}
		after = last
	}
	return nil
}
