package state

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// StorageFate is what becomes of storage when what it belongs to is removed. It is
// recorded in the transaction with which the removal begins, so that one that is
// refused, or cut off, destroys nothing that it was not to.
type StorageFate string

// The words for it. Of two that were said, the one that is further down holds: so
// StorageReleased is never taken back.
const (
	// StorageStays: what outlives a unit is detached.
	StorageStays StorageFate = ""
	// StorageDestroyed: it is removed, with what is in it.
	StorageDestroyed StorageFate = "destroy"
	// StorageReleased: it is removed, and what is in it is left on the host.
	StorageReleased StorageFate = "release"
)

// or is what holds when both were said.
func (f StorageFate) or(other StorageFate) StorageFate {
	for _, said := range []StorageFate{StorageReleased, StorageDestroyed} {
		if f == said || other == said {
			return said
		}
	}
	return StorageStays
}

// outlives says whether there is something in the instance that outlives its unit.
func (s StorageDoc) outlives() bool {
	p, ok := model.StorageProviderOf(s.Provider)
	return ok && p.Persistent && s.Provided
}

// fateOfStorageOf is what becomes of a unit's storage as it is detached: what was said
// of the unit, of its application, or of its principal, as these go.
func (d docs) fateOfStorageOf(u UnitDoc) (StorageFate, error) {
	fate := StorageStays
	for {
		app, err := d.application(u.Name.Application())
		if err != nil && !errors.Is(err, errors.NotFound) {
			return fate, errors.Trace(err)
		}
		if fate = fate.or(u.StorageFate).or(app.StorageFate); u.Principal == "" {
			return fate, nil
		}
		if u, err = d.unit(u.Principal); errors.Is(err, errors.NotFound) {
			return fate, nil
		} else if err != nil {
			return fate, errors.Trace(err)
		}
	}
}

// StorageFate is what becomes of what is attached to a unit, as far as it was said;
// errors.NotFound if there is no such unit.
func (m *Model) StorageFate(ctx context.Context, unit model.UnitName) (fate StorageFate, err error) {
	_, err = m.view(ctx, func(r docs) error {
		u, err := r.unit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		fate, err = r.fateOfStorageOf(u)
		return errors.Trace(err)
	})
	return fate, errors.Trace(err)
}

// takesStorage notes of a unit that is going what becomes of its storage.
func (t *txn) takesStorage(u *UnitDoc, storage StorageFate) error {
	fate := u.StorageFate.or(storage)
	if fate == u.StorageFate {
		return nil
	}
	u.StorageFate = fate
	return t.put(unitKey(u.Name), *u)
}

// outliving is the storage in which there is something that would outlive the model,
// and of which nobody has said yet what becomes of it.
func (d docs) outliving() ([]model.StorageID, error) {
	all, err := d.allStorage()
	if err != nil {
		return nil, errors.Trace(err)
	}
	var kept []model.StorageID
	for _, v := range all {
		if v.Life != model.Alive || !v.outlives() {
			continue
		}
		if v.Unit != "" {
			u, err := d.unit(v.Unit)
			if err != nil {
				return nil, errors.Trace(err)
			}
			if fate, err := d.fateOfStorageOf(u); err != nil {
				return nil, errors.Trace(err)
			} else if fate != StorageStays {
				continue
			}
		}
		kept = append(kept, v.ID)
	}
	return kept, nil
}
