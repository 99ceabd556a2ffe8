package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// storageWrites is how many keys an instance of storage writes: its document
// and its attachment. The number is drawn of one sequence for all.
const storageWrites = 2

// StorageView is an instance of storage with its attachment.
type StorageView struct {
	StorageDoc
	// Attachment is nil where it is attached to no unit.
	Attachment *AttachmentDoc
	// Going: it is being detached, or its unit goes.
	Going bool
}

// Status is how far the instance has come, for people.
func (v StorageView) Status() model.Status {
	word := "pending"
	switch {
	case v.Attachment == nil && v.Life != model.Alive:
		word = "destroying"
	case v.Attachment == nil:
		word = "detached"
	case v.Going:
		word = "detaching"
	case v.Attachment.Ready:
		word = "attached"
	}
	if v.Problem != "" && (word == "pending" || word == "destroying") {
		return model.Status{Status: model.StatusError, Message: v.Problem, Since: v.Since}
	}
	return model.Status{Status: word, Since: v.Since}
}

// storageDoc reads an instance; the error says `storage "x/0" not found`.
func (d docs) storageDoc(id model.StorageID) (StorageDoc, error) {
	var s StorageDoc
	err := d.get(storageKey(id), &s)
	return s, named(err, "storage", string(id))
}

// storageView is the instance with its attachment, if it has one.
func (d docs) storageView(s StorageDoc) (StorageView, error) {
	v := StorageView{StorageDoc: s}
	if s.Unit == "" {
		return v, nil
	}
	var a AttachmentDoc
	if err := d.get(attachmentKey(s.Unit, s.ID), &a); err != nil {
		return v, errors.Trace(err)
	}
	u, err := d.unit(s.Unit)
	v.Attachment, v.Going = &a, a.Life != model.Alive || u.Life != model.Alive
	return v, errors.Trace(err)
}

// storageOf is what is attached to a unit, or is about to be, in order.
func (d docs) storageOf(u UnitDoc) ([]StorageView, error) {
	if u.Storage == 0 {
		return nil, nil
	}
	attached, err := list[AttachmentDoc](d, attachmentsOf(u.Name))
	if err != nil {
		return nil, errors.Trace(err)
	}
	views := make([]StorageView, len(attached))
	for i, a := range attached {
		s, err := d.storageDoc(a.Storage)
		if err != nil {
			return nil, errors.Trace(err)
		}
		views[i] = StorageView{StorageDoc: s, Attachment: &a, Going: a.Life != model.Alive || u.Life != model.Alive}
	}
	slices.SortFunc(views, func(a, b StorageView) int { return model.CompareStorage(a.ID, b.ID) })
	return views, nil
}

// allStorage is all of the model's, in order.
func (d docs) allStorage() ([]StorageView, error) {
	all, err := list[StorageDoc](d, "storage/")
	if err != nil {
		return nil, errors.Trace(err)
	}
	slices.SortFunc(all, func(a, b StorageDoc) int { return model.CompareStorage(a.ID, b.ID) })
	views := make([]StorageView, len(all))
	for i, s := range all {
		if views[i], err = d.storageView(s); err != nil {
			return nil, errors.Trace(err)
		}
	}
	return views, nil
}

// Storage is all storage of the model, by name, then by number.
func (m *Model) Storage(ctx context.Context) ([]StorageView, error) {
	var all []StorageView
	_, err := m.view(ctx, func(r docs) (err error) {
		all, err = r.allStorage()
		return errors.Trace(err)
	})
	return all, errors.Trace(err)
}

// StorageOf is what is attached to a unit, or is about to be.
func (m *Model) StorageOf(ctx context.Context, unit model.UnitName) ([]StorageView, error) {
	var all []StorageView
	_, err := m.view(ctx, func(r docs) error {
		u, err := r.unit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		all, err = r.storageOf(u)
		return errors.Trace(err)
	})
	return all, errors.Trace(err)
}

// checkStorage refuses count instances by a complete directive that the charm,
// or the pool, can't have.
func (d docs) checkStorage(charm model.Charm, name string, count int, want model.StorageDirective) error {
	p, err := d.provider(want.Pool)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(charm.CheckStorage(name, count, want, p))
}

// checkStorageOf refuses directives with which no unit of the charm could be
// made.
func (d docs) checkStorageOf(directives map[string]model.StorageDirective, charm model.Charm) error {
	for _, name := range slices.Sorted(maps.Keys(directives)) {
		if _, ok := charm.Storage[name]; !ok {
			return errors.Trace(charm.CheckStorage(name, 0, model.StorageDirective{}, model.StorageProvider{}))
		}
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(charm.Storage)) {
		want := charm.Storage[name].Complete(directives[name])
		total += want.Count
		if want.Count == 0 {
			continue
		}
		if err := d.checkStorage(charm, name, want.Count, want); err != nil {
			return errors.Trace(err)
		}
	}
	return checkTotal(total)
}

func checkTotal(n int) error {
	if n > model.MaxStorage {
		return errors.NewNotValid(nil, fmt.Sprintf("a unit can have at most %d instances of storage, %d specified", model.MaxStorage, n))
	}
	return nil
}

// storageOfUnit is how many instances a unit of the application begins with.
func storageOfUnit(app ApplicationDoc, charm model.Charm) int {
	n := 0
	for name, spec := range charm.Storage {
		n += spec.Complete(app.Storage[name]).Count
	}
	return n
}

// firstStorage gives a new unit what it begins with.
func (t *txn) firstStorage(app *ApplicationDoc, u UnitDoc) error {
	charm, err := t.charm(app.Charm)
	if err != nil {
		return errors.Trace(err)
	}
	for _, name := range slices.Sorted(maps.Keys(charm.Charm.Storage)) {
		want := charm.Charm.Storage[name].Complete(app.Storage[name])
		have, err := t.countStorage(u, name) // what it was promised
		if err != nil {
			return errors.Trace(err)
		}
		want.Count = max(want.Count-have, 0)
		kept, err := t.takeKept(app, u.Name, name, charm.Charm.Storage[name], want.Count)
		if err != nil {
			return errors.Trace(err)
		}
		if want.Count -= kept; want.Count == 0 {
			continue
		}
		if _, err := t.newInstances(u.Name, charm.Charm, name, want, true); err != nil {
			return errors.Trace(err)
		}
	}
	delete(app.Kept, u.Name)
	return nil
}

// newInstances makes instances by a complete directive, attached to the unit.
func (t *txn) newInstances(unit model.UnitName, charm model.Charm, name string, want model.StorageDirective, initial bool) ([]model.StorageID, error) {
	u, err := t.unit(unit)
	if err != nil {
		return nil, errors.Trace(err)
	}
	have, err := t.countStorage(u, name)
	if err != nil {
		return nil, errors.Trace(err)
	}
	count := have + want.Count
	if !initial {
		count = max(count, charm.Storage[name].CountMin) // what else is missing isn't this one's fault
	}
	if err := t.checkStorage(charm, name, count, want); err != nil {
		return nil, errors.Trace(err)
	}
	if err := checkTotal(u.Storage + want.Count); err != nil {
		return nil, errors.Trace(err)
	}
	provider, err := t.provider(want.Pool)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var ids []model.StorageID
	for range want.Count {
		n, err := t.next("storage")
		if err != nil {
			return nil, errors.Trace(err)
		}
		spec := charm.Storage[name]
		s := StorageDoc{
			ID: model.NewStorageID(name, n), Kind: spec.Type, Pool: want.Pool, Provider: provider.Name,
			Size: want.Size, ReadOnly: spec.ReadOnly,
		}
		if err := t.attach(&u, s, spec, initial); err != nil {
			return nil, errors.Trace(err)
		}
		ids = append(ids, s.ID)
	}
	return ids, t.put(unitKey(u.Name), u)
}

// countStorage is how many instances of that name the unit has.
func (d docs) countStorage(u UnitDoc, name string) (int, error) {
	if u.Storage == 0 {
		return 0, nil
	}
	all, err := d.storageOf(u)
	n := 0
	for _, v := range all {
		if v.ID.Name() == name {
			n++
		}
	}
	return n, errors.Trace(err)
}

// attach attaches an instance that is attached to nothing; the caller puts u.
func (t *txn) attach(u *UnitDoc, s StorageDoc, spec model.StorageSpec, initial bool) error {
	u.Storage++
	s.Unit, s.Since, s.Problem, s.Host = u.Name, t.now(), "", u.host()
	a := AttachmentDoc{Storage: s.ID, Unit: u.Name, Initial: initial, Wanted: spec.Location}
	if u.Pod {
		var err error
		if a.Wanted, err = t.podLocation(*u, s.ID.Name(), spec); err != nil {
			return errors.Trace(err)
		}
	} else if a.Wanted != "" && spec.CountMax != 1 {
		a.Wanted = strings.TrimSuffix(a.Wanted, "/") + "/" + string(s.ID)
	}
	if err := t.put(attachmentKey(u.Name, s.ID), a); err != nil {
		return errors.Trace(err)
	}
	return t.put(storageKey(s.ID), s)
}

// Undetached leaves out what is detached as the charm knows it, and only stays at its
// place until the unit is gone: AttachmentDoc.Detached.
func Undetached(all []StorageView) []StorageView {
	return slices.DeleteFunc(slices.Clone(all), func(v StorageView) bool { return v.Attachment != nil && v.Attachment.Detached })
}

// detach ends an attachment, if it is there. What can't outlive it goes too. That of a
// container unit which goes ends with the unit: its containers run until then, and
// neither they nor the rest of its hooks lose the files. Source:
// docs/spec/containers.md §3.5.
func (t *txn) detach(unit model.UnitName, id model.StorageID) error {
	u, err := t.unit(unit)
	if err != nil {
		return errors.Trace(err)
	}
	s, err := t.storageDoc(id)
	if errors.Is(err, errors.NotFound) || err == nil && s.Unit != unit {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	if u.Pod && u.Life == model.Dying {
		return t.detachLater(u, s)
	}
	u.Storage--
	if err := t.put(unitKey(u.Name), u); err != nil {
		return errors.Trace(err)
	}
	if err := t.letGo(u, s); err != nil {
		return errors.Trace(err)
	}
	return t.keepStorage(u, s.ID)
}

// detachLater is detach of what stays at its place until the unit is gone: then
// detachAll lets it go.
func (t *txn) detachLater(u UnitDoc, s StorageDoc) error {
	var a AttachmentDoc
	if err := t.get(attachmentKey(u.Name, s.ID), &a); err != nil {
		return errors.Trace(err)
	}
	a.Life, a.Detached = model.Dying, true
	return t.put(attachmentKey(u.Name, s.ID), a)
}

// letGo is detach but for the unit's count. What was never there goes too, and what
// is to go with its unit.
func (t *txn) letGo(u UnitDoc, s StorageDoc) error {
	fate, err := t.fateOfStorageOf(u)
	if err != nil {
		return errors.Trace(err)
	}
	if err := t.delete(attachmentKey(s.Unit, s.ID)); err != nil {
		return errors.Trace(err)
	}
	s.Unit, s.Since, s.Problem = "", t.now(), ""
	if fate != StorageStays || !s.outlives() {
		s.Life, s.Released = model.Dying, s.Released || fate == StorageReleased
	}
	return t.put(storageKey(s.ID), s)
}

// detachAll is detach for all storage of a unit that is going for good.
func (t *txn) detachAll(u UnitDoc) error {
	all, err := t.storageOf(u)
	for _, v := range all {
		if err := t.letGo(u, v.StorageDoc); err != nil {
			return errors.Trace(err)
		}
		if err := t.keepStorage(u, v.ID); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(err)
}

// applyStorage is storage-add: what a unit that goes asks for is dropped.
func (t *txn) applyStorage(u UnitDoc, counts map[string]int) error {
	if len(counts) == 0 {
		return nil
	}
	_, app, charm, err := t.aliveUnit(u.Name)
	if errors.Is(err, errNotAlive) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		want := app.Storage[name]
		want.Count = counts[name]
		want = charm.Storage[name].Complete(want)
		if _, err := t.newInstances(u.Name, charm, name, want, false); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}
