package state

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Removal lists what a destruction will take away, for people.
type Removal struct {
	Units     []model.UnitName
	Relations []string
}

// DestroyApplication removes an application with its units and relations
// (seed 000, "remove-application"). If nothing refers to it, it is gone at
// once; else it is Dying until its last unit or relation goes. Of one that is
// Dying already it says what is left, and sees to it that the rest is going.
func (m *Model) DestroyApplication(ctx context.Context, name string) (Removal, error) {
	var gone Removal
	var left leftOf
	_, err := m.update(ctx, func(tx *txn) error {
		gone = Removal{}
		app, err := tx.application(name)
		if err != nil {
			return errors.Trace(err)
		}
		if left, err = tx.leftOf(name); err != nil {
			return errors.Trace(err)
		}
		gone.Units = left.units
		for _, r := range left.relations {
			gone.Relations = append(gone.Relations, r.Key)
		}
		if app.Life != model.Alive {
			return nil
		}
		app.Life = model.Dying
		if app.Units+app.Relations > 0 {
			// Whoever is cut off after this leaves the rest to the agent.
			if err := tx.queue(cleanupDoc{Application: name}); err != nil {
				return errors.Trace(err)
			}
		}
		return tx.putOrRemove(app)
	})
	if err != nil {
		return gone, errors.Trace(err)
	}
	return gone, errors.Trace(m.destroyLeft(ctx, left))
}

// leftOf is what refers to an application.
type leftOf struct {
	units     []model.UnitName
	relations []RelationDoc
}

func (d docs) leftOf(application string) (leftOf, error) {
	var left leftOf
	units, err := d.unitsOf(application)
	if err != nil {
		return left, errors.Trace(err)
	}
	for _, u := range units {
		left.units = append(left.units, u.Name)
	}
	left.relations, err = d.relationsOf(application)
	return left, errors.Trace(err)
}

// destroyLeft has go what refers to an application that is Dying, each in a
// transaction of its own: there may be many. Being Dying, the application gets
// no new ones meanwhile; if its name is used again, relations have other ids,
// and units are left alone with an application that is Alive.
func (m *Model) destroyLeft(ctx context.Context, left leftOf) error {
	for _, r := range left.relations {
		if _, err := m.update(ctx, func(tx *txn) error { return tx.destroyRelation(r.ID) }); err != nil {
			return errors.Annotatef(err, "cannot remove relation %q", r.Key)
		}
	}
	// Units that no agent has taken on have nobody to take them away.
	for _, u := range left.units {
		if _, err := m.update(ctx, func(tx *txn) error { return tx.removeUndeployed(u) }); err != nil {
			return errors.Annotatef(err, "cannot remove unit %s", u)
		}
	}
	return nil
}

// finishDestroy does the rest of a DestroyApplication, if there is any: not
// for a newer application of the same name.
func (m *Model) finishDestroy(ctx context.Context, name string) error {
	var left leftOf
	_, err := m.view(ctx, func(r docs) error {
		left = leftOf{}
		app, err := r.application(name)
		if errors.Is(err, errors.NotFound) || err == nil && app.Life == model.Alive {
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
		left, err = r.leftOf(name)
		return errors.Trace(err)
	})
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(m.destroyLeft(ctx, left))
}

// putOrRemove writes the application, or removes it if it is Dying and
// nothing refers to it any more.
func (t *txn) putOrRemove(app ApplicationDoc) error {
	if app.Life == model.Alive || app.Units > 0 || app.Relations > 0 {
		return t.put(applicationKey(app.Name), app)
	}
	err := t.delete(applicationKey(app.Name), configKey(app.Name), leaderKey(app.Name), lastLeaderKey(app.Name),
		leaderSettingsKey(app.Name), statusKey(ApplicationStatus, app.Name))
	if err != nil {
		return errors.Trace(err)
	}
	if err := t.ungrant(app.Name); err != nil {
		return errors.Trace(err)
	}
	if app.Secrets != "" {
		if err := t.queue(cleanupDoc{SecretsOf: app.Secrets}); err != nil {
			return errors.Trace(err)
		}
	}
	return t.cleanupHistory(ApplicationStatus, app.Name)
}

// referenced changes an application's counts and removes it with its last
// reference. An application that is gone already is no error.
func (t *txn) referenced(name string, units, relations int) error {
	app, err := t.application(name)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	app.Units += units
	app.Relations += relations
	return t.putOrRemove(app)
}
