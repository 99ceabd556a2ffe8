package bundle

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
)

// revisionsOfResources are noted of a charm that no hub has.
const revisionsOfResources = "resources by revision"

func (p *parser) application(name string, n *yaml.Node) error {
	app := Application{Name: name, Charm: CharmRef{Revision: -1}, Units: -1, Set: map[string]string{}}
	if !model.ValidApplication(name) {
		return p.errorf(n, name, "invalid application name %q", name)
	}
	err := p.pairs(n, name, func(key string, v *yaml.Node) error {
		return errors.Trace(p.applicationKey(&app, key, v))
	})
	if err != nil {
		return errors.Trace(err)
	}
	switch c := app.Charm; {
	case c.Path+c.URL+c.Name == "":
		return p.errorf(n, name+".charm", "no charm specified")
	case c.Name != "" && c.Revision >= 0 && c.Channel == "":
		return p.wrong(n, "application %q with a revision requires a channel for future upgrades, please use channel", name)
	}
	if app.Charm.Name == "" && len(app.Revisions) > 0 {
		p.ignore(revisionsOfResources)
	}
	if app.Base == (model.Base{}) {
		app.Base = app.series
	}
	p.b.Applications = append(p.b.Applications, app)
	return nil
}

func (p *parser) applicationKey(app *Application, key string, v *yaml.Node) (err error) {
	path := app.Name + "." + key
	switch key {
	case "charm":
		return p.charm(app, path, v)
	case "channel":
		return p.channel(app, path, v)
	case "revision":
		return p.revision(app, path, v)
	case "num_units", "num-units", "scale":
		return p.units(app, path, v)
	case "options":
		return p.texts(path, v, app.Set)
	case "annotations":
		app.Annotations = map[string]string{}
		return p.texts(path, v, app.Annotations)
	case "trust":
		app.Trust, err = p.boolean(path, v)
	case "expose":
		app.Exposed, err = p.boolean(path, v)
	case exposedEndpoints:
		return p.exposedTo(app, path, v)
	case offersKey:
		return p.offers(app, path, v)
	case "constraints":
		app.Constraints, err = p.constraints(path, v)
		p.ignore("constraints")
	case "base":
		app.Base, err = p.baseOf(path, v)
	case "series":
		app.series = p.seriesOf(key, v)
	case "storage":
		return p.storage(app, path, v)
	case "resources":
		return p.pairs(v, path, func(name string, v *yaml.Node) error { return p.resource(app, path+"."+name, name, v) })
	case "to":
		return p.to(app, path, v)
	case "bindings", "devices", "placement", "plan":
		p.ignore(key)
	default:
		return p.errorf(v, path, "not known in a bundle here")
	}
	return errors.Trace(err)
}

// texts adds texts by their keys to a map; what is null isn't said.
func (p *parser) texts(path string, v *yaml.Node, to map[string]string) error {
	return p.pairs(v, path, func(key string, v *yaml.Node) error {
		text, err := p.text(path+"."+key, v)
		if err == nil && !isNull(v) {
			to[key] = text
		}
		return errors.Trace(err)
	})
}

// channel takes the one of a hub that is followed.
func (p *parser) channel(app *Application, path string, v *yaml.Node) error {
	if isNull(v) || v.Value == "" {
		return nil
	}
	if _, err := charmhub.ParseChannel(v.Value); err != nil {
		return p.errorf(v, path, "%v", err)
	}
	app.Charm.Channel = v.Value
	return nil
}

// revision takes that of a charm in a store of charms.
func (p *parser) revision(app *Application, path string, v *yaml.Node) error {
	n, err := strconv.Atoi(v.Value)
	if err != nil || n < 0 {
		return p.errorf(v, path, "expected a revision, got %q", v.Value)
	}
	app.Charm.Revision = n
	return nil
}

// units takes how many there are to be, under any of its names: of a container charm it
// is mostly the scale.
func (p *parser) units(app *Application, path string, v *yaml.Node) error {
	n, err := strconv.Atoi(v.Value)
	switch {
	case err != nil || n < 0:
		return p.errorf(v, path, "expected a number of units, got %q", v.Value)
	case n > MaxUnits:
		return p.errorf(v, path, "at most %d units are added at once, got %s", MaxUnits, v.Value)
	case app.Units != -1 && app.Units != n:
		return p.errorf(v, path, "num_units and scale say different numbers, %d and %d: leave one out", app.Units, n)
	}
	app.Units = n
	return nil
}

// resource takes the path of a file, or what may name an image. A number names
// something in a store of charms.
func (p *parser) resource(app *Application, path, name string, v *yaml.Node) error {
	if v.Tag == "!!int" {
		n, err := strconv.Atoi(v.Value)
		if err != nil || n < 0 {
			return p.errorf(v, path, "expected a revision, got %q", v.Value)
		}
		if app.Revisions == nil {
			app.Revisions = map[string]int{}
		}
		app.Revisions[name] = n
		return nil
	}
	if !filepath.IsAbs(v.Value) && !strings.HasPrefix(v.Value, ".") {
		if app.Images == nil {
			app.Images = map[string]string{}
		}
		app.Images[name] = v.Value
		return nil
	}
	if app.Resources == nil {
		app.Resources = map[string]string{}
	}
	var err error
	app.Resources[name], err = p.path(v, path, v.Value)
	return err
}

// boolean is nil where the value is null, which says nothing.
func (p *parser) boolean(path string, v *yaml.Node) (*bool, error) {
	if v.Kind == yaml.ScalarNode && v.Tag == "!!null" {
		return nil, nil
	}
	b, err := strconv.ParseBool(v.Value)
	if err != nil {
		return nil, p.errorf(v, path, "expected true or false, got %q", v.Value)
	}
	return &b, nil
}

var (
	// storedCharm is the URL of a charm that a model of this store has.
	storedCharm = pattern.New(`^local:[a-z][a-z0-9-]*-[0-9]+$`)
	numbered    = pattern.New(`^[a-z][a-z0-9-]*-[0-9]+$`)
)

// charm takes the path of a charm, the URL of one that this store has, or the name of
// one in a store of charms. Source: docs/spec/juju-clients.md §13.1.
func (p *parser) charm(app *Application, path string, v *yaml.Node) error {
	text := strings.TrimPrefix(v.Value, "local:")
	name := strings.TrimPrefix(v.Value, "ch:")
	switch {
	case strings.HasPrefix(text, ".") || filepath.IsAbs(text):
		found, err := p.path(v, path, text)
		if err != nil {
			return err
		}
		app.Charm.Path, err = filepath.Abs(found)
		return errors.Annotatef(err, "cannot find charm %q", v.Value)
	case storedCharm.MatchString(v.Value):
		app.Charm.URL = v.Value
	case model.ValidApplication(name):
		app.Charm.Name = name
	case numbered.MatchString(name):
		return p.errorf(v, path, "cannot specify revision in %q, please use revision", "ch:"+name)
	case v.Value == "":
	default:
		return p.errorf(v, path, "%q is neither a path, as ./ledger, nor the name of a charm", v.Value)
	}
	return nil
}

// text is an option's value, or an annotation, as text; include-file:// and
// include-base64:// stand for the content of a file, relative to what says so.
func (p *parser) text(path string, v *yaml.Node) (string, error) {
	if v.Kind != yaml.ScalarNode {
		return "", p.errorf(v, path, "expected text, a number or a boolean")
	}
	for _, form := range []string{"include-file://", "include-base64://"} {
		name, ok := strings.CutPrefix(v.Value, form)
		if !ok {
			continue
		}
		found, err := p.path(v, path, name)
		if err != nil {
			return "", err
		}
		b, err := os.ReadFile(found)
		if err != nil {
			return "", p.errorf(v, path, "%v", err)
		}
		if form == "include-base64://" {
			return base64.StdEncoding.EncodeToString(b), nil
		}
		return string(b), nil
	}
	return v.Value, nil
}
