package state

import (
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// detached is storage that is attached to nothing, and that units of a charm can have.
func (d docs) detached(id model.StorageID, charm model.Charm) (StorageDoc, error) {
	s, err := d.storageDoc(id)
	switch {
	case err != nil:
		return s, errors.Trace(err)
	case s.Unit != "":
		return s, errors.NewNotValid(nil, fmt.Sprintf("storage %s is attached to %s: detach it first", id, s.Unit))
	case s.Life != model.Alive:
		return s, errors.NewNotValid(nil, fmt.Sprintf("storage %s is being removed", id))
	}
	if spec, ok := charm.Storage[id.Name()]; ok && spec.Type != s.Kind {
		return s, errors.NewNotValid(nil, fmt.Sprintf("storage %s is %s storage, charm %q wants %s storage", id, s.Kind, charm.Name, spec.Type))
	}
	return s, nil
}

// attachDetached attaches what is detached to a unit, which the caller puts; initial: it
// is made with it.
func (t *txn) attachDetached(u *UnitDoc, charm model.Charm, id model.StorageID, initial bool) error {
	if s, err := t.storageDoc(id); err == nil && s.Unit == u.Name {
		return errors.NewAlreadyExists(nil, fmt.Sprintf("storage %s is attached to %s already", id, u.Name))
	}
	have, err := t.countStorage(*u, id.Name())
	if err != nil {
		return errors.Trace(err)
	}
	spec := charm.Storage[id.Name()]
	s, wrong := t.detached(id, charm)
	if wrong == nil && s.Provided && s.Host != u.host() {
		wrong = errors.NewNotValid(nil, fmt.Sprintf("storage %s is on another host than %s, and stays there", id, u.Name))
	}
	if wrong != nil {
		return errors.Trace(wrong)
	}
	provider, _ := model.StorageProviderOf(s.Provider)
	err = charm.CheckStorage(id.Name(), max(have+1, spec.CountMin), model.StorageDirective{Size: s.Size}, provider)
	if err != nil {
		return errors.Trace(err)
	}
	if err := checkTotal(u.Storage + 1); err != nil {
		return errors.Trace(err)
	}
	return t.attach(u, s, spec, initial)
}

// attachFirst gives a new unit of an application the storage that it was promised, and
// returns it.
func (t *txn) attachFirst(app *ApplicationDoc, u UnitDoc, p *placing) (UnitDoc, error) {
	if p == nil || len(p.attach) == 0 {
		return u, nil
	}
	charm, err := t.charm(app.Charm)
	if err != nil {
		return u, errors.Trace(err)
	}
	for _, id := range p.attach {
		if err := t.attachDetached(&u, charm.Charm, id, true); err != nil {
			return u, errors.Trace(err)
		}
	}
	p.attach = nil
	return u, t.put(unitKey(u.Name), u)
}
