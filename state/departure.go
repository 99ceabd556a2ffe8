package state

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Departure is why a unit has a hook of something that goes. If the unit goes
// itself that is why; else, with a relation (else model.NoRelation), why this
// goes or, with a remote unit, why that one has left. It is empty where nothing
// goes. The error is NotFound for a unit that isn't there.
func (m *Model) Departure(ctx context.Context, unit model.UnitName, id model.RelationID, remote model.UnitName) (why model.Departure, err error) {
	_, err = m.view(ctx, func(r docs) error {
		u, err := r.unit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		if why, err = r.goes(u); why != "" || err != nil || id == model.NoRelation {
			return errors.Trace(err)
		}
		rel, err := r.relation(id)
		if errors.Is(err, errors.NotFound) {
			why = model.RelationRemoved
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
		if why, err = r.hasLeft(rel, u, remote); why != "" || err != nil {
			return errors.Trace(err)
		}
		why, err = r.ends(rel, unit.Application())
		return errors.Trace(err)
	})
	return why, errors.Trace(err)
}

// goes is why a unit goes; empty: it doesn't.
func (d docs) goes(u UnitDoc) (model.Departure, error) {
	gone, err := d.goingApplication(u.Name.Application())
	switch {
	case err != nil:
		return "", errors.Trace(err)
	case u.Life == model.Dead:
		// Who goes in good order has left all by then.
		return model.Forced, nil
	case gone:
		return model.ApplicationRemoved, nil
	case u.Life != model.Alive:
		return model.UnitRemoved, nil
	}
	return "", nil
}

// ends is why the units of an application leave a relation, themselves being
// Alive; empty: they don't.
func (d docs) ends(r RelationDoc, application string) (model.Departure, error) {
	if r.Life == model.Alive {
		if r.Suspended {
			return model.RelationSuspended, nil
		}
		return "", nil
	}
	_, other, _ := r.Endpoint(application)
	if stranger, across := r.Stranger(); across && stranger == other {
		there, _, found, err := d.half(r)
		if err != nil || !found {
			return model.RelationRemoved, errors.Trace(err)
		}
		d, other.Application = there, r.Across.Theirs
	}
	gone, err := d.goingApplication(other.Application)
	if err != nil || gone {
		return model.ApplicationRemoved, errors.Trace(err)
	}
	return model.RelationRemoved, nil
}

// hasLeft is why a remote unit has left the part of a relation that u is in;
// empty: it hasn't.
func (d docs) hasLeft(r RelationDoc, u UnitDoc, remote model.UnitName) (model.Departure, error) {
	if remote == "" {
		return "", nil
	}
	var s scopeDoc
	in, err := d.find(containerScope(r.ID, container(r, u))+string(remote), &s)
	if err != nil || in {
		return "", errors.Trace(err)
	}
	var left leftDoc
	_, err = d.find(leftScope(r.ID, container(r, u))+string(remote), &left)
	return left.Why, errors.Trace(err)
}

// goingApplication says whether an application is gone or on its way out.
func (d docs) goingApplication(name string) (bool, error) {
	app, err := d.application(name)
	if errors.Is(err, errors.NotFound) {
		return true, nil
	}
	return app.Life != model.Alive, errors.Trace(err)
}

// whyLeft is why a unit leaves a relation.
func (d docs) whyLeft(u UnitDoc, r RelationDoc) (model.Departure, error) {
	if why, err := d.goes(u); why != "" || err != nil {
		return why, errors.Trace(err)
	}
	return d.ends(r, u.Name.Application())
}
