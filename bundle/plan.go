package bundle

import (
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
)

// Is says whether a path names a bundle: a YAML file, or a directory
// with a bundle.yaml.
func Is(path string) bool {
	if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "bundle.yaml"))
	return err == nil
}

// As says why a directory is taken for a bundle, with what is to follow;
// nothing of a file, which says so by its name.
func As(path, then string) string {
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		return ""
	}
	return path + " is taken for a bundle, as it has a bundle.yaml" + then
}

// Applier makes models what bundles ask for.
type Applier struct{ *deploy.Deployer }

// Plan is a bundle of which everything was read and checked, so that what is
// wrong with it is said before anything is changed. Its charms are packed when it is
// applied: it is known then how their units are isolated.
type Plan struct {
	Isolation model.Isolation
	Asked     deploy.Isolate // for charms with containers, see isolationOf
	Dir       string         // where what units change is tried to be kept; empty: the data directory
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
	}
}

// Plan reads the bundle and its charms. The caller drops the plan.
func (b *Applier) Plan(path string) (_ *Plan, err error) {
	read, err := Read(path)
	if err != nil {
		return nil, err
	}
	p := &Plan{Bundle: read}
	defer func() {
		if err != nil {
			p.Drop()
		}
	}()
	for _, app := range read.Applications {
		planned, err := b.PlanApp(app)
		if err != nil {
			return nil, errors.Annotatef(err, "%s: application %q", filepath.Base(read.Path), app.Name)
		}
		p.Apps = append(p.Apps, planned)
	}
	if err := p.place(); err != nil {
		return nil, err
	}
	for _, r := range read.Relations {
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
	planned := PlannedApp{Application: app, Wanted: app.Units}
	charm, err := b.ReadDeployable(app.Charm)
	if err != nil {
		return planned, err
	}
	if planned.settings, err = deploy.TakeSettings(app.Set); err != nil {
		return planned, err
	}
	if planned.values, err = charm.ParseConfig(app.Set); err != nil {
		return planned, err
	}
	if err := deploy.CheckResources(charm.Charm, planned.given(charm.Charm)); err != nil {
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
		planned.Wanted = 0
	case app.Units < 0:
		planned.Wanted = 1
	}
	planned.Packed = &deploy.Packed{Charm: charm}
	return planned, nil
}

// side is one end of a relation of the bundle, which is known to name one of
// its applications.
func (p *Plan) side(end string) model.Side {
	name, endpoint, _ := strings.Cut(end, ":")
	s := model.Side{Application: name, Endpoint: endpoint}
	for _, app := range p.Apps {
		if app.Application.Name == name {
			s.Charm = app.Packed.Charm.Charm
		}
	}
	return s
}
