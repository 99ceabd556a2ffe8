// Package bundle reads bundles, YAML files that name applications, each with its
// charm, options and number of units, and how they are related; and it makes a model
// what a bundle asks for.
//
//	applications:
//	  ledger:
//	    charm: ./ledger
//	    num_units: 1
//	    options: {port: 5433}
//	  shop: {charm: ./shop}
//	relations:
//	- [shop:db, ledger:db]
//
// Charms are paths, relative to the bundle's directory. Units can be placed: on
// machines that the bundle has, with each other, or alone. What else a bundle may
// say of a cloud (bases, constraints, spaces, storage pools) is read and reported as not
// followed; what is unknown is an error that names the line.
package bundle

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
)

// MaxUnits is how many units an application can be given at once; more are
// taken for a slip of the finger.
const MaxUnits = 1000

// Bundle is what a bundle file asks for.
type Bundle struct {
	Path string
	// Applications are in the order of the file.
	Applications []Application
	// Relations are pairs of "application" or "application:endpoint".
	Relations [][2]string
	// Machines are the keys of the machines that units are placed on.
	Machines []string
	// Ignored names what the bundle asks for that is not followed here.
	Ignored []string

	file string // for errors
}

// Application is one application of a bundle.
type Application struct {
	Name  string
	Charm string            // absolute path of a charm directory or archive
	Units int               // -1: not said
	Set   map[string]string // options as text
	// Trust and Exposed are nil where the bundle doesn't say: then they are
	// false for a new application, and stay as they are for one that is there.
	Trust, Exposed *bool
	Constraints    string
	// Resources are the absolute paths of files, by the resource's name.
	Resources map[string]string
	// Images are words that aren't paths: references to images, where that is what
	// the charm wants for the resource.
	Images map[string]string

	to []placement
}

// Read reads the bundle at path, a file or a directory with a bundle.yaml.
// Errors are NotFound, and NotValid with file, line and key.
func Read(path string) (*Bundle, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = filepath.Join(path, "bundle.yaml")
	}
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, errors.NewNotFound(nil, fmt.Sprintf("no bundle was found at %q", path))
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot read the bundle")
	}
	bundle, err := Parse(path, b)
	return bundle, errors.Trace(err)
}

// Parse reads the content of a bundle file. path is for error texts, and its
// directory is what charms' paths start from. Several YAML documents, as
// overlays are, are refused.
func Parse(path string, content []byte) (*Bundle, error) {
	p := &parser{file: filepath.Base(path), dir: filepath.Dir(path), b: &Bundle{Path: path, file: filepath.Base(path)}}
	var doc yaml.Node
	if err := yaml.Unmarshal(content, &doc); err != nil {
		return nil, errors.NewNotValid(nil, fmt.Sprintf("%s: %s", p.file, strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " ")))
	}
	if len(doc.Content) == 0 {
		return nil, errors.NewNotValid(nil, p.file+": the bundle is empty")
	}
	if err := p.bundle(doc.Content[0]); err != nil {
		return nil, errors.Trace(err)
	}
	return p.b, nil
}

type parser struct {
	file, dir string
	b         *Bundle
	machineAt []*yaml.Node // of b.Machines
}

// errorf is an error of one line at a node, whatever its key is.
func (p *parser) errorf(n *yaml.Node, key, format string, args ...any) error {
	if strings.ContainsFunc(key, unicode.IsControl) {
		key = strconv.Quote(key)
	}
	return errors.NewNotValid(nil, fmt.Sprintf("%s:%d: %s: %s", p.file, n.Line, key, fmt.Sprintf(format, args...)))
}

// pairs calls fn with each key and value of a map, in the order of the file.
func (p *parser) pairs(n *yaml.Node, path string, fn func(key string, v *yaml.Node) error) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return p.errorf(n, path, "expected a map")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return p.errorf(key, path, "expected keys that are plain words")
		}
		if seen[key.Value] {
			return p.errorf(key, key.Value, "given twice")
		}
		seen[key.Value] = true
		if v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		if err := fn(key.Value, v); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

func (p *parser) bundle(n *yaml.Node) error {
	err := p.pairs(n, "bundle", func(key string, v *yaml.Node) error {
		switch key {
		case "applications", "services":
			return p.pairs(v, key, p.application)
		case "relations":
			return p.relations(v)
		case "name", "description", "tags", "docs", "issues", "source", "website", "assumes", "type", "bundle":
		case "machines":
			return p.machines(v)
		case "series", "default-base", "variables":
			p.ignore(key)
		default:
			return p.errorf(v, key, "not known in a bundle here")
		}
		return nil
	})
	if err != nil {
		return errors.Trace(err)
	}
	if len(p.b.Applications) == 0 {
		return p.errorf(n, "applications", "the bundle has none")
	}
	for _, r := range p.b.Relations {
		for _, end := range r {
			name, _, _ := strings.Cut(end, ":")
			if p.b.application(name) == nil {
				return errors.NewNotValid(nil, fmt.Sprintf("%s: relations: %s: the bundle has no application %q", p.file, end, name))
			}
		}
	}
	return p.checkPlaces()
}

func (p *parser) ignore(what string) {
	if !slices.Contains(p.b.Ignored, what) {
		p.b.Ignored = append(p.b.Ignored, what)
	}
}

func (p *parser) application(name string, n *yaml.Node) error {
	app := Application{Name: name, Units: -1, Set: map[string]string{}}
	if !model.ValidApplication(name) {
		return p.errorf(n, name, "invalid application name %q", name)
	}
	err := p.pairs(n, name, func(key string, v *yaml.Node) error {
		return errors.Trace(p.applicationKey(&app, key, v))
	})
	if err != nil {
		return errors.Trace(err)
	}
	if app.Charm == "" {
		return p.errorf(n, name+".charm", "no charm specified")
	}
	p.b.Applications = append(p.b.Applications, app)
	return nil
}

func (p *parser) applicationKey(app *Application, key string, v *yaml.Node) (err error) {
	path := app.Name + "." + key
	switch key {
	case "charm":
		app.Charm, err = p.charm(path, v)
	case "num_units", "num-units", "scale":
		return p.units(app, path, v)
	case "options":
		return p.pairs(v, path, func(option string, v *yaml.Node) error {
			text, err := p.option(path+"."+option, v)
			if err == nil && v.Tag != "!!null" {
				app.Set[option] = text
			}
			return errors.Trace(err)
		})
	case "trust":
		app.Trust, err = p.boolean(path, v)
	case "expose":
		app.Exposed, err = p.boolean(path, v)
	case "constraints":
		app.Constraints = v.Value
		p.ignore("constraints")
	case "resources":
		return p.pairs(v, path, func(name string, v *yaml.Node) error { return p.resource(app, name, v) })
	case "annotations", "revision", "channel":
	case "to":
		return p.to(app, path, v)
	case "base", "series", "bindings", "storage", "devices", "exposed-endpoints", "placement", "plan", "offers":
		p.ignore(key)
	default:
		return p.errorf(v, path, "not known in a bundle here")
	}
	return errors.Trace(err)
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
// something in a shop of charms.
func (p *parser) resource(app *Application, name string, v *yaml.Node) error {
	if v.Tag == "!!int" {
		p.ignore("resources by revision")
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
	app.Resources[name] = v.Value
	if !filepath.IsAbs(v.Value) {
		app.Resources[name] = filepath.Join(p.dir, v.Value)
	}
	return nil
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

// charm is the path of a charm; names of charms in a shop are refused.
func (p *parser) charm(path string, v *yaml.Node) (string, error) {
	charm := strings.TrimPrefix(v.Value, "local:")
	if !strings.HasPrefix(charm, ".") && !filepath.IsAbs(charm) {
		return "", p.errorf(v, path, "%q: only charms by path are known here, as ./%s", v.Value, charm)
	}
	if !filepath.IsAbs(charm) {
		charm = filepath.Join(p.dir, charm)
	}
	abs, err := filepath.Abs(charm)
	return abs, errors.Annotatef(err, "cannot find charm %q", v.Value)
}

// option is an option's value as text; include-file:// and include-base64://
// stand for the content of a file, relative to the bundle.
func (p *parser) option(path string, v *yaml.Node) (string, error) {
	if v.Kind != yaml.ScalarNode {
		return "", p.errorf(v, path, "expected text, a number or a boolean")
	}
	for _, form := range []string{"include-file://", "include-base64://"} {
		name, ok := strings.CutPrefix(v.Value, form)
		if !ok {
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.dir, name)
		}
		b, err := os.ReadFile(name)
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

// relations reads pairs; the second of a pair may be a list, for several
// relations of the first.
func (p *parser) relations(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return p.errorf(n, "relations", "expected a list")
	}
	for _, pair := range n.Content {
		if pair.Kind != yaml.SequenceNode || len(pair.Content) != 2 || pair.Content[0].Kind != yaml.ScalarNode {
			return p.errorf(pair, "relations", `expected pairs, as ["shop:db", "ledger:db"]`)
		}
		seconds := []*yaml.Node{pair.Content[1]}
		if pair.Content[1].Kind == yaml.SequenceNode {
			seconds = pair.Content[1].Content
		}
		for _, second := range seconds {
			if second.Kind != yaml.ScalarNode {
				return p.errorf(second, "relations", `expected pairs, as ["shop:db", "ledger:db"]`)
			}
			p.b.Relations = append(p.b.Relations, [2]string{pair.Content[0].Value, second.Value})
		}
	}
	return nil
}
