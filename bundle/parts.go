package bundle

import (
	"slices"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// seriesOf is the base of a series; zero, and noted as not followed, for one that isn't
// known.
func (p *parser) seriesOf(key string, v *yaml.Node) model.Base {
	base, ok := model.BaseOfSeries(v.Value)
	if !ok {
		p.ignore(key)
	}
	return base
}

// constraints is the text of constraints, in the form that all have.
func (p *parser) constraints(path string, v *yaml.Node) (string, error) {
	c, err := model.ParseConstraints(v.Value)
	if err != nil {
		return "", p.errorf(v, path, "%v", err)
	}
	return c.String(), nil
}

// storage takes what units are given as storage, by the charm's names.
func (p *parser) storage(app *Application, path string, v *yaml.Node) error {
	return p.pairs(v, path, func(name string, v *yaml.Node) error {
		d, err := model.ParseStorageDirective(v.Value)
		if err != nil {
			return p.errorf(v, path+"."+name, "%v", err)
		}
		if app.Storage == nil {
			app.Storage = map[string]model.StorageDirective{}
		}
		app.Storage[name] = d
		return nil
	})
}

// exposedTo takes by which endpoints, and to whom, an application is exposed.
func (p *parser) exposedTo(app *Application, path string, v *yaml.Node) error {
	app.ExposedTo = map[string]state.ExposedTo{}
	return p.pairs(v, path, func(endpoint string, v *yaml.Node) error {
		var to state.ExposedTo
		at := path + "." + endpoint
		err := p.pairs(v, at, func(key string, v *yaml.Node) (err error) {
			switch key {
			case "expose-to-spaces":
				to.Spaces, err = p.words(at+"."+key, v)
			case "expose-to-cidrs":
				to.CIDRs, err = p.words(at+"."+key, v)
			default:
				return p.errorf(v, at+"."+key, "not known in a bundle here")
			}
			return errors.Trace(err)
		})
		app.ExposedTo[endpoint] = to
		return errors.Trace(err)
	})
}

// offers takes what an application offers to other models.
func (p *parser) offers(app *Application, path string, v *yaml.Node) error {
	return p.pairs(v, path, func(name string, v *yaml.Node) error {
		o := Offer{Name: name, ACL: map[string]string{}}
		at := path + "." + name
		err := p.pairs(v, at, func(key string, v *yaml.Node) (err error) {
			switch key {
			case "endpoints":
				o.Endpoints, err = p.words(at+"."+key, v)
			case "acl":
				err = p.texts(at+"."+key, v, o.ACL)
			default:
				return p.errorf(v, at+"."+key, "not known in a bundle here")
			}
			return errors.Trace(err)
		})
		if err != nil {
			return errors.Trace(err)
		}
		if len(o.Endpoints) == 0 {
			return p.errorf(v, at+".endpoints", "no endpoints specified")
		}
		app.Offers = append(app.Offers, o)
		return nil
	})
}

// words is a list of texts, sorted.
func (p *parser) words(path string, n *yaml.Node) ([]string, error) {
	if n = behind(n); isNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, p.errorf(n, path, "expected a list")
	}
	var words []string
	for _, item := range n.Content {
		if item = behind(item); item.Kind != yaml.ScalarNode || strings.TrimSpace(item.Value) == "" {
			return nil, p.errorf(item, path, "expected a list of words")
		}
		words = append(words, item.Value)
	}
	slices.Sort(words)
	return words, nil
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
		pair = behind(pair)
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
