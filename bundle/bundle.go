// Package bundle reads bundles, YAML files that name applications, each with its
// charm, options and number of units, and how they are related; and it makes a model
// what a bundle asks for, makes a bundle of a model, and compares the two.
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
// Its way is read (Source), merge (overlays, document by document, as YAML), parse
// (Bundle), plan (Plan, with charms), look at the model (Work, with Changes), do. Export
// and Diff are made of a Picture of the model. All but reading, looking and doing is pure.
//
// Charms are paths, relative to the file that names them, or names of what a hub has.
// Units can be placed: on machines that the bundle has, with each other, or alone. What
// else a bundle may say of a cloud is recorded or noted as not followed; what is unknown
// is an error that names the line.
package bundle

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// MaxUnits is how many units an application can be given at once; more are
// taken for a slip of the finger.
const MaxUnits = 1000

// Bundle is what a bundle file asks for.
type Bundle struct {
	Path string
	// Base is the one of applications that don't say theirs; zero: none.
	Base model.Base
	// Applications are in the order of the file.
	Applications []Application
	// SAAS are what is consumed of other models, in the order of the file.
	SAAS []SAAS
	// Relations are pairs of "application" or "application:endpoint".
	Relations [][2]string
	// Machines are those that units are placed on, in the order of the file.
	Machines []Machine
	// Ignored names what the bundle asks for that is not followed here.
	Ignored []string

	file string // for errors
}

// SAAS is an offer of a model under the name that this one has for it.
type SAAS struct {
	Name  string
	offer model.OfferURL
}

// URL is that of the offer, with its owner, and its controller where that is known.
func (s SAAS) URL() string { return s.offer.String() }

// Machine is a machine that units are placed on.
type Machine struct {
	ID          string // its key in the bundle
	Constraints string
	Base        model.Base // zero: not said
	Annotations map[string]string
}

// Offer is what an application offers to other models, with who may do what.
type Offer struct {
	Name      string
	Endpoints []string
	ACL       map[string]string
}

// Application is one application of a bundle.
type Application struct {
	Name string
	// Charm is what it is made of; exactly one of the three is set.
	Charm CharmRef
	Units int               // -1: not said
	Set   map[string]string // options as text
	// Trust and Exposed are nil where the bundle doesn't say: then they are
	// false for a new application, and stay as they are for one that is there.
	Trust, Exposed *bool
	// ExposedTo are the endpoints by which it is exposed alone, with to whom; nil: not
	// said.
	ExposedTo map[string]state.ExposedTo
	// Constraints are the text of model.Constraints.
	Constraints string
	// Base is its own; zero: not said.
	Base        model.Base
	series      model.Base // that of its series
	Annotations map[string]string
	Storage     map[string]model.StorageDirective
	Offers      []Offer
	// Resources are the absolute paths of files, by the resource's name.
	Resources map[string]string
	// Images are words that aren't paths: references to images, where that is what
	// the charm wants for the resource.
	Images map[string]string
	// Revisions are those of resources that a store of charms has, by name.
	Revisions map[string]int

	to []placement
}

// CharmRef says where a charm is found.
type CharmRef struct {
	Path string // absolute, of a directory or an archive
	// URL is that of a charm of this store's models, "local:ledger-2".
	URL string
	// Name is that of a charm in a store of charms, with its channel and, unless it is
	// the newest one of that, its revision; else they are empty and -1.
	Name     string
	Channel  string
	Revision int
}

// String is the charm as a bundle has it.
func (c CharmRef) String() string {
	switch {
	case c.URL != "":
		return c.URL
	case c.Name != "":
		return c.Name
	}
	return c.Path
}

// Parse reads the content of a bundle file, lays its further documents over the first
// one, and then the overlays, in their order. path is for error texts, and its
// directory is what charms' paths start from.
func Parse(path string, content []byte, overlays ...Source) (*Bundle, error) {
	return parse(Source{Path: path, Content: content}, overlays...)
}

func parse(base Source, overlays ...Source) (*Bundle, error) {
	p := &parser{base: base.origin(), from: map[*yaml.Node]*origin{}, b: &Bundle{Path: base.Path, file: filepath.Base(base.Path)}}
	docs, err := p.documents(base)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if len(docs) == 0 {
		return nil, errors.NewNotValid(nil, p.base.file+": malformed bundle: bundle is empty not valid")
	}
	for _, o := range overlays {
		more, err := p.documents(o)
		if err != nil {
			return nil, errors.Trace(err)
		}
		docs = append(docs, more...)
	}
	if err := p.checkBase(docs[0]); err != nil {
		return nil, errors.Trace(err)
	}
	whole := docs[0]
	for _, over := range docs[1:] {
		if whole, err = p.overlay(whole, over); err != nil {
			return nil, errors.Trace(err)
		}
	}
	if err := p.bundle(whole); err != nil {
		return nil, errors.Trace(err)
	}
	return p.b, nil
}

type parser struct {
	base      *origin                // of the bundle itself
	from      map[*yaml.Node]*origin // of each node
	b         *Bundle
	machineAt []*yaml.Node // of b.Machines
}

// errorf is an error of one line at a node, whatever its key is.
func (p *parser) errorf(n *yaml.Node, key, format string, args ...any) error {
	if strings.ContainsFunc(key, unicode.IsControl) {
		key = strconv.Quote(key)
	}
	return p.wrong(n, "%s: %s", key, fmt.Sprintf(format, args...))
}

// wrong is an error of one line at a node.
func (p *parser) wrong(n *yaml.Node, format string, args ...any) error {
	return errors.NewNotValid(nil, fmt.Sprintf("%s:%d: %s", p.origin(n).file, n.Line, fmt.Sprintf(format, args...)))
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

// topKeys are those of a bundle.
func topKeys() []string {
	return []string{
		"applications", "services", "saas", "relations", "machines", "series", "default-base", "variables",
		"name", "description", "tags", "docs", "issues", "source", "website", "assumes", "type", "bundle",
	}
}

func (p *parser) bundle(n *yaml.Node) error {
	var series model.Base
	err := p.pairs(n, "bundle", func(key string, v *yaml.Node) (err error) {
		switch key {
		case "applications", "services":
			return p.pairs(v, key, p.application)
		case "saas":
			return p.pairs(v, key, p.saas)
		case "relations":
			return p.relations(v)
		case "machines":
			return p.machines(v)
		case "default-base":
			p.b.Base, err = p.baseOf(key, v)
		case "series":
			series = p.seriesOf(key, v)
		case "variables":
			p.ignore(key)
		default:
			if !slices.Contains(topKeys(), key) {
				return p.errorf(v, key, "not known in a bundle here")
			}
		}
		return errors.Trace(err)
	})
	if err != nil {
		return errors.Trace(err)
	}
	if p.b.Base == (model.Base{}) {
		p.b.Base = series
	}
	if len(p.b.Applications) == 0 {
		return p.errorf(n, "applications", "the bundle has none")
	}
	for _, r := range p.b.Relations {
		for _, end := range r {
			if name, _, _ := strings.Cut(end, ":"); p.b.application(name) == nil && !p.b.Consumes(name) {
				return errors.NewNotValid(nil, fmt.Sprintf("%s: relations: %s: the bundle has no application %q", p.base.file, end, name))
			}
		}
	}
	return p.checkPlaces()
}

// Consumes says whether a name is that of a SAAS of the bundle.
func (b *Bundle) Consumes(name string) bool {
	return slices.ContainsFunc(b.SAAS, func(s SAAS) bool { return s.Name == name })
}

// saas reads what is consumed of another model.
func (p *parser) saas(name string, n *yaml.Node) error {
	s := SAAS{Name: name}
	if !model.ValidApplication(name) {
		return p.errorf(n, name, "invalid SAAS application name %q", name)
	}
	err := p.pairs(n, name, func(key string, v *yaml.Node) error {
		if key != "url" {
			return p.errorf(v, name+"."+key, "not known in a bundle here")
		}
		var err error
		if s.offer, err = offerURL(v.Value); err != nil {
			return p.errorf(v, name+".url", "%v", err)
		}
		return nil
	})
	if err != nil {
		return errors.Trace(err)
	}
	if s.offer.Offer == "" {
		return p.errorf(n, name+".url", "no offer URL specified")
	}
	p.b.SAAS = append(p.b.SAAS, s)
	return nil
}

// baseOf is a base, "ubuntu@24.04"; zero where the value is null.
func (p *parser) baseOf(path string, v *yaml.Node) (model.Base, error) {
	if isNull(v) {
		return model.Base{}, nil
	}
	base, err := model.ParseBase(v.Value)
	if err != nil {
		return base, p.errorf(v, path, "%v", err)
	}
	return base, nil
}

func (p *parser) ignore(what string) { p.b.ignore(what) }

// ignore notes what isn't followed, once.
func (b *Bundle) ignore(what string) {
	if !slices.Contains(b.Ignored, what) {
		b.Ignored = append(b.Ignored, what)
	}
}
