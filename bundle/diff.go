package bundle

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v2"

	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// The two sides of a comparison.
const (
	ofBundle = "bundle"
	ofModel  = "model"
)

// Compared is a bundle that is compared with a model.
type Compared struct {
	*Bundle
	// Names are those that the applications' charms have for themselves, and Subordinate
	// are those of them that have no units of their own; of charms that can be read.
	Names       map[string]string
	Subordinate map[string]bool
	Map         Mapping
	Annotations bool // are compared too
}

// Diff says, as YAML, in what a model differs from what the bundle would make of an empty
// one, and gives warnings in a line each. Machines are compared where the bundle has
// some. Source: docs/spec/juju-clients.md §13.4.
func Diff(c Compared, p Picture) (text string, warnings []string, err error) {
	d := diff{Compared: c, Picture: p}
	var all yaml.MapSlice
	all = add(all, "applications", d.applications())
	all = add(all, "machines", d.machines())
	all = add(all, "relations", d.relations())
	out, err := yaml.Marshal(all)
	return string(out), d.warnings, errors.Annotate(err, "cannot write the differences")
}

type diff struct {
	Compared
	Picture
	warnings []string
}

// sides are two values that differ; nil is one that isn't there.
func sides(bundle, model any) yaml.MapSlice {
	return yaml.MapSlice{{Key: ofBundle, Value: bundle}, {Key: ofModel, Value: model}}
}

func missing(from string) yaml.MapSlice { return yaml.MapSlice{{Key: "missing", Value: from}} }

// differ adds two values under a key if they aren't the same.
func differ[T comparable](to yaml.MapSlice, key string, bundle, model T) yaml.MapSlice {
	if bundle == model {
		return to
	}
	return add(to, key, sides(orNull(bundle), orNull(model)))
}

// orNull is nil for an empty text.
func orNull(v any) any {
	if v == "" {
		return nil
	}
	return v
}

func (d *diff) applications() yaml.MapSlice {
	names := map[string]bool{}
	for _, app := range d.Bundle.Applications {
		names[app.Name] = true
	}
	for _, app := range d.alive() {
		names[app.Name] = true
	}
	var all yaml.MapSlice
	for _, name := range slices.Sorted(maps.Keys(names)) {
		want := d.application(name)
		has, there := d.app(name)
		switch {
		case want == nil:
			all = add(all, name, missing(ofBundle))
		case !there:
			all = add(all, name, missing(ofModel))
		default:
			all = add(all, name, d.both(*want, has))
		}
	}
	return all
}

// both compares an application that both sides have.
func (d *diff) both(want Application, has state.ApplicationView) yaml.MapSlice {
	var all yaml.MapSlice
	if !d.sameCharm(want, has) {
		all = add(all, "charm", sides(want.Charm.String(), has.ApplicationDoc.Charm))
	}
	base := cmp.Or(want.Base, d.Bundle.Base)
	if on := has.OnBase(); base != (model.Base{}) && on != (model.Base{}) {
		all = differ(all, "series", base.Series(), on.Series())
	}
	all = append(all, release(want.Charm, has)...)
	units := want.Units
	if units < 0 {
		units = 1
	}
	switch {
	case has.Sidecar:
		all = differ(all, "scale", units, has.Scale)
	case !has.Subordinate && !d.Compared.Subordinate[want.Name]:
		all = differ(all, "num_units", units, len(has.Units))
	}
	exposed := want.Exposed != nil && *want.Exposed || len(want.ExposedTo) > 0
	all = differ(all, "expose", exposed, has.Exposed)
	if !maps.EqualFunc(want.ExposedTo, has.ExposedEndpoints, sameExposure) {
		all = add(all, "exposed_endpoints", sides(exposure(want.ExposedTo), exposure(has.ExposedEndpoints)))
	}
	all = add(all, "options", d.options(want, has))
	if d.Annotations {
		all = add(all, "annotations", textDiff(want.Annotations, has.Annotations))
	}
	return differ(all, "constraints", constraintText(want.Constraints), constraintText(has.Constraints))
}

// release compares the channel and the revision that a bundle says of a hub's charm.
func release(want CharmRef, has state.ApplicationView) yaml.MapSlice {
	var follows string
	revision := -1
	if ofHub(has) {
		follows, revision = has.Hub.Channel, has.CharmDoc.Revision
	}
	var all yaml.MapSlice
	if want.Channel != "" && !sameChannel(want.Channel, follows) {
		all = add(all, "channel", sides(want.Channel, orNull(follows)))
	}
	if want.Revision >= 0 && want.Revision != revision {
		var has any
		if revision >= 0 {
			has = revision
		}
		all = add(all, "revision", sides(want.Revision, has))
	}
	return all
}

// sameChannel says whether a channel is the one that is followed; a risk alone is that of
// any track, as it means the charm's default one.
func sameChannel(want, follows string) bool {
	one, err := charmhub.ParseChannel(want)
	other, otherErr := charmhub.ParseChannel(follows)
	if err != nil || otherErr != nil {
		return want == follows
	}
	return one.Of(other) == other
}

// sameCharm says whether both have the same charm: of one at a path the name counts.
func (d *diff) sameCharm(want Application, has state.ApplicationView) bool {
	if want.Charm.URL != "" {
		return want.Charm.URL == has.ApplicationDoc.Charm
	}
	name := cmp.Or(d.Names[want.Name], want.Charm.Name)
	return name == has.CharmDoc.Charm.Name
}

// exposure is to whom endpoints are exposed, as bundles say it; nil: none is.
func exposure(of map[string]state.ExposedTo) any {
	if len(of) == 0 {
		return nil
	}
	return exposures(of)
}

// options are those that one side sets and the other sets otherwise, or not.
func (d *diff) options(want Application, has state.ApplicationView) yaml.MapSlice {
	config := d.Config[has.Name]
	set := maps.Clone(config.Set)
	if set == nil {
		set = map[string]any{}
	}
	for _, name := range deploy.Options() {
		if v, ok := deploy.OptionValue(config, name); ok && v != nil && name != "trust" {
			set[name] = v
		}
	}
	names := map[string]bool{}
	for name := range want.Set {
		names[name] = true
	}
	for name := range set {
		names[name] = true
	}
	var all yaml.MapSlice
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var asked any
		if text, ok := want.Set[name]; ok {
			asked = text
			if option, known := has.CharmDoc.Charm.Options[name]; known {
				if typed, err := option.Parse(name, text); err == nil {
					asked = typed
				}
			}
		}
		all = differ(all, name, asked, set[name])
	}
	return all
}

// textDiff compares texts by their keys.
func textDiff(bundle, model map[string]string) yaml.MapSlice {
	names := map[string]bool{}
	for name := range bundle {
		names[name] = true
	}
	for name := range model {
		names[name] = true
	}
	var all yaml.MapSlice
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = differ(all, name, bundle[name], model[name])
	}
	return all
}

// machines compares those of a bundle that has some, by their keys in the bundle, and
// those of the model on which applications of the bundle have units.
func (d *diff) machines() yaml.MapSlice {
	if len(d.Bundle.Machines) == 0 {
		return nil
	}
	byID := map[string]state.MachineView{}
	for _, m := range d.Status.Machines {
		byID[m.ID] = m
	}
	var all yaml.MapSlice
	meant := map[string]bool{}
	for _, m := range sorted(d.Bundle.Machines) {
		id := cmp.Or(d.Map.Of[m.ID], m.ID)
		has, there := byID[id]
		meant[id] = true
		switch {
		case !there:
			all = add(all, m.ID, missing(ofModel))
		case d.Annotations:
			all = add(all, m.ID, add(nil, "annotations", textDiff(m.Annotations, has.Annotations)))
		}
	}
	for _, m := range d.Status.Machines {
		if !meant[m.ID] {
			all = add(all, m.ID, missing(ofBundle))
		}
	}
	return all
}

// relations compares those of both sides. One that the bundle has without an endpoint is
// any between the two applications.
func (d *diff) relations() yaml.MapSlice {
	there := d.Picture.relations()
	found := make([]bool, len(there))
	var more, less [][2]string
	for _, r := range d.Bundle.Relations {
		r = inOrder(r)
		if !strings.Contains(r[0], ":") || !strings.Contains(r[1], ":") {
			d.warnings = append(d.warnings, "relation "+r[0]+" - "+r[1]+" names no endpoints: any between the two counts as it")
		}
		same := false
		for i, has := range there {
			if fits(r[0], has[0]) && fits(r[1], has[1]) || fits(r[0], has[1]) && fits(r[1], has[0]) {
				found[i], same = true, true
			}
		}
		if !same {
			more = append(more, r)
		}
	}
	for i, has := range there {
		if !found[i] {
			less = append(less, has)
		}
	}
	sortPairs(more)
	return add(add(nil, "bundle-additions", more), "model-additions", less)
}

// fits says whether an end of a relation of a bundle is that of a model.
func fits(end, has string) bool {
	if strings.Contains(end, ":") {
		return end == has
	}
	name, _, _ := strings.Cut(has, ":")
	return end == name
}
