package state

import (
	"context"
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

const (
	// ErrCannotEnterScope is returned by EnterScope where the unit or the
	// relation isn't Alive, the relation is suspended, or isn't the unit's.
	ErrCannotEnterScope = errors.ConstError("cannot enter scope: unit or relation is not alive")
	// ErrCannotEnterScopeYet is returned by EnterScope while the subordinate
	// that the principal used to have is still going.
	ErrCannotEnterScopeYet = errors.ConstError("cannot enter scope yet: a subordinate of the same application is still being removed")
)

// container is the part of a relation's scope that a unit is in: all of it in
// a global relation, its principal's family in a container one.
func container(r RelationDoc, u UnitDoc) string {
	if r.Scope() == model.Global {
		return global
	}
	if u.Principal != "" {
		return u.Principal.Tag()
	}
	return u.Name.Tag()
}

func scopeKey(r RelationDoc, u UnitDoc) string {
	return containerScope(r.ID, container(r, u)) + string(u.Name)
}

// concerns says whether the unit has a part in the relation. A subordinate has
// none in a container relation with a principal application that isn't its
// own principal's.
func (d docs) concerns(r RelationDoc, u UnitDoc) (bool, error) {
	_, other, ok := r.Endpoint(u.Name.Application())
	if !ok || r.Scope() == model.Global || r.IsPeer() || u.Principal == "" ||
		other.Application == u.Principal.Application() {
		return ok, nil
	}
	app, err := d.application(other.Application)
	return app.Subordinate, errors.Trace(err)
}

// EnterScope makes a unit a member of a relation, with settings that are there
// before it shows itself (seed 004, "scope"). A principal that enters a
// container relation gets a subordinate unit in the same transaction, if it
// has none of that application. It is no error to enter twice.
func (m *Model) EnterScope(ctx context.Context, unit model.UnitName, id model.RelationID, settings model.Settings) error {
	_, err := m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		r, err := tx.relation(id)
		if err != nil {
			return errors.Trace(err)
		}
		var s scopeDoc
		if in, err := tx.find(scopeKey(r, u), &s); err != nil || in {
			return errors.Trace(err)
		}
		ours, err := tx.concerns(r, u)
		if err != nil {
			return errors.Trace(err)
		}
		if !ours || u.Life != model.Alive || r.Life != model.Alive || r.Suspended {
			return errors.Trace(ErrCannotEnterScope)
		}
		if !u.Deployed {
			// Who acts has been taken on, and has to be taken away: else nobody would
			// see to a unit that is left in no scope.
			u.Deployed = true
			if err := tx.put(unitKey(unit), u); err != nil {
				return errors.Trace(err)
			}
		}
		if err := tx.provideSubordinate(r, u); err != nil {
			return errors.Trace(err)
		}
		version, err := tx.changeBag(r, unit.Application(), unit, settings)
		if err != nil {
			return errors.Trace(err)
		}
		if err := tx.noteLeader(r, unit, true); err != nil {
			return errors.Trace(err)
		}
		if err := tx.put(scopeOfUnit(unit, id), id); err != nil {
			return errors.Trace(err)
		}
		return tx.putScope(r, u, version)
	})
	return errors.Trace(err)
}

// provideSubordinate makes the subordinate unit that a principal needs in a
// container relation. New ones come only of an Alive subordinate application.
func (t *txn) provideSubordinate(r RelationDoc, u UnitDoc) error {
	_, other, ok := r.Endpoint(u.Name.Application())
	if !ok || r.Scope() != model.Container || u.Principal != "" {
		return nil
	}
	app, err := t.application(other.Application)
	if err != nil {
		return errors.Trace(err)
	}
	if !app.Subordinate || app.Life != model.Alive {
		return nil
	}
	switch s, has, err := t.subordinateOf(u, app.Name); {
	case err != nil:
		return errors.Trace(err)
	case has && s.Life != model.Alive:
		return errors.Trace(ErrCannotEnterScopeYet)
	case has:
		return nil
	}
	if _, err := t.addUnit(&app, u.Name, nil); err != nil {
		return errors.Trace(err)
	}
	return t.put(applicationKey(app.Name), app)
}

// subordinateOf is the unit of an application that a principal has, if it has one.
func (d docs) subordinateOf(principal UnitDoc, application string) (UnitDoc, bool, error) {
	for _, name := range principal.Subordinates {
		if name.Application() == application {
			s, err := d.unit(name)
			return s, true, errors.Trace(err)
		}
	}
	return UnitDoc{}, false, nil
}

// subordinateGoing says whether provideSubordinate would refuse, because the
// subordinate that the principal has is being removed.
func (d docs) subordinateGoing(r RelationDoc, u UnitDoc) (bool, error) {
	_, other, _ := r.Endpoint(u.Name.Application())
	if r.Scope() != model.Container || u.Principal != "" {
		return false, nil
	}
	s, has, err := d.subordinateOf(u, other.Application)
	if err != nil || !has || s.Life == model.Alive {
		return false, errors.Trace(err)
	}
	app, err := d.application(other.Application)
	return app.Subordinate && app.Life == model.Alive, errors.Trace(err)
}

// LeaveScope ends a unit's membership of a relation. The last unit to leave a
// Dying relation removes it, and with it perhaps the other application (seed
// 000). It is no error to leave twice; the settings stay readable.
func (m *Model) LeaveScope(ctx context.Context, unit model.UnitName, id model.RelationID) error {
	_, err := m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		return tx.leaveScope(u, id)
	})
	return errors.Trace(err)
}

func (t *txn) leaveScope(u UnitDoc, id model.RelationID) error {
	r, err := t.relation(id)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	why, err := t.whyLeft(u, r)
	if err != nil {
		return errors.Trace(err)
	}
	return t.leave(id, container(r, u), u.Name, why)
}

// leave is leaveScope where the part of the scope is known, and why it is left.
func (t *txn) leave(id model.RelationID, part string, unit model.UnitName, why model.Departure) error {
	var s scopeDoc
	key := containerScope(id, part) + string(unit)
	if in, err := t.find(key, &s); err != nil || !in {
		return errors.Trace(err)
	}
	r, err := t.relation(id)
	if err != nil {
		return errors.Trace(err)
	}
	if err := t.dropScope(r, part, unit); err != nil {
		return errors.Trace(err)
	}
	if r.Life == model.Dying {
		in, err := t.anybodyIn(id)
		if err != nil {
			return errors.Trace(err)
		}
		if !in {
			return t.removeRelation(r)
		}
	}
	if err := t.putLeft(r, part, unit, why); err != nil {
		return errors.Trace(err)
	}
	return t.noteLeader(r, unit, false)
}

// anybodyIn says whether a unit is in any part of a relation's scope. It is asked
// only of a relation that is Dying, or is about to be: a count in the relation's
// document would be written by each unit that enters, and all that come up at the
// same time would be in each other's way. Who leaves at the same time is a conflict
// of transactions then, so exactly one of them is the last.
func (d docs) anybodyIn(id model.RelationID) (bool, error) {
	in, err := d.Keys(d.m.prefix()+scopesOf(id), "", 1)
	return len(in) > 0, errors.Trace(err)
}

// inScopes are at most limit of the relations that the unit is in the scope of.
func (d docs) inScopes(u model.UnitName, limit int) ([]model.RelationID, error) {
	page, err := d.Page(d.m.prefix()+scopesOfUnit(u), "", limit)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return decode[model.RelationID](page)
}

// changeSettings lays a change over a databag and returns its version, which
// moves only if something differs. A bag begins with version 1; an empty change
// makes one that isn't there, one that only deletes doesn't.
func (t *txn) changeSettings(key string, change model.Settings) (int, error) {
	doc, _, err := t.layOver(key, change)
	return doc.Version, err
}

// layOver is changeSettings that returns the databag, and whether it was written.
func (t *txn) layOver(key string, change model.Settings) (doc settingsDoc, changed bool, err error) {
	found, err := t.find(key, &doc)
	if err != nil {
		return doc, false, errors.Trace(err)
	}
	values, changed := doc.Values.Apply(change)
	if !changed && (found || len(change) > 0) {
		return doc, false, nil
	}
	if err := model.CheckStored("settings", values); err != nil {
		return settingsDoc{}, false, err
	}
	doc.Version++
	doc.Moved = doc.Moved.after(doc.Values, values, doc.Version)
	doc.Values, doc.By = values, t.by
	return doc, true, t.put(key, doc)
}

// Settings are a unit's settings in a relation, also after it has left;
// errors.NotFound where it never was in it, or the relation is gone.
func (m *Model) Settings(ctx context.Context, id model.RelationID, unit model.UnitName) (model.Settings, error) {
	var doc settingsDoc
	_, err := m.view(ctx, func(r docs) error {
		return named(r.get(unitSettingsKey(id, unit), &doc), "settings", fmt.Sprintf("%s in relation %d", unit, id))
	})
	return doc.Values, errors.Trace(err)
}

// ApplicationSettings are an application's settings in a relation; empty where
// it has set none.
func (m *Model) ApplicationSettings(ctx context.Context, id model.RelationID, application string) (model.Settings, error) {
	doc := settingsDoc{Values: model.Settings{}}
	_, err := m.view(ctx, func(r docs) error {
		_, err := r.find(appSettingsKey(id, application), &doc)
		return errors.Trace(err)
	})
	return doc.Values, errors.Trace(err)
}
