package bundle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
)

// newPlace is a machine of its own, in a list of places.
const newPlace = "new"

// Place is where a unit is to be. At most one of the fields is set; the zero
// value is a machine that is made for the unit.
type Place struct {
	// Machine is a key of the bundle's machines.
	Machine string
	// With is a unit on whose machine it is to be: the one of that application
	// that comes at that place, from 0, of those that the bundle asks for.
	With model.UnitName
}

// placement is one element of an application's "to".
type placement struct {
	text string
	node *yaml.Node
}

// Placed says whether the bundle says where the application's units go.
func (a Application) Placed() bool { return len(a.to) > 0 }

// machineKey is what the keys of machines look like.
var machineKey = pattern.New(`^(0|[1-9][0-9]{0,8})$`)

// machines reads what machines there are. What they are to be like is recorded alone,
// as each is this host.
func (p *parser) machines(n *yaml.Node) error {
	return p.pairs(n, "machines", func(id string, v *yaml.Node) error {
		path := "machines." + id
		if !machineKey.MatchString(id) {
			return p.errorf(v, path, "expected a number as the machine's key")
		}
		m := Machine{ID: id, Annotations: map[string]string{}}
		var series model.Base
		err := p.pairs(v, path, func(key string, v *yaml.Node) (err error) {
			switch key {
			case "annotations":
				return p.texts(path+"."+key, v, m.Annotations)
			case "constraints":
				m.Constraints, err = p.constraints(path+"."+key, v)
			case "base":
				m.Base, err = p.baseOf(path+"."+key, v)
			case "series":
				series = p.seriesOf(key, v)
			default:
				return p.errorf(v, path+"."+key, "not known in a bundle here")
			}
			p.ignore(key)
			return errors.Trace(err)
		})
		if m.Base == (model.Base{}) {
			m.Base = series
		}
		p.b.Machines, p.machineAt = append(p.b.Machines, m), append(p.machineAt, v)
		return errors.Trace(err)
	})
}

// to reads where the units of an application go: a list, or one text with commas.
func (p *parser) to(app *Application, path string, n *yaml.Node) error {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	for _, n := range nodes {
		if n = behind(n); n.Kind != yaml.ScalarNode {
			return p.errorf(n, path, `expected places, as ["0", new, ledger/0]`)
		}
		if n.Tag == "!!null" {
			continue
		}
		for text := range strings.SplitSeq(n.Value, ",") {
			text = strings.TrimSpace(text)
			if err := p.place(path, text, n); err != nil {
				return errors.Trace(err)
			}
			app.to = append(app.to, placement{text, n})
		}
	}
	return nil
}

// place checks the form of an element of "to".
func (p *parser) place(path, text string, n *yaml.Node) error {
	if kind, _, ok := strings.Cut(text, ":"); ok || text == "lxd" || text == "kvm" {
		return p.errorf(n, path, "%q: there are no containers (%s) here; name a machine of the bundle, %q, or a unit", text, kind, newPlace)
	}
	if text == newPlace || machineKey.MatchString(text) || model.ValidApplication(text) {
		return nil
	}
	if _, err := model.ParseUnitName(text); err != nil {
		return p.errorf(n, path, "%q is not a machine of the bundle, %q, an application or a unit", text, newPlace)
	}
	return nil
}

// checkPlaces says whether what places name is in the bundle, and all machines
// are named.
func (p *parser) checkPlaces() error {
	used := map[string]bool{}
	for _, app := range p.b.Applications {
		for _, to := range app.to {
			path := app.Name + ".to"
			other, _, _ := strings.Cut(to.text, "/")
			switch {
			case to.text == newPlace:
			case machineKey.MatchString(to.text):
				used[to.text] = true
				if p.b.machine(to.text) == nil {
					return p.errorf(to.node, path, "the bundle's machines have no %q", to.text)
				}
			case other == app.Name:
				return p.errorf(to.node, path, "%q is of the same application", to.text)
			case p.b.application(other) == nil:
				return p.errorf(to.node, path, "%s: the bundle has no application %q", to.text, other)
			}
		}
	}
	for i, m := range p.b.Machines {
		if !used[m.ID] {
			return p.errorf(p.machineAt[i], "machines."+m.ID, "no application is placed there")
		}
	}
	return nil
}

// machine is the one with that key; nil: there is none.
func (b *Bundle) machine(id string) *Machine {
	i := slices.IndexFunc(b.Machines, func(m Machine) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return &b.Machines[i]
}

// application is the one of that name; nil: there is none.
func (b *Bundle) application(name string) *Application {
	i := slices.IndexFunc(b.Applications, func(a Application) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &b.Applications[i]
}

// Places says where the units of each application go that says so; units has how
// many each has. The last element of a list counts for the units beyond it. An
// application without a number means its next unit, from the first on. The error is NotValid for more
// places than units, and for units that the bundle doesn't have.
//
// Source: docs/machines.md, "Where units go", and the field's description
// of "to" in bundles (github.com/juju/charm, ApplicationSpec).
func (b *Bundle) Places(units map[string]int) (map[string][]Place, error) {
	places := map[string][]Place{}
	for _, app := range b.Applications {
		n := units[app.Name]
		if len(app.to) > n {
			return nil, b.placeError(app, "%d places for %d units", len(app.to), n)
		}
		next := map[string]int{}
		for i := 0; i < n && len(app.to) > 0; i++ {
			text := app.to[min(i, len(app.to)-1)].text
			if text == newPlace || machineKey.MatchString(text) {
				places[app.Name] = append(places[app.Name], Place{Machine: strings.TrimPrefix(text, newPlace)})
				continue
			}
			with, number, numbered := strings.Cut(text, "/")
			unit := next[with]
			if numbered {
				unit, _ = strconv.Atoi(number) // as ParseUnitName has found
			}
			next[with] = unit + 1
			if unit >= units[with] {
				return nil, b.placeError(app, "unit %d is to be with %s/%d, and the bundle has %d units of %s", i, with, unit, units[with], with)
			}
			places[app.Name] = append(places[app.Name], Place{With: model.NewUnitName(with, unit)})
		}
	}
	return places, nil
}

func (b *Bundle) placeError(app Application, format string, args ...any) error {
	return errors.NewNotValid(nil, fmt.Sprintf("%s:%d: %s.to: %s", b.file, app.to[0].node.Line, app.Name, fmt.Sprintf(format, args...)))
}

// Order are the names of the applications in the order of the file, but that each
// comes after those whose units its own are placed with. The error is NotValid
// where that goes round in a circle.
func (b *Bundle) Order() ([]string, error) {
	var order []string
	const begun, done = 1, 2
	state := map[string]int{}
	var visit func(app Application) error
	visit = func(app Application) error {
		switch state[app.Name] {
		case done:
			return nil
		case begun:
			return b.placeError(app, "its units are placed with others that are placed with its own")
		}
		state[app.Name] = begun
		for _, to := range app.to {
			name, _, _ := strings.Cut(to.text, "/")
			if other := b.application(name); to.text != newPlace && other != nil {
				if err := visit(*other); err != nil {
					return err
				}
			}
		}
		state[app.Name] = done
		order = append(order, app.Name)
		return nil
	}
	for _, app := range b.Applications {
		if err := visit(app); err != nil {
			return nil, errors.Trace(err)
		}
	}
	return order, nil
}
