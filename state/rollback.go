package state

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// formerMost is how many former charms an application remembers. The charms
// themselves aren't bounded: the model holds every revision until it goes.
const formerMost = 20

// remember notes what the application's charm was.
func (a *ApplicationDoc) remember(url string) {
	a.Former = append(slices.DeleteFunc(slices.Clone(a.Former), func(u string) bool { return u == url }), url)
	a.Former = a.Former[max(0, len(a.Former)-formerMost):]
}

// forget forgets the charm that the application goes back to, and those that
// came after it.
func (a *ApplicationDoc) forget(url string) {
	if i := slices.Index(a.Former, url); i >= 0 {
		a.Former = a.Former[:i]
		return
	}
	// It was too long ago, or never was: nobody knows which came before.
	a.Former = nil
}

// Revisions are the revisions that the model holds of the charm that an
// application has, the oldest first.
func (m *Model) Revisions(ctx context.Context, application string) ([]CharmDoc, error) {
	var held []CharmDoc
	_, err := m.view(ctx, func(r docs) error {
		app, err := r.application(application)
		if err != nil {
			return errors.Trace(err)
		}
		held, err = r.revisions(app)
		return errors.Trace(err)
	})
	return held, errors.Trace(err)
}

func (d docs) revisions(app ApplicationDoc) ([]CharmDoc, error) {
	now, err := d.charm(app.Charm)
	if err != nil {
		return nil, errors.Trace(err)
	}
	held, err := list[CharmDoc](d, charmKey(""))
	held = slices.DeleteFunc(held, func(c CharmDoc) bool { return c.Charm.Name != now.Charm.Name })
	slices.SortFunc(held, func(a, b CharmDoc) int { return a.Revision - b.Revision })
	return held, errors.Trace(err)
}

// Revision is the URL of a revision of the charm that an application has. The
// error is NotFound, and names those that there are, if the model has no such.
func (m *Model) Revision(ctx context.Context, application string, revision int) (string, error) {
	held, err := m.Revisions(ctx, application)
	if err != nil {
		return "", errors.Trace(err)
	}
	return pick(application, held, revision)
}

func pick(application string, held []CharmDoc, revision int) (string, error) {
	numbers := make([]string, len(held))
	for i, c := range held {
		if c.Revision == revision {
			return c.URL, nil
		}
		numbers[i] = fmt.Sprint(c.Revision)
	}
	return "", errors.NewNotFound(nil, fmt.Sprintf("the charm of application %q has no revision %d here: there are %s",
		application, revision, strings.Join(numbers, ", ")))
}

// FormerRevision stands in Rollback for the charm that the application had
// before.
const FormerRevision = -1

// Rollback puts an application's units back to an earlier charm, whatever
// state they are in: those in error get it at once, and their failed runs are
// answered with another try. FormerRevision goes back by one each time; what
// was rolled back from isn't a former charm. It returns the charm's URL and the
// units in error. Errors: those of SetCharm, NotFound for a revision that the
// model doesn't hold, NotValid for the one that is there.
func (m *Model) Rollback(ctx context.Context, name string, revision int) (url string, inError []model.UnitName, err error) {
	err = m.changeApplication(ctx, name, func(tx *txn, app *ApplicationDoc) (err error) {
		inError = nil
		if url, err = tx.rollbackTo(*app, revision); err != nil {
			return err
		}
		app.forget(url)
		if err := tx.setCharm(app, url, true); err != nil {
			return errors.Trace(err)
		}
		// In the transaction, as a unit that has the charm may try again at once,
		// and is not to be asked to do so once more.
		units, err := tx.unitsOf(name)
		if err != nil {
			return errors.Trace(err)
		}
		for _, u := range units {
			if u.resolvable() != nil || len(inError) == rollbackUnits {
				continue
			}
			inError = append(inError, u.Name)
			u.Resolved = Resolved{Run: u.Failed, Mode: "retry"}
			if err := tx.put(unitKey(u.Name), u); err != nil {
				return errors.Trace(err)
			}
		}
		return nil
	})
	if err != nil || len(inError) < rollbackUnits {
		return url, inError, errors.Trace(err)
	}
	more, err := m.resolveRest(ctx, name)
	return url, append(inError, more...), errors.Trace(err)
}

// rollbackUnits is how many units one transaction answers beside the rest.
const rollbackUnits = store.MaxWrites / 2

// resolveRest has all units of an application in error try again that no one
// has answered.
func (m *Model) resolveRest(ctx context.Context, application string) ([]model.UnitName, error) {
	var units []UnitDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		units, err = r.unitsOf(application)
		return errors.Trace(err)
	})
	if err != nil {
		return nil, errors.Trace(err)
	}
	var answered []model.UnitName
	for _, u := range units {
		if u.resolvable() != nil {
			continue
		}
		err := m.Resolve(ctx, u.Name, true)
		switch {
		case err == nil:
			answered = append(answered, u.Name)
		case !errors.Is(err, errors.NotValid) && !errors.Is(err, errors.AlreadyExists) && !errors.Is(err, errors.NotFound):
			return answered, errors.Trace(err)
		}
	}
	return answered, nil
}

func (d docs) rollbackTo(app ApplicationDoc, revision int) (string, error) {
	held, err := d.revisions(app)
	if err != nil {
		return "", errors.Trace(err)
	}
	if revision != FormerRevision {
		url, err := pick(app.Name, held, revision)
		if err == nil && url == app.Charm {
			err = errors.NewNotValid(nil, fmt.Sprintf("application %q has revision %d already", app.Name, revision))
		}
		return url, err
	}
	if len(app.Former) == 0 {
		return "", errors.NewNotFound(nil, fmt.Sprintf("application %q has had no other revision of its charm", app.Name))
	}
	return app.Former[len(app.Former)-1], nil
}
