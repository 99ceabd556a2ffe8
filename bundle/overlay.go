package bundle

import (
	"slices"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"
)

// overlaid are the keys of an application whose values are merged key by key; any other
// is replaced. Source: docs/spec/juju-clients.md §13.2.
func overlaid() []string {
	return []string{"options", "bindings", "resources", "storage", "devices", "annotations", "offers", exposedEndpoints}
}

// The keys of an application that only overlays may have.
const (
	exposedEndpoints = "exposed-endpoints"
	offersKey        = "offers"
)

// unitsKeys all say how many units there are.
func unitsKeys() []string { return []string{"num_units", "num-units", "scale"} }

// entry is a key of a map with its value, no alias.
type entry struct{ key, value *yaml.Node }

// entries are those of a map, in the order of the file.
func (p *parser) entries(n *yaml.Node, path string) ([]entry, error) {
	var all []entry
	var keys []*yaml.Node
	if n = behind(n); n.Kind == yaml.MappingNode {
		keys = n.Content
	}
	err := p.pairs(n, path, func(_ string, v *yaml.Node) error {
		all = append(all, entry{keys[2*len(all)], v})
		return nil
	})
	return all, errors.Trace(err)
}

// find is the place of a key; negative: it isn't there.
func find(all []entry, key string) int {
	return slices.IndexFunc(all, func(e entry) bool { return e.key.Value == key })
}

// put replaces the value of a key, or adds it.
func put(all []entry, e entry) []entry {
	if i := find(all, e.key.Value); i >= 0 {
		all[i].value = e.value
		return all
	}
	return append(all, e)
}

func without(all []entry, keys ...string) []entry {
	return slices.DeleteFunc(all, func(e entry) bool { return slices.Contains(keys, e.key.Value) })
}

// made is a new node of a kind, in the place of another.
func (p *parser) made(kind yaml.Kind, at *yaml.Node) *yaml.Node {
	n := &yaml.Node{Kind: kind, Line: at.Line, Column: at.Column}
	p.from[n] = p.origin(at)
	return n
}

// mapOf is a map with those entries, in the place of another.
func (p *parser) mapOf(all []entry, at *yaml.Node) *yaml.Node {
	n := p.made(yaml.MappingNode, at)
	for _, e := range all {
		n.Content = append(n.Content, e.key, e.value)
	}
	return n
}

// empty says whether a value is nothing, or a list or a map of nothing.
func empty(n *yaml.Node) bool {
	n = behind(n)
	return isNull(n) || (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && len(n.Content) == 0
}

// checkBase says what a bundle has that only an overlay may have.
func (p *parser) checkBase(base *yaml.Node) error {
	return p.pairs(base, "bundle", func(key string, apps *yaml.Node) error {
		if key != "applications" && key != "services" {
			return nil
		}
		return p.pairs(apps, key, func(name string, body *yaml.Node) error {
			if empty(body) {
				return p.wrong(body, "base application %q has no body", name)
			}
			return p.pairs(body, name, func(key string, v *yaml.Node) error {
				if key == offersKey || key == exposedEndpoints {
					return p.wrong(v, "applications.%s.%s can only appear in an overlay section", name, key)
				}
				return nil
			})
		})
	})
}

// overlay lays a document over a bundle. Neither of them is changed.
// Source: docs/spec/juju-clients.md §13.2.
func (p *parser) overlay(base, over *yaml.Node) (*yaml.Node, error) {
	all, err := p.entries(base, "bundle")
	if err != nil {
		return nil, errors.Trace(err)
	}
	changes, err := p.entries(over, "overlay")
	if err != nil {
		return nil, errors.Trace(err)
	}
	var gone []string
	var added *entry
	for _, e := range changes {
		key := e.key.Value
		switch {
		case key == "services":
			return nil, p.errorf(e.key, key, "deprecated 'services' key: an overlay says \"applications\"")
		case key == "applications" || key == "saas":
			var removed []string
			if all, removed, err = p.overBodies(all, e); err != nil {
				return nil, errors.Trace(err)
			}
			gone = append(gone, removed...)
		case key == "relations":
			added = &e
		case key == "machines" || key == "series":
			all = put(all, e)
		case !slices.Contains(topKeys(), key):
			return nil, p.errorf(e.key, key, "not known in a bundle here")
		}
	}
	if all, err = p.overRelations(all, added, gone); err != nil {
		return nil, errors.Trace(err)
	}
	return p.mapOf(all, base), nil
}

// overBodies lays applications, or SAAS, over those of a bundle, and says which are
// gone.
func (p *parser) overBodies(all []entry, over entry) (_ []entry, gone []string, err error) {
	key := over.key.Value
	i := find(all, key)
	if i < 0 && key == "applications" {
		i = find(all, "services")
	}
	var bodies []entry
	at := over.value
	if i >= 0 {
		at = all[i].value
		if bodies, err = p.entries(at, key); err != nil {
			return nil, nil, errors.Trace(err)
		}
	}
	changes, err := p.entries(over.value, key)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	for _, e := range changes {
		name := e.key.Value
		was := find(bodies, name)
		switch {
		case empty(e.value):
			bodies, gone = without(bodies, name), append(gone, name)
		case was < 0:
			bodies = append(bodies, e)
		default:
			body, err := p.overBody(name, bodies[was].value, e.value)
			if err != nil {
				return nil, nil, errors.Trace(err)
			}
			bodies[was].value = body
		}
	}
	merged := p.mapOf(bodies, at)
	if i >= 0 {
		all[i].value = merged
		return all, gone, nil
	}
	return append(all, entry{over.key, merged}), gone, nil
}

// overBody lays what an overlay says of one application over what the bundle says.
func (p *parser) overBody(name string, base, over *yaml.Node) (*yaml.Node, error) {
	body, err := p.entries(base, name)
	if err != nil {
		return nil, errors.Trace(err)
	}
	changes, err := p.entries(over, name)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, e := range changes {
		key := e.key.Value
		i := find(body, key)
		switch {
		case slices.Contains(overlaid(), key) && empty(e.value):
			body = without(body, key)
		case slices.Contains(overlaid(), key) && i >= 0:
			if body[i].value, err = p.overMap(name+"."+key, body[i].value, e.value); err != nil {
				return nil, errors.Trace(err)
			}
		case slices.Contains(unitsKeys(), key):
			body = append(without(body, unitsKeys()...), e)
		default:
			body = put(body, e)
		}
	}
	return p.mapOf(body, base), nil
}

// overMap lays a map over another, key by key; a key with a list or a map of nothing
// takes the other's away.
func (p *parser) overMap(path string, base, over *yaml.Node) (*yaml.Node, error) {
	all, err := p.entries(base, path)
	if err != nil {
		return nil, errors.Trace(err)
	}
	changes, err := p.entries(over, path)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, e := range changes {
		if empty(e.value) {
			all = without(all, e.key.Value)
			continue
		}
		all = put(all, e)
	}
	return p.mapOf(all, base), nil
}

// overRelations takes the relations of what is gone away, and appends others.
func (p *parser) overRelations(all []entry, added *entry, gone []string) ([]entry, error) {
	i := find(all, "relations")
	if i < 0 {
		if added != nil {
			all = append(all, *added)
		}
		return all, nil
	}
	ofGone := func(n *yaml.Node) bool {
		name, _, _ := strings.Cut(behind(n).Value, ":")
		return slices.Contains(gone, name)
	}
	list := p.made(yaml.SequenceNode, all[i].value)
	pairs, err := p.items(all[i].value)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, pair := range pairs {
		if len(pair.Content) == 2 && behind(pair.Content[1]).Kind == yaml.SequenceNode {
			seconds := p.made(yaml.SequenceNode, behind(pair.Content[1]))
			seconds.Content = slices.DeleteFunc(slices.Clone(behind(pair.Content[1]).Content), ofGone)
			of := p.made(yaml.SequenceNode, pair)
			of.Content = []*yaml.Node{pair.Content[0], seconds}
			pair = of
		}
		if !slices.ContainsFunc(pair.Content, ofGone) {
			list.Content = append(list.Content, pair)
		}
	}
	if added != nil {
		more, err := p.items(added.value)
		if err != nil {
			return nil, errors.Trace(err)
		}
		list.Content = append(list.Content, more...)
	}
	all[i].value = list
	return all, nil
}

// items are those of a list of relations, no aliases.
func (p *parser) items(n *yaml.Node) ([]*yaml.Node, error) {
	if n = behind(n); isNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, p.errorf(n, "relations", "expected a list")
	}
	items := make([]*yaml.Node, len(n.Content))
	for i, item := range n.Content {
		items[i] = behind(item)
	}
	return items, nil
}
