package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/bundle"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// isBundle says whether a path names a bundle: a YAML file, or a directory
// with a bundle.yaml.
func isBundle(path string) bool {
	if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "bundle.yaml"))
	return err == nil
}

// asBundle says why a directory is taken for a bundle, with what is to follow;
// nothing of a file, which says so by its name.
func asBundle(path, then string) string {
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		return ""
	}
	return path + " is taken for a bundle, as it has a bundle.yaml" + then
}

// plan is a bundle of which everything was read and checked, so that what is
// wrong with it is said before anything is changed. Its charms are packed when it is
// applied: it is known then how their units are isolated.
type plan struct {
	isolation model.Isolation
	asked     isolateFlags // for charms with containers, see isolationOf
	dir       string       // where what units change is tried to be kept; empty: the data directory
	base      model.Base   // the model's
	*bundle.Bundle
	// apps are in the order in which they can be deployed, places where the units
	// go of those for which the bundle says so.
	apps   []plannedApp
	places map[string][]bundle.Place
}

type plannedApp struct {
	bundle.Application
	*packed
	values   map[string]any
	settings appSettings
	units    int
}

// given are the values for resources of the charm that the application is to have:
// files, and images by path or by reference.
func (app plannedApp) given(charm model.Charm) map[string]string {
	values := maps.Clone(app.Resources)
	if values == nil {
		values = map[string]string{}
	}
	for name, reference := range app.Images {
		if charm.Resources[name].Type == model.OCIImage {
			values[name] = reference
		}
	}
	return values
}

func (p *plan) drop() {
	for _, app := range p.apps {
		app.packed.drop()
	}
}

// planBundle reads the bundle and its charms. The caller drops the plan.
func (a *app) planBundle(path string) (_ *plan, err error) {
	b, err := bundle.Read(path)
	if err != nil {
		return nil, err
	}
	p := &plan{Bundle: b}
	defer func() {
		if err != nil {
			p.drop()
		}
	}()
	for _, app := range b.Applications {
		planned, err := a.planApp(app)
		if err != nil {
			return nil, errors.Annotatef(err, "%s: application %q", filepath.Base(b.Path), app.Name)
		}
		p.apps = append(p.apps, planned)
	}
	if err := p.place(); err != nil {
		return nil, err
	}
	for _, r := range b.Relations {
		if _, err := model.MatchEndpoints(p.side(r[0]), p.side(r[1])); err != nil {
			return nil, errors.Annotatef(noRelation(err, r[0], r[1]), "%s: relation %s %s", filepath.Base(b.Path), r[0], r[1])
		}
	}
	if len(b.Ignored) > 0 {
		a.note("noted, and not followed on this machine: %s", strings.Join(b.Ignored, ", "))
	}
	return p, nil
}

func (a *app) planApp(app bundle.Application) (plannedApp, error) {
	planned := plannedApp{Application: app, units: app.Units}
	charm, err := a.readDeployable(app.Charm)
	if err != nil {
		return planned, err
	}
	if planned.settings, err = takeSettings(app.Set); err != nil {
		return planned, err
	}
	if planned.values, err = charm.ParseConfig(app.Set); err != nil {
		return planned, err
	}
	if err := checkResources(charm.Charm, planned.given(charm.Charm)); err != nil {
		return planned, err
	}
	switch {
	case charm.Subordinate && app.Units > 0:
		return planned, errors.NewNotValid(nil, "a subordinate has no units of its own: leave num_units out")
	case charm.Subordinate && app.Placed():
		return planned, errors.NewNotValid(nil, "a subordinate is where its principals are: leave \"to\" out")
	case charm.Sidecar() && app.Placed():
		return planned, errors.NewNotValid(nil, "units of a container charm have no machines: leave \"to\" out")
	case charm.Subordinate:
		planned.units = 0
	case app.Units < 0:
		planned.units = 1
	}
	planned.packed = &packed{Charm: charm}
	return planned, nil
}

// side is one end of a relation of the bundle, which is known to name one of
// its applications.
func (p *plan) side(end string) model.Side {
	name, endpoint, _ := strings.Cut(end, ":")
	s := model.Side{Application: name, Endpoint: endpoint}
	for _, app := range p.apps {
		if app.Application.Name == name {
			s.Charm = app.packed.Charm.Charm
		}
	}
	return s
}

// apply makes the model what the bundle asks for. What is there already is
// brought up to date; nothing is removed.
func (a *app) apply(m *state.Model, p *plan) error {
	there := map[string]state.ApplicationDoc{}
	var err error
	if p.base, err = a.baseOf(m); err != nil {
		return err
	}
	for _, app := range p.apps {
		name := app.Application.Name
		doc, err := m.Application(a.ctx, name)
		if errors.Is(err, errors.NotFound) {
			if err := m.CheckDeploy(a.ctx, p.args(app), app.packed.Charm.Charm); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		old, err := m.Charm(a.ctx, doc.Charm)
		if err != nil {
			return err
		}
		if old.Charm.Name != app.packed.Name {
			return errors.NewAlreadyExists(nil, fmt.Sprintf("application %q is there with another charm, %q", name, old.Charm.Name))
		}
		if doc.Life != model.Alive {
			return stillThere(name)
		}
		if err := m.CheckCharm(a.ctx, name, app.packed.Charm.Charm); err != nil {
			return err
		}
		there[name] = doc
	}
	if err := a.checkIsolationFor(p, there); err != nil {
		return err
	}
	ps, err := a.placesIn(m, p)
	if err != nil {
		return err
	}
	if err := a.packAll(p, there); err != nil {
		return err
	}
	for _, app := range p.apps {
		doc, ok := there[app.Application.Name]
		var err error
		if ok {
			err = a.bringUpToDate(m, doc, app, ps)
		} else {
			err = a.deployPlanned(m, app, p.args(app), ps)
		}
		if err != nil {
			return errors.Annotatef(err, "cannot deploy application %q", app.Application.Name)
		}
	}
	for _, r := range p.Relations {
		if _, err := m.AddRelation(a.ctx, r[0], r[1]); err != nil && !errors.Is(err, errors.AlreadyExists) {
			return err
		}
	}
	return nil
}

// packAll packs the plan's charms, before anything is changed: what can't be built
// fails here.
func (a *app) packAll(p *plan, there map[string]state.ApplicationDoc) error {
	for i, app := range p.apps {
		isolation := p.isolationOf(app)
		doc, ok := there[app.Application.Name]
		if ok {
			isolation = doc.Isolation
		} else if err := checkUsers(a.oneUser, isolation, app.packed.Charm.Charm); err != nil {
			return errors.Annotatef(err, "cannot deploy application %q", app.Application.Name)
		}
		packed, err := a.pack(app.packed.Charm, isolation)
		if err != nil {
			return errors.Annotatef(err, "cannot deploy application %q", app.Application.Name)
		}
		p.apps[i].packed = packed
	}
	return nil
}

func (a *app) deployPlanned(m *state.Model, app plannedApp, todo state.DeployArgs, ps *places) error {
	var err error
	if todo.To, err = ps.to(todo.Application, 0); err != nil {
		return err
	}
	values, err := a.withUpstream(app.packed.Charm.Charm, app.given(app.packed.Charm.Charm), nil)
	if err != nil {
		return err
	}
	if todo.Resources, err = a.storeResources(m, app.packed.Charm.Charm, values); err != nil {
		return err
	}
	if todo.Charm, err = app.store(a.ctx, m); err != nil {
		return err
	}
	a.note("Deploying %q from local charm %q, revision %s", todo.Application, app.packed.Name, revision(todo.Charm))
	a.noteLacks(app.packed.Charm, asDeployed(todo))
	err = a.placed(m, onMachines(app.packed.Charm.Charm, todo), func() error { return m.Deploy(a.ctx, todo) })
	if err != nil || app.Exposed == nil || !*app.Exposed {
		return err
	}
	return m.SetExposed(a.ctx, todo.Application, true)
}

// args are those of Deploy but for the charm's URL.
func (p *plan) args(app plannedApp) state.DeployArgs {
	isolation, base := p.onBase(app)
	return app.settings.of(state.DeployArgs{
		Application: app.Application.Name, Config: app.values, Units: app.units,
		Trust: app.Trust != nil && *app.Trust, Constraints: app.Constraints, Isolation: isolation, Base: base,
	})
}

// bringUpToDate gives an application that is there the bundle's charm, options,
// trust and exposure and, where it has fewer, units. What the bundle doesn't say
// stays as somebody has set it since.
func (a *app) bringUpToDate(m *state.Model, doc state.ApplicationDoc, app plannedApp, ps *places) error {
	if err := a.refreshPlanned(m, doc, app); err != nil {
		return err
	}
	if err := a.setPlanned(m, doc, app); err != nil {
		return err
	}
	missing := app.units - doc.Units
	if missing <= 0 {
		return nil
	}
	to, err := ps.to(doc.Name, doc.Units)
	if err != nil {
		return err
	}
	onMachines := missing - len(to)
	if doc.Sidecar {
		onMachines = 0
	}
	return a.placed(m, onMachines, func() error {
		_, err := m.AddUnits(a.ctx, doc.Name, missing, to...)
		return err
	})
}

// refreshPlanned gives an application the bundle's charm and resources, where they
// are others than it has.
func (a *app) refreshPlanned(m *state.Model, doc state.ApplicationDoc, app plannedApp) error {
	charm := app.packed.Charm
	old, err := m.Charm(a.ctx, doc.Charm)
	if err != nil {
		return err
	}
	values, err := a.withUpstream(charm.Charm, app.given(charm.Charm), doc.Resources)
	if err != nil {
		return err
	}
	given, err := a.storeResources(m, charm.Charm, values)
	if err != nil {
		return err
	}
	if old.SHA256 == app.sum {
		if len(given) == 0 {
			return nil
		}
		return m.SetResources(a.ctx, doc.Name, given)
	}
	url, err := app.store(a.ctx, m)
	if err != nil {
		return err
	}
	a.note("Refreshing %q to revision %s", doc.Name, revision(url))
	a.noteLacks(charm, asRefreshed(doc, given, app.Trust))
	if err := m.SetCharmAndResources(a.ctx, doc.Name, url, false, given); err != nil {
		return err
	}
	return a.whoWaits(m, doc.Name, false)
}

// setPlanned gives an application the options, trust and exposure that the bundle
// says.
func (a *app) setPlanned(m *state.Model, doc state.ApplicationDoc, app plannedApp) error {
	if len(app.Set) > 0 {
		if err := m.SetConfig(a.ctx, doc.Name, app.Set, nil); err != nil {
			return err
		}
	}
	if app.Trust != nil && doc.Trust != *app.Trust {
		if err := m.SetTrust(a.ctx, doc.Name, *app.Trust); err != nil {
			return err
		}
	}
	if err := a.applySettings(m, doc.Name, app.settings); err != nil {
		return err
	}
	if app.Exposed != nil && doc.Exposed != *app.Exposed {
		return m.SetExposed(a.ctx, doc.Name, *app.Exposed)
	}
	return nil
}

// deployBundle is deploy with a bundle.
func (a *app) deployBundle(path, name string, f deployFlags) error {
	if name != "" || f.units != -1 || len(f.config) > 0 || f.trust || f.constraints+f.hookTimeout+f.lockGroup != "" || len(f.resources) > 0 {
		return usagef("%s", asBundle(path, ": ")+"a bundle names its applications, and says their units and options itself")
	}
	if why := asBundle(path, ""); why != "" {
		a.note("%s", why)
	}
	p, err := a.planBundle(path)
	if err != nil {
		return err
	}
	defer p.drop()
	if p.isolation, err = f.isolate.isolation(); err != nil {
		return err
	}
	p.asked = f.isolate
	if err := a.checkIsolation(f.isolate, p.isolation, false); err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	if err := a.apply(m, p); err != nil {
		return err
	}
	return a.added()
}
