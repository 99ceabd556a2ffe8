package state

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// AddStorage gives an Alive unit more storage, and returns what it is called.
// What d leaves open is as deploy was told, or as the charm has it, but one
// instance if no count is given.
func (m *Model) AddStorage(ctx context.Context, unit model.UnitName, name string, d model.StorageDirective) ([]model.StorageID, error) {
	var ids []model.StorageID
	_, err := m.update(ctx, func(tx *txn) error {
		u, app, charm, err := tx.aliveUnit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		usual := app.Storage[name]
		if d.Pool == "" {
			d.Pool = usual.Pool
		}
		if d.Size == 0 {
			d.Size = usual.Size
		}
		d.Count = max(d.Count, 1)
		ids, err = tx.newInstances(u.Name, charm, name, charm.Storage[name].Complete(d), false)
		return errors.Trace(err)
	})
	return ids, errors.Trace(err)
}

// errNotAlive marks the error of what is on its way out.
const errNotAlive = errors.ConstError("not alive")

// aliveUnit reads a unit that can be given storage, with its charm; the error
// is errNotAlive, too, where it, its application or its model goes.
func (d docs) aliveUnit(name model.UnitName) (UnitDoc, ApplicationDoc, model.Charm, error) {
	u, err := d.unit(name)
	if err != nil {
		return u, ApplicationDoc{}, model.Charm{}, errors.Trace(err)
	}
	app, err := d.application(name.Application())
	if err != nil {
		return u, app, model.Charm{}, errors.Trace(err)
	}
	if u.Life != model.Alive || app.Life != model.Alive {
		return u, app, model.Charm{}, errors.WithType(errors.NewNotValid(nil, fmt.Sprintf("unit %q is being removed", name)), errNotAlive)
	}
	switch err := d.alive(); {
	case errors.Is(err, errors.NotValid):
		return u, app, model.Charm{}, errors.WithType(err, errNotAlive)
	case err != nil:
		return u, app, model.Charm{}, errors.Trace(err)
	}
	charm, err := d.charm(app.Charm)
	return u, app, charm.Charm, errors.Trace(err)
}

// AttachStorage attaches detached storage to an Alive unit whose charm has
// storage of that name and kind, and room for one more.
func (m *Model) AttachStorage(ctx context.Context, unit model.UnitName, id model.StorageID) error {
	_, err := m.update(ctx, func(tx *txn) error {
		u, _, charm, err := tx.aliveUnit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		if err := tx.attachDetached(&u, charm, id, false); err != nil {
			return errors.Trace(err)
		}
		return tx.put(unitKey(unit), u)
	})
	return errors.Trace(err)
}

// DetachStorage has an instance detached from its unit, after the detaching
// hook if the charm was told of it. One that is being detached is left as it is. The
// error is NotValid for one that workload containers of a living unit have.
func (m *Model) DetachStorage(ctx context.Context, id model.StorageID) error {
	_, err := m.update(ctx, func(tx *txn) error {
		s, err := tx.storageDoc(id)
		if err != nil {
			return errors.Trace(err)
		}
		if s.Unit == "" {
			return errors.NewNotValid(nil, fmt.Sprintf("storage %s is not attached", id))
		}
		if err := tx.mayDetach(s); err != nil {
			return errors.Trace(err)
		}
		return tx.startDetach(s)
	})
	return errors.Trace(err)
}

// startDetach marks the attachment Dying; that of a unit that no agent has
// taken on ends at once.
func (t *txn) startDetach(s StorageDoc) error {
	u, err := t.unit(s.Unit)
	if err != nil {
		return errors.Trace(err)
	}
	if !u.Deployed {
		return t.detach(s.Unit, s.ID)
	}
	var a AttachmentDoc
	if err := t.get(attachmentKey(s.Unit, s.ID), &a); err != nil {
		return errors.Trace(err)
	}
	if a.Life != model.Alive {
		return nil
	}
	a.Life = model.Dying
	return t.put(attachmentKey(s.Unit, s.ID), a)
}

// EndAttachment ends an attachment of which the unit's charm was told nothing.
func (m *Model) EndAttachment(ctx context.Context, unit model.UnitName, id model.StorageID) error {
	_, err := m.update(ctx, func(tx *txn) error { return tx.detach(unit, id) })
	return errors.Trace(err)
}

// RemoveStorage has an instance removed from the model and the host; with
// release what is in it stays on the host. The error is NotValid for one that
// is attached, unless force has it detached first, and for one that workload containers
// of a living unit have, in any case.
func (m *Model) RemoveStorage(ctx context.Context, id model.StorageID, release, force bool) error {
	_, err := m.update(ctx, func(tx *txn) error {
		s, err := tx.storageDoc(id)
		if err != nil {
			return errors.Trace(err)
		}
		if s.Unit != "" {
			if err := tx.mayDetach(s); err != nil {
				return errors.Trace(err)
			}
		}
		if s.Unit != "" && !force {
			return errors.NewNotValid(nil, fmt.Sprintf("storage %s is attached to %s: detach it first, or use --force", id, s.Unit))
		}
		if err := tx.doom(s, release); err != nil || s.Unit == "" {
			return errors.Trace(err)
		}
		if s, err = tx.storageDoc(id); err != nil {
			return errors.Trace(err)
		}
		return tx.startDetach(s)
	})
	return errors.Trace(err)
}

// doom has an instance removed once it is detached. What is to be left on the host
// stays so, whatever is said later: it can't be had back.
func (t *txn) doom(s StorageDoc, release bool) error {
	release = release || s.Released
	if s.Life != model.Alive && s.Released == release {
		return nil
	}
	s.Life, s.Released = model.Dying, release
	return t.put(storageKey(s.ID), s)
}

// Provided is what an agent says of storage that it has on its host, or what
// keeps it from having it.
type Provided struct {
	Storage  model.StorageID
	Unit     model.UnitName
	Location string
	Problem  string
}

// SetProvided says where attached storage is, or what the problem is. It is no
// error if it isn't attached there any more.
func (m *Model) SetProvided(ctx context.Context, p Provided) error {
	_, err := m.update(ctx, func(tx *txn) error {
		s, err := tx.storageDoc(p.Storage)
		if errors.Is(err, errors.NotFound) || err == nil && s.Unit != p.Unit {
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
		news := s.Problem != p.Problem
		if p.Unit != "" {
			changed, err := tx.setReady(p)
			if err != nil {
				return errors.Trace(err)
			}
			news = news || changed
		}
		if !news {
			return nil
		}
		s.Problem, s.Since = p.Problem, tx.now()
		s.Provided = s.Provided || p.Unit != "" && p.Problem == ""
		return tx.put(storageKey(s.ID), s)
	}, store.Relaxed)
	return errors.Trace(err)
}

// setReady notes in the attachment whether the storage is there, and where. One
// that was there and isn't any more keeps its location: its charm knows that.
func (t *txn) setReady(p Provided) (changed bool, err error) {
	var a AttachmentDoc
	if err := t.get(attachmentKey(p.Unit, p.Storage), &a); err != nil {
		return false, errors.Trace(err)
	}
	was := a
	if a.Ready = p.Problem == ""; a.Ready {
		a.Location = p.Location
	}
	if a == was {
		return false, nil
	}
	return true, t.put(attachmentKey(p.Unit, p.Storage), a)
}

// StorageGone takes an instance out of the model that is Dying, attached to
// nothing, and gone from the host.
func (m *Model) StorageGone(ctx context.Context, id model.StorageID) error {
	_, err := m.update(ctx, func(tx *txn) error {
		s, err := tx.storageDoc(id)
		if errors.Is(err, errors.NotFound) {
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
		if s.Life == model.Alive || s.Unit != "" {
			return errors.NewNotValid(nil, fmt.Sprintf("storage %s is not to be removed", id))
		}
		return tx.delete(storageKey(id))
	})
	return errors.Trace(err)
}

// checkStorageInUse refuses a charm that lacks storage which a unit has.
func (d docs) checkStorageInUse(app ApplicationDoc, charm model.Charm) error {
	attached, err := list[AttachmentDoc](d, attachmentsOfUnits(app.Name))
	if err != nil {
		return errors.Trace(err)
	}
	for _, a := range attached {
		s, err := d.storageDoc(a.Storage)
		if err != nil {
			return errors.Trace(err)
		}
		if spec, ok := charm.Storage[a.Storage.Name()]; !ok || spec.Type != s.Kind {
			return errors.NewNotValid(nil, fmt.Sprintf("cannot upgrade application %q to charm %q: storage %s of %s is in use", app.Name, charm.Name, a.Storage, a.Unit))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(charm.Storage)) {
		want := charm.Storage[name].Complete(model.StorageDirective{})
		if want.Count == 0 {
			continue
		}
		if err := d.checkStorage(charm, name, want.Count, want); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// newStorage leaves to the cleanup queue what units lack of the storage that
// the new charm asks for, and drops what was said of storage that it hasn't.
func (t *txn) newStorage(app *ApplicationDoc, charm model.Charm) error {
	for name := range app.Storage {
		if _, ok := charm.Storage[name]; !ok {
			delete(app.Storage, name)
		}
	}
	if len(charm.Storage) == 0 || app.Units == 0 {
		return nil
	}
	return t.queue(cleanupDoc{StorageOf: app.Name})
}

// addLacking gives the units of an application what its charm asks for and they
// lack, each in a transaction of its own.
func (m *Model) addLacking(ctx context.Context, application string) error {
	var units []UnitDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		units, err = r.unitsOf(application)
		return errors.Trace(err)
	})
	if err != nil {
		return errors.Trace(err)
	}
	for _, u := range units {
		_, err := m.update(ctx, func(tx *txn) error { return tx.addLacking(u.Name) })
		if err != nil && !errors.Is(err, errors.NotFound) && !errors.Is(err, errors.NotValid) {
			return errors.Trace(err)
		}
	}
	return nil
}

func (t *txn) addLacking(name model.UnitName) error {
	u, app, charm, err := t.aliveUnit(name)
	if err != nil {
		return errors.Trace(err)
	}
	for _, storage := range slices.Sorted(maps.Keys(charm.Storage)) {
		have, err := t.countStorage(u, storage)
		if err != nil {
			return errors.Trace(err)
		}
		want := charm.Storage[storage].Complete(app.Storage[storage])
		want.Count = charm.Storage[storage].CountMin - have
		if want.Count <= 0 {
			continue
		}
		if _, err := t.newInstances(name, charm, storage, want, false); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}
