package bundle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Change is one step towards what a bundle asks for.
type Change interface {
	// String says it to people in a line.
	String() string
	do(w *Work) error
}

// The changes that there are.
type (
	addMachine struct{ Machine }
	deployApp  struct {
		app   PlannedApp
		where string
	}
	refreshApp struct{ app PlannedApp }
	// giveResources gives those of them that aren't as the bundle says.
	giveResources struct {
		app   PlannedApp
		names []string
	}
	followChannel struct{ application, channel string }
	setOptions    struct {
		app   PlannedApp
		names []string
	}
	setTrust struct {
		application string
		trust       bool
	}
	setConstraints struct{ application, text string }
	expose         struct {
		application string
		exposed     bool
	}
	exposeTo struct {
		application string
		to          map[string]state.ExposedTo
	}
	annotate        struct{ application, key, value string }
	annotateMachine struct{ machine, key, value string }
	addUnits        struct {
		application string
		there, n    int
		where       string
	}
	relate struct{ one, other string }
)

func (c addMachine) String() string { return "add a machine for the bundle's " + c.ID }

func (c deployApp) String() string {
	return fmt.Sprintf("deploy application %s from %s%s", c.app.Application.Name, c.app.source(), c.where)
}

func (c refreshApp) String() string {
	return fmt.Sprintf("refresh application %s to %s", c.app.Application.Name, c.app.source())
}

// source is where the application's charm is from.
func (app PlannedApp) source() string {
	switch r := app.Release; {
	case r != nil:
		return deploy.From(*r)
	case app.Application.Charm.URL != "":
		return "charm " + app.Application.Charm.URL
	}
	return "local charm " + app.Packed.Name
}

func (c giveResources) String() string {
	return fmt.Sprintf("give application %s resources: %s", c.app.Application.Name, strings.Join(c.names, ", "))
}

func (c followChannel) String() string {
	return fmt.Sprintf("have application %s follow channel %s", c.application, c.channel)
}

func (c setOptions) String() string {
	return fmt.Sprintf("set options of application %s: %s", c.app.Application.Name, strings.Join(c.names, ", "))
}

func (c setTrust) String() string {
	if c.trust {
		return "trust application " + c.application
	}
	return "trust application " + c.application + " no longer"
}

func (c setConstraints) String() string {
	return fmt.Sprintf("set constraints of application %s: %s", c.application, c.text)
}

func (c expose) String() string {
	if c.exposed {
		return "expose application " + c.application
	}
	return "unexpose application " + c.application
}

func (c exposeTo) String() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.to)) {
		if name == "" {
			name = "all endpoints"
		}
		names = append(names, name)
	}
	return fmt.Sprintf("expose application %s by %s", c.application, strings.Join(names, ", "))
}

func (c annotate) String() string {
	return fmt.Sprintf("annotate application %s: %s", c.application, c.key)
}

func (c annotateMachine) String() string {
	return fmt.Sprintf("annotate machine %s: %s", c.machine, c.key)
}

func (c addUnits) String() string {
	units := "units"
	if c.n == 1 {
		units = "unit"
	}
	return fmt.Sprintf("add %d %s of application %s%s", c.n, units, c.application, c.where)
}

func (c relate) String() string { return fmt.Sprintf("add relation %s - %s", c.one, c.other) }

// seen is what is known of a model when changes are planned.
type seen struct {
	// apps are those of the bundle that are there, by name.
	apps map[string]standing
	// machines are the ids of those of the bundle's machines that are there.
	machines map[string]string
	// annotations are those of machines that are there, by id.
	annotations map[string]map[string]string
	relations   []state.RelationDoc
	saas        []state.SAASView
	offers      []state.OfferView
}

// standing is an application that is there.
type standing struct {
	state.ApplicationDoc
	sum      string // of its charm
	revision int    // of its charm
	config   state.ApplicationConfig
	// resources are those that aren't as the bundle says, ofHub those of them that a hub
	// has.
	resources []string
	ofHub     []charmhub.Resource
}

// changes are what makes a model what the bundle asks for: what is there already is
// brought up to date, and nothing is removed. What the bundle doesn't say stays as
// somebody has set it since.
func (p *Plan) changes(s seen) []Change {
	all := p.machineChanges(s)
	for _, app := range p.Apps {
		name := app.Application.Name
		doc, there := s.apps[name]
		where := p.where(name, app.Wanted, doc.Units, doc.NextUnit, s.machines)
		if there {
			all = append(all, app.updates(doc)...)
		} else {
			all = append(all, deployApp{app, where})
		}
		if n := app.Wanted - doc.Units; there && n > 0 {
			all = append(all, addUnits{name, doc.Units, n, where})
		}
		all = append(all, app.marks(doc.ApplicationDoc)...)
	}
	all = append(all, p.consumed(s.saas)...)
	for _, r := range p.Relations {
		if !p.related(r, s.relations) {
			all = append(all, relate{r[0], r[1]})
		}
	}
	return append(all, p.offered(s.offers)...)
}

// machineChanges are the machines of the bundle that units need and that aren't there, by
// their numbers, so that they get the same ones in a new model; and what is to be said of
// the others.
func (p *Plan) machineChanges(s seen) []Change {
	needed := map[string]bool{}
	for _, app := range p.Apps {
		of := p.places[app.Application.Name]
		for _, place := range of[min(s.apps[app.Application.Name].Units, len(of)):] {
			needed[place.Machine] = true
		}
	}
	var all []Change
	for _, m := range sorted(p.Machines) {
		id, there := s.machines[m.ID]
		if !there {
			if needed[m.ID] {
				all = append(all, addMachine{m})
			}
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
			if s.annotations[id][key] != m.Annotations[key] {
				all = append(all, annotateMachine{id, key, m.Annotations[key]})
			}
		}
	}
	return all
}

// sorted are machines by their numbers.
func sorted(machines []Machine) []Machine {
	return slices.SortedFunc(slices.Values(machines), func(a, b Machine) int {
		return cmp.Or(len(a.ID)-len(b.ID), strings.Compare(a.ID, b.ID))
	})
}

// where says where units go from the one on that comes at place from; next is the number
// that it gets.
func (p *Plan) where(application string, wanted, from, next int, machines map[string]string) string {
	of := p.places[application]
	n := wanted - from
	switch {
	case n <= 0:
		return ""
	case len(of) <= from && from > 0:
		return ""
	case len(of) == 0 && n == 1:
		return " with 1 unit"
	case len(of) == 0:
		return fmt.Sprintf(" with %d units", n)
	}
	var at []string
	for i, place := range of[from:] {
		unit := model.NewUnitName(application, next+i)
		switch id, there := machines[place.Machine]; {
		case place.With != "":
			at = append(at, fmt.Sprintf("%s with %s", unit, place.With))
		case place.Machine == "":
			at = append(at, fmt.Sprintf("%s on a machine of its own", unit))
		case there:
			at = append(at, fmt.Sprintf("%s on machine %s", unit, id))
		default:
			at = append(at, fmt.Sprintf("%s on the bundle's machine %s", unit, place.Machine))
		}
	}
	return ": " + strings.Join(at, ", ")
}

// updates are what an application lacks that is there.
func (app PlannedApp) updates(doc standing) []Change {
	var all []Change
	name := app.Application.Name
	switch {
	case !app.isOf(doc):
		all = append(all, refreshApp{app})
	case len(doc.resources) > 0:
		all = append(all, giveResources{app, doc.resources})
	}
	if channel, other := app.follows(doc); other && app.isOf(doc) {
		all = append(all, followChannel{name, channel})
	}
	var options []string
	for option, value := range app.values {
		if set, ok := doc.config.Set[option]; !ok || set != value {
			options = append(options, option)
		}
	}
	options = append(options, app.settings.Differ(doc.config)...)
	if slices.Sort(options); len(options) > 0 {
		all = append(all, setOptions{app, options})
	}
	if app.Trust != nil && doc.Trust != *app.Trust {
		all = append(all, setTrust{name, *app.Trust})
	}
	if app.Constraints != "" && app.Constraints != doc.Constraints {
		all = append(all, setConstraints{name, app.Constraints})
	}
	return all
}

// marks are what is said of an application besides what it is made of; doc is zero where
// it is to be deployed.
func (app PlannedApp) marks(doc state.ApplicationDoc) []Change {
	var all []Change
	name := app.Application.Name
	switch {
	case len(app.ExposedTo) > 0:
		if !doc.Exposed || !maps.EqualFunc(doc.ExposedEndpoints, app.ExposedTo, sameExposure) {
			all = append(all, exposeTo{name, app.ExposedTo})
		}
	case app.Exposed != nil && doc.Exposed != *app.Exposed:
		all = append(all, expose{name, *app.Exposed})
	}
	for _, key := range slices.Sorted(maps.Keys(app.Annotations)) {
		if doc.Annotations[key] != app.Annotations[key] {
			all = append(all, annotate{name, key, app.Annotations[key]})
		}
	}
	return all
}

func sameExposure(a, b state.ExposedTo) bool {
	return slices.Equal(a.Spaces, b.Spaces) && slices.Equal(a.CIDRs, b.CIDRs)
}

// related says whether there is a relation that the bundle asks for.
func (p *Plan) related(r [2]string, there []state.RelationDoc) bool {
	one, oneEndpoint, _ := strings.Cut(r[0], ":")
	other, otherEndpoint, _ := strings.Cut(r[1], ":")
	if !p.across(r) {
		eps, err := model.MatchEndpoints(p.side(r[0]), p.side(r[1]))
		if err != nil {
			return false // which adding it says
		}
		oneEndpoint, otherEndpoint = eps[0].Name, eps[1].Name
	}
	return slices.ContainsFunc(there, func(doc state.RelationDoc) bool {
		own, remote, ok := doc.Endpoint(one)
		return ok && !doc.IsPeer() && remote.Application == other &&
			(oneEndpoint == "" || own.Name == oneEndpoint) && (otherEndpoint == "" || remote.Name == otherEndpoint)
	})
}
