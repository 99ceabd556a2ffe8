package bundle

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// place says where the units go, and puts the applications into the order for
// that.
func (p *Plan) place() error {
	units, containers := map[string]int{}, map[string]bool{}
	for _, app := range p.Apps {
		units[app.Application.Name], containers[app.Application.Name] = app.Wanted, app.Packed.Charm.Sidecar()
	}
	var err error
	if p.places, err = p.Places(units); err != nil {
		return err
	}
	for _, app := range p.Apps {
		for _, place := range p.places[app.Application.Name] {
			if containers[place.With.Application()] {
				return errors.NewNotValid(nil, fmt.Sprintf("%s: application %q: cannot be placed with %s: units of a container charm have no machines",
					filepath.Base(p.Path), app.Application.Name, place.With))
			}
		}
	}
	order, err := p.Order()
	slices.SortStableFunc(p.Apps, func(a, b PlannedApp) int {
		return slices.Index(order, a.Application.Name) - slices.Index(order, b.Application.Name)
	})
	return err
}

// places are the machines of a model that a bundle's units go to.
type places struct {
	app   *Applier
	model *state.Model
	of    map[string][]Place
	// machines has the id of each of the bundle's machines that there is.
	machines map[string]string
}

// placesIn finds the machines of the bundle on which there are units already that
// the bundle wants there: they are those that the bundle means.
func (b *Applier) placesIn(m *state.Model, p *Plan) (*places, error) {
	ps := &places{app: b, model: m, of: p.places, machines: map[string]string{}}
	for _, app := range p.Apps {
		want := p.places[app.Application.Name]
		units, err := ps.units(app.Application.Name)
		if err != nil {
			return nil, err
		}
		for i, u := range units {
			if i < len(want) && want[i].Machine != "" && ps.machines[want[i].Machine] == "" {
				ps.machines[want[i].Machine] = u.Machine
			}
		}
	}
	return ps, nil
}

// units are those of an application, by number; none where it isn't there.
func (p *places) units(application string) ([]state.UnitDoc, error) {
	all, err := p.model.Units(p.app.Context())
	return slices.DeleteFunc(all, func(u state.UnitDoc) bool { return u.Name.Application() != application }), err
}

// to says where the application's units go from the one on that comes at place
// from: state.DeployArgs.To. Machines that aren't there are made.
func (p *places) to(application string, from int) ([]string, error) {
	var to []string
	of := p.of[application]
	for _, place := range of[min(from, len(of)):] {
		id := state.NewMachine
		var err error
		switch {
		case place.Machine != "":
			id, err = p.machine(place.Machine)
		case place.With != "":
			id, err = p.with(place.With)
		}
		if err != nil {
			return nil, err
		}
		to = append(to, id)
	}
	return to, nil
}

// machine is the id of a machine of the bundle.
func (p *places) machine(key string) (string, error) {
	if id := p.machines[key]; id != "" {
		return id, nil
	}
	doc, _, err := p.model.AddMachine(p.app.Context(), state.LocalProvider, 0)
	if err != nil {
		return "", errors.Annotatef(err, "cannot make the bundle's machine %s", key)
	}
	p.app.Note("created machine %s, the bundle's %s", doc.ID, key)
	p.machines[key] = doc.ID
	return doc.ID, nil
}

// with is the machine of a unit, by its place among those of its application.
func (p *places) with(unit model.UnitName) (string, error) {
	units, err := p.units(unit.Application())
	if err != nil {
		return "", err
	}
	if n := unit.Number(); n < len(units) {
		return units[n].Machine, nil
	}
	return "", errors.NewNotFound(nil, fmt.Sprintf("there is no unit %s to be placed with", unit))
}
