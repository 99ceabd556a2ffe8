package bundle

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Applier makes models what bundles ask for.
type Applier struct {
	*deploy.Deployer
	// Model opens the model that is to be so; it is asked for if a plan needs it.
	Model func() (*state.Model, error)
}

// Plan is a bundle of which everything was read and checked, so that what is
// wrong with it is said before anything is changed. Its charms are packed when it is
// applied: it is known then how their units are isolated.
type Plan struct {
	Isolation model.Isolation
	Best      bool           // units have systemd if they can; see Isolate
	Asked     deploy.Isolate // for charms with containers, see settleIsolation
	Dir       string         // where what units change is tried to be kept; empty: the data directory
	Map       Mapping        // of the bundle's machines
	base      model.Base     // the model's
	*Bundle
	// Apps are in the order in which they can be deployed, places where the units
	// go of those for which the bundle says so.
	Apps   []PlannedApp
	places map[string][]Place
}

// PlannedApp is an application of a plan, with its charm.
type PlannedApp struct {
	Application
	*deploy.Packed
	values   map[string]any
	settings deploy.Settings
	Wanted   int
	settled  deploy.Settled // how the units are isolated, once it is prepared
	stored   *storedCopy    // of a charm that this store has; nil: it is from elsewhere
}

// given are the values for resources of the charm that the application is to have:
// files, and images by path or by reference.
func (app PlannedApp) given(charm model.Charm) map[string]string {
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

// Drop lets go of the charms' archives.
func (p *Plan) Drop() {
	for _, app := range p.Apps {
		app.Packed.Drop()
		if app.stored != nil {
			_ = os.Remove(app.stored.path)
		}
	}
}

// Untrusted are the applications that the bundle wants to be trusted, by name.
// Source: docs/spec/juju-clients.md §13.1.
func (b *Bundle) Untrusted() []string {
	var names []string
	for _, app := range b.Applications {
		if app.Trust != nil && *app.Trust {
			names = append(names, app.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Plan reads the bundle with its overlays, and its charms. The caller drops the plan.
func (b *Applier) Plan(path string, overlays ...string) (*Plan, error) {
	read, err := Read(path, overlays...)
	if err != nil {
		return nil, err
	}
	return b.PlanOf(read)
}

// PlanOf is Plan for a bundle that was read.
func (b *Applier) PlanOf(read *Bundle) (_ *Plan, err error) {
	p := &Plan{Bundle: read}
	defer func() {
		if err != nil {
			p.Drop()
		}
	}()
	here, err := agent.Controller()
	if err != nil {
		return nil, errors.Trace(err)
	}
	if err := read.on(here.Name); err != nil {
		return nil, err
	}
	if err := b.follow(read); err != nil {
		return nil, err
	}
	for _, app := range read.Applications {
		planned, err := b.planApp(app, read.Base)
		if err != nil {
			return nil, errors.Annotatef(err, "%s: application %q", filepath.Base(read.Path), app.Name)
		}
		p.Apps = append(p.Apps, planned)
		if planned.Release == nil && app.Charm.Name != "" && len(app.Revisions) > 0 {
			read.ignore(revisionsOfResources)
		}
	}
	if err := p.place(); err != nil {
		return nil, err
	}
	for _, r := range read.Relations {
		if p.across(r) {
			continue // what the other side has is known when it is consumed
		}
		if _, err := model.MatchEndpoints(p.side(r[0]), p.side(r[1])); err != nil {
			return nil, errors.Annotatef(deploy.NoRelation(err, r[0], r[1]), "%s: relation %s %s", filepath.Base(read.Path), r[0], r[1])
		}
	}
	if len(read.Ignored) > 0 {
		b.Note("noted, and not followed on this machine: %s", strings.Join(read.Ignored, ", "))
	}
	return p, nil
}

// PlanApp reads one application of a bundle, and its charm.
func (b *Applier) PlanApp(app Application) (PlannedApp, error) {
	return b.planApp(app, model.Base{})
}

// planApp is PlanApp in a bundle that says a base.
func (b *Applier) planApp(app Application, base model.Base) (_ PlannedApp, err error) {
	app.Set = maps.Clone(app.Set) // of which settings are taken out
	planned := PlannedApp{Application: app, Wanted: app.Units}
	charm, err := b.charm(&planned, base)
	if err != nil {
		return planned, err
	}
	defer func() {
		if err != nil && planned.stored != nil {
			_ = os.Remove(planned.stored.path)
		}
	}()
	if planned.settings, err = deploy.TakeSettings(app.Set); err != nil {
		return planned, err
	}
	if planned.values, err = charm.ParseConfig(app.Set); err != nil {
		return planned, err
	}
	if err := deploy.CheckResources(charm.Charm.Charm, planned.given(charm.Charm.Charm)); err != nil {
		return planned, err
	}
	if app.Base != (model.Base{}) {
		if err := charm.CheckBase(app.Base); err != nil {
			return planned, err
		}
	}
	switch {
	case charm.Subordinate && app.Units > 0:
		return planned, errors.NewNotValid(nil, "a subordinate has no units of its own: leave num_units out")
	case charm.Subordinate && app.Placed():
		return planned, errors.NewNotValid(nil, "a subordinate is where its principals are: leave \"to\" out")
	case charm.Sidecar() && app.Placed():
		return planned, errors.NewNotValid(nil, "units of a container charm have no machines: leave \"to\" out")
	case charm.Subordinate:
		planned.Wanted = 0
	case app.Units < 0:
		planned.Wanted = 1
	}
	planned.Packed = &deploy.Packed{Charm: charm.Charm, Release: charm.Release}
	return planned, nil
}

// charm finds and reads the charm of an application, if it can run here.
func (b *Applier) charm(app *PlannedApp, base model.Base) (charm deploy.Charm, err error) {
	ref := app.Application.Charm
	switch {
	case ref.Name != "":
		return b.named(app.Application, base)
	case ref.URL == "":
		charm.Charm, err = b.ReadDeployable(ref.Path)
		return charm, err
	}
	if app.stored, err = b.copyStored(ref.URL); err != nil {
		return charm, err
	}
	if charm.Charm, err = b.ReadDeployable(app.stored.path); err != nil {
		_ = os.Remove(app.stored.path)
	}
	return charm, err
}

// across says whether one end of a relation is a SAAS.
func (p *Plan) across(r [2]string) bool {
	for _, end := range r {
		if name, _, _ := strings.Cut(end, ":"); p.Consumes(name) {
			return true
		}
	}
	return false
}

// side is one end of a relation of the bundle, which is known to name one of
// its applications.
func (p *Plan) side(end string) model.Side {
	name, endpoint, _ := strings.Cut(end, ":")
	s := model.Side{Application: name, Endpoint: endpoint}
	if app := p.app(name); app != nil {
		s.Charm = app.Packed.Charm.Charm
	}
	return s
}

// app is the plan's application of that name; nil: there is none.
func (p *Plan) app(name string) *PlannedApp {
	i := slices.IndexFunc(p.Apps, func(a PlannedApp) bool { return a.Application.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Apps[i]
}

// Compare has what is to be known of the bundle's charms to compare it with a model.
func (p *Plan) Compare(annotations bool) Compared {
	c := Compared{Bundle: p.Bundle, Names: map[string]string{}, Subordinate: map[string]bool{}, Map: p.Map, Annotations: annotations}
	for _, app := range p.Apps {
		c.Names[app.Application.Name] = app.Packed.Name
		c.Subordinate[app.Application.Name] = app.Packed.Subordinate
	}
	return c
}
