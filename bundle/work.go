package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Work is what is left to do for a model to be what a bundle asks for.
type Work struct {
	// Changes come one after the other.
	Changes []Change

	app   *Applier
	model *state.Model
	plan  *Plan
	seen  seen
}

// Prepare looks at the model and says what is to be changed there. All is checked
// before, and the charms are packed, as what can't be built fails here. Nothing is changed.
func (b *Applier) Prepare(m *state.Model, p *Plan) (*Work, error) {
	var err error
	if p.base, err = b.BaseOf(m); err != nil {
		return nil, err
	}
	status, err := m.Status(b.Context())
	if err != nil {
		return nil, err
	}
	w := &Work{app: b, model: m, plan: p, seen: seen{
		apps: map[string]standing{}, annotations: map[string]map[string]string{}, relations: status.Relations,
		saas: status.SAAS, offers: status.Offers,
	}}
	for _, app := range p.Apps {
		if err := w.look(app); err != nil {
			return nil, err
		}
	}
	for _, machine := range status.Machines {
		w.seen.annotations[machine.ID] = machine.Annotations
	}
	if w.seen.machines, err = p.machines(status); err != nil {
		return nil, err
	}
	if err := b.settleIsolation(p, w.seen.apps); err != nil {
		return nil, err
	}
	if err := b.packAll(p, w.seen.apps); err != nil {
		return nil, err
	}
	for _, app := range p.Apps {
		if err := w.compareResources(app); err != nil {
			return nil, errors.Annotatef(err, "cannot deploy application %q", app.Application.Name)
		}
	}
	w.Changes = p.changes(w.seen)
	return w, nil
}

// look notes an application that is there, or checks that it can be deployed.
func (w *Work) look(app PlannedApp) error {
	name, ctx := app.Application.Name, w.app.Context()
	doc, err := w.model.Application(ctx, name)
	if errors.Is(err, errors.NotFound) {
		return w.model.CheckDeploy(ctx, w.plan.args(app), app.Packed.Charm.Charm)
	}
	if err != nil {
		return err
	}
	old, err := w.model.Charm(ctx, doc.Charm)
	if err != nil {
		return err
	}
	if old.Charm.Name != app.Packed.Name {
		return errors.NewAlreadyExists(nil, fmt.Sprintf("application %q is there with another charm, %q", name, old.Charm.Name))
	}
	if doc.Life != model.Alive {
		return deploy.StillThere(name)
	}
	if err := w.model.CheckCharm(ctx, name, app.Packed.Charm.Charm); err != nil {
		return err
	}
	there := standing{ApplicationDoc: doc, sum: old.SHA256, revision: old.Revision}
	there.config, err = w.model.Config(ctx, name)
	w.seen.apps[name] = there
	return err
}

// compareResources notes which resources of an application that is there aren't as the
// bundle says.
func (w *Work) compareResources(app PlannedApp) error {
	there, ok := w.seen.apps[app.Application.Name]
	if !ok {
		return nil
	}
	charm := app.Packed.Charm.Charm
	var err error
	if there.ofHub, err = w.newer(app, there.Resources); err != nil {
		return err
	}
	has := maps.Clone(there.Resources)
	for _, r := range there.ofHub {
		has = with(has, r.Name, state.Resource{})
		there.resources = append(there.resources, r.Name)
	}
	values, err := w.app.WithUpstream(charm, app.given(charm), has)
	if err != nil {
		return err
	}
	images := maps.Clone(values)
	maps.DeleteFunc(images, func(name, _ string) bool { return charm.Resources[name].Type != model.OCIImage })
	resolved, err := w.app.StoreResources(w.model, charm, images)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		has, given := there.Resources[name]
		same := false
		if image := resolved[name].Image; image != nil && given && has.Image != nil {
			had, err := w.model.Image(w.app.Context(), app.Application.Name, name)
			same = err == nil && had == *image // what can't be opened any more is another one
		} else if image == nil && given {
			sum, err := sumOf(values[name])
			if err != nil {
				return errors.Annotatef(err, "cannot read resource %q", name)
			}
			same = sum == has.SHA256
		}
		if !same {
			there.resources = append(there.resources, name)
		}
	}
	w.seen.apps[app.Application.Name] = there
	return nil
}

// sumOf is the hash of a file's content.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// packAll packs the plan's charms.
func (b *Applier) packAll(p *Plan, there map[string]standing) error {
	away, err := b.Away(p.Asked)
	if err != nil {
		return err
	}
	for i, app := range p.Apps {
		isolation := app.settled.Isolation
		doc, ok := there[app.Application.Name]
		if ok {
			isolation = doc.Isolation
		} else if err := deploy.CheckUsers(b.OneUser, isolation, app.Packed.Charm.Charm); err != nil && !away {
			return errors.Annotatef(err, "cannot deploy application %q", app.Application.Name)
		}
		packed, err := b.Pack(app.Packed.Charm, isolation)
		if err != nil {
			return errors.Annotatef(err, "cannot deploy application %q", app.Application.Name)
		}
		packed.Release = app.Release
		if app.stored != nil {
			packed.From(app.stored.CharmDoc)
		}
		p.Apps[i].Packed = packed
	}
	return nil
}

// Do makes the changes, one after the other, and stops at the first that fails. tell is
// told of each before; nil: nobody is.
func (w *Work) Do(tell func(Change)) error {
	for _, c := range w.Changes {
		if tell != nil {
			tell(c)
		}
		if err := c.do(w); err != nil {
			return err
		}
	}
	return nil
}

// Apply makes the model what the bundle asks for. What is there already is
// brought up to date; nothing is removed.
func (b *Applier) Apply(m *state.Model, p *Plan) error {
	w, err := b.Prepare(m, p)
	if err != nil {
		return err
	}
	return w.Do(nil)
}
