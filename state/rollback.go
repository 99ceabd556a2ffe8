package state

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// formerMost is how many former charms and images an application remembers. The model
// holds those charms, and others until somebody has them removed: see RemoveCharm.
const formerMost = 20

// Former is what an application was made of before: a charm, and the images that it
// had beside it.
type Former struct {
	Charm  string              `json:"charm"` // its URL
	Hub    *Hub                `json:"hub,omitempty"`
	Images map[string]Resource `json:"images,omitempty"`
}

// UnmarshalJSON takes the charm's URL alone as well, which is what stores had before
// images were remembered.
func (f *Former) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return errors.Trace(json.Unmarshal(b, &f.Charm))
	}
	type plain Former
	return errors.Trace(json.Unmarshal(b, (*plain)(f)))
}

// same says whether both are the same to their units.
func (f Former) same(other Former) bool {
	return f.Charm == other.Charm && maps.EqualFunc(f.Images, other.Images, func(a, b Resource) bool { return *a.Image == *b.Image })
}

// made is what the application is made of.
func (a *ApplicationDoc) made() Former {
	f := Former{Charm: a.Charm, Hub: a.Hub}
	for name, r := range a.Resources {
		if r.Image == nil {
			continue
		}
		if f.Images == nil {
			f.Images = map[string]Resource{}
		}
		f.Images[name] = r
	}
	return f
}

// remember notes what the application was made of, if that was replaced.
func (a *ApplicationDoc) remember(was Former) {
	replaced := was.Charm != a.Charm
	for name, r := range was.Images {
		replaced = replaced || a.Resources[name].Revision != r.Revision
	}
	if !replaced {
		return
	}
	a.Former = append(slices.DeleteFunc(slices.Clone(a.Former), was.same), was)
	a.Former = a.Former[max(0, len(a.Former)-formerMost):]
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
	// Those of a hub are numbered apart from local ones.
	held = slices.DeleteFunc(held, func(c CharmDoc) bool {
		return c.Charm.Name != now.Charm.Name || FromHub(c.URL) != FromHub(now.URL)
	})
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

// RolledBack is what came of Rollback.
type RolledBack struct {
	Former                    // what the application is made of again
	Replaced []string         // the resources whose images were replaced, in order
	Other    bool             // the charm was replaced
	InError  []model.UnitName // the units whose failed hooks are tried again
}

// Rollback puts an application's units back to an earlier charm, with the images
// that the application had beside it, whatever state they are in: those in error get
// the charm at once, and their failed runs are answered with another try.
// FormerRevision goes back by one each time, which may be by images alone; what was
// rolled back from isn't remembered. Errors: those of SetCharm, NotFound for a
// revision that the model doesn't hold, NotValid for the one that is there.
func (m *Model) Rollback(ctx context.Context, name string, revision int) (done RolledBack, err error) {
	err = m.changeApplication(ctx, name, func(tx *txn, app *ApplicationDoc) error {
		former, at, err := tx.rollbackTo(*app, revision)
		if err != nil {
			return err
		}
		done = RolledBack{Former: former, Other: former.Charm != app.Charm}
		// Where it was too long ago, or never was, nobody knows which came before.
		app.Former = app.Former[:max(at, 0)]
		if done.Other {
			if err := tx.setCharm(app, former.Charm, true); err != nil {
				return errors.Trace(err)
			}
			if former.Hub != nil {
				app.Hub = former.Hub
			}
		}
		if done.Replaced, err = tx.giveAgain(app, former); err != nil {
			return errors.Trace(err)
		}
		// In the transaction, as a unit that has the charm may try again at once,
		// and is not to be asked to do so once more.
		units, err := tx.unitsOf(name)
		if err != nil {
			return errors.Trace(err)
		}
		for _, u := range units {
			if u.resolvable() != nil || len(done.InError) == rollbackUnits {
				continue
			}
			done.InError = append(done.InError, u.Name)
			u.Resolved = Resolved{Run: u.Failed, Mode: "retry"}
			if err := tx.put(unitKey(u.Name), u); err != nil {
				return errors.Trace(err)
			}
		}
		return nil
	})
	if err != nil || len(done.InError) < rollbackUnits {
		return done, errors.Trace(err)
	}
	more, err := m.resolveRest(ctx, name)
	done.InError = append(done.InError, more...)
	return done, errors.Trace(err)
}

// giveAgain gives an application the images that it had, as far as its charm still
// wants them, and names those resources.
func (t *txn) giveAgain(app *ApplicationDoc, former Former) (replaced []string, err error) {
	charm, err := t.charm(former.Charm)
	if err != nil {
		return nil, errors.Trace(err)
	}
	all := maps.Clone(app.Resources)
	for _, name := range slices.Sorted(maps.Keys(former.Images)) {
		now, then := all[name], former.Images[name]
		if charm.Charm.Resources[name].Type != model.OCIImage || now.Image == nil || now.Revision == then.Revision {
			continue
		}
		image, err := t.image(then)
		if err != nil {
			return nil, errors.Trace(err)
		}
		if same, err := t.sameContent(now, Content{Image: &image}); err != nil || same {
			if err != nil {
				return nil, errors.Trace(err)
			}
			continue
		}
		then.Revision, then.Given = now.Revision+1, t.now()
		all[name] = then
		replaced = append(replaced, name)
	}
	if len(replaced) > 0 {
		app.Resources = all
		app.Given++
	}
	return replaced, nil
}

// rollbackUnits is how many units one transaction answers beside the rest.
const rollbackUnits = maxWrites / 2

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

// rollbackTo is what a rollback goes back to, and which of the former ones it is; -1:
// none of those that are remembered.
func (d docs) rollbackTo(app ApplicationDoc, revision int) (former Former, at int, err error) {
	if revision == FormerRevision {
		at = len(app.Former) - 1
		if at < 0 {
			return former, at, errors.NewNotFound(nil, fmt.Sprintf("application %q has had no other revision of its charm%s", app.Name, orImage(app)))
		}
		return app.Former[at], at, nil
	}
	held, err := d.revisions(app)
	if err != nil {
		return former, -1, errors.Trace(err)
	}
	url, err := pick(app.Name, held, revision)
	if err == nil && url == app.Charm {
		err = errors.NewNotValid(nil, fmt.Sprintf("application %q has revision %d already", app.Name, revision))
	}
	if err != nil {
		return former, -1, err
	}
	for i, f := range slices.Backward(app.Former) {
		if f.Charm == url {
			return f, i, nil
		}
	}
	return Former{Charm: url}, -1, nil
}

func orImage(app ApplicationDoc) string {
	if app.Sidecar {
		return ", and no other image"
	}
	return ""
}
