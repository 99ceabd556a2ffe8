package state

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Removal lists what a destruction will take away, for people.
type Removal struct {
	Units     []model.UnitName
	Relations []string
}

// DestroyApplication is ForceApplication in order.
func (m *Model) DestroyApplication(ctx context.Context, name string) (Removal, error) {
	return m.ForceApplication(ctx, name, Orderly, nil)
}

// ForceApplication is ForceApplicationWith that detaches the units' storage.
func (m *Model) ForceApplication(ctx context.Context, name string, how Force, progress Progress) (Removal, error) {
	gone, err := m.ForceApplicationWith(ctx, name, how, StorageStays, progress)
	return gone, errors.Trace(err)
}

// ForceApplicationWith removes an application with its units and relations (seed
// 000, "remove-application"), and says what becomes of its units' storage. If nothing
// refers to it, it is gone at once; else it is Dying until its last unit or relation
// goes. Of one that is Dying already it says what is left, and sees to it that the rest
// is going, with more force if that is more than before. progress may be nil. Errors:
// NotFound, NotValid for one with offers; then nothing has been changed.
func (m *Model) ForceApplicationWith(ctx context.Context, name string, how Force, storage StorageFate, progress Progress) (Removal, error) {
	// Agents take units away as soon as they may: what goes is told as it was before.
	before, err := m.leftOf(ctx, name, true)
	if err != nil {
		return Removal{}, errors.Trace(err)
	}
	if how > Orderly {
		if err := m.unoffer(ctx, name); err != nil {
			return Removal{}, errors.Trace(err)
		}
	}
	_, err = m.update(ctx, func(tx *txn) error {
		app, err := tx.application(name)
		if err != nil || app.Life != model.Alive && app.Force >= how && app.StorageFate.or(storage) == app.StorageFate {
			return errors.Trace(err)
		}
		if app.Offers > 0 {
			return errors.NewNotValid(nil, fmt.Sprintf("cannot destroy application %q: application is used by %s", name, countOf(app.Offers, "offer")))
		}
		app.Life, app.Force, app.StorageFate = model.Dying, max(app.Force, how), app.StorageFate.or(storage)
		if app.Units+app.Relations > 0 {
			// Whoever is cut off after this leaves the rest to the agent.
			if err := tx.queue(cleanupDoc{Application: name}); err != nil {
				return errors.Trace(err)
			}
		}
		return tx.putOrRemove(app)
	})
	if err != nil {
		return Removal{}, errors.Trace(err)
	}
	gone, err := m.finishDestroy(ctx, name, progress)
	return before.removal().and(gone), unfinished(err)
}

// and is what either has, in the order of its names.
func (r Removal) and(other Removal) Removal {
	r.Units, r.Relations = append(r.Units, other.Units...), append(r.Relations, other.Relations...)
	slices.SortFunc(r.Units, model.CompareUnits)
	slices.Sort(r.Relations)
	r.Units, r.Relations = slices.Compact(r.Units), slices.Compact(r.Relations)
	return r
}

// fitting parts relations into as many as one transaction removes.
func fitting(rels []RelationDoc) iter.Seq[[]RelationDoc] {
	most := leavesPerTxn
	if slices.ContainsFunc(rels, func(r RelationDoc) bool { return r.Across != nil }) {
		most = acrossPerTxn
	}
	return slices.Chunk(rels, most)
}

// leftOf is what refers to an application that is Dying.
type leftOf struct {
	application ApplicationDoc
	units       []UnitDoc
	relations   []RelationDoc
}

// removal names what there is.
func (l leftOf) removal() (r Removal) {
	for _, u := range l.units {
		r.Units = append(r.Units, u.Name)
	}
	for _, rel := range l.relations {
		r.Relations = append(r.Relations, rel.Key)
	}
	return r
}

// leftOf is what refers to an application, if it is Dying or may be alive; none
// where there is no such application.
func (m *Model) leftOf(ctx context.Context, name string, alive bool) (left leftOf, err error) {
	_, err = m.view(ctx, func(r docs) (err error) {
		left = leftOf{}
		app, err := r.application(name)
		if errors.Is(err, errors.NotFound) || err == nil && app.Life == model.Alive && !alive {
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
		left.application = app
		if left.units, err = r.unitsOf(name); err != nil {
			return errors.Trace(err)
		}
		left.relations, err = r.relationsOf(name)
		return errors.Trace(err)
	})
	return left, errors.Trace(err)
}

// finishDestroy does the rest of a ForceApplication, if there is any, and says
// what there was: nothing of a newer application of the same name.
func (m *Model) finishDestroy(ctx context.Context, name string, progress Progress) (Removal, error) {
	left, err := m.leftOf(ctx, name, false)
	if err != nil {
		return Removal{}, errors.Trace(err)
	}
	gone := left.removal()
	counted := newCounter(len(left.units)+len(left.relations), progress)
	if left.application.Force == Abandon {
		return gone, errors.Trace(m.abandonLeft(ctx, left, counted))
	}
	return gone, errors.Trace(m.destroyLeft(ctx, left, counted))
}

// destroyLeft has go what refers to an application that is Dying, in
// transactions of a few: there may be many. Being Dying, the application gets
// no new ones meanwhile; if its name is used again, relations have other ids,
// and units are left alone with an application that is Alive.
func (m *Model) destroyLeft(ctx context.Context, left leftOf, counted *counter) error {
	for some := range fitting(left.relations) {
		_, err := m.update(ctx, func(tx *txn) error {
			for _, r := range some {
				if err := tx.destroyRelation(r.ID, left.application.Force); err != nil {
					return errors.Annotatef(err, "cannot remove relation %q", r.Key)
				}
			}
			return nil
		})
		if err != nil {
			return errors.Trace(err)
		}
		counted.add(len(some))
	}
	for _, u := range left.units {
		// Units that no agent has taken on have nobody to take them away.
		if !u.Deployed {
			if _, err := m.update(ctx, func(tx *txn) error { return tx.removeUndeployed(u.Name) }); err != nil {
				return errors.Annotatef(err, "cannot remove unit %s", u.Name)
			}
		}
		counted.add(1)
	}
	return nil
}

// putOrRemove writes the application, or removes it if it is Dying and
// nothing refers to it any more.
func (t *txn) putOrRemove(app ApplicationDoc) error {
	if app.Life == model.Alive || app.Units > 0 || app.Relations > 0 {
		return t.put(applicationKey(app.Name), app)
	}
	err := t.delete(applicationKey(app.Name), configKey(app.Name), leaderKey(app.Name), lastLeaderKey(app.Name),
		leaderSettingsKey(app.Name), serviceKey(app.Name), statusKey(ApplicationStatus, app.Name))
	if err != nil {
		return errors.Trace(err)
	}
	if err := t.ungrant(app.Name); err != nil {
		return errors.Trace(err)
	}
	if len(app.Resources) > 0 {
		if err := t.queue(cleanupDoc{Blobs: true}); err != nil {
			return errors.Trace(err)
		}
	}
	if app.Secrets != "" {
		if err := t.queue(cleanupDoc{SecretsOf: app.Secrets}); err != nil {
			return errors.Trace(err)
		}
	}
	if app.Sidecar {
		if err := t.queue(cleanupDoc{Objects: app.objects()}); err != nil {
			return errors.Trace(err)
		}
	}
	return t.dropHistory(ApplicationStatus, app.Name)
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
