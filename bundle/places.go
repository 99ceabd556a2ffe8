package bundle

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

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

// Mapping says which of a model's machines are those of a bundle.
// Source: docs/spec/juju-clients.md §13.1.
type Mapping struct {
	// Existing: those of the same number.
	Existing bool
	// Of are the ids of machines by the bundle's keys.
	Of map[string]string
}

// ParseMapping reads "existing", "KEY=ID", or several of them with commas between. The
// error is NotValid.
func ParseMapping(text string) (Mapping, error) {
	m := Mapping{Of: map[string]string{}}
	if text == "" {
		return m, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		key, id, ok := strings.Cut(word, "=")
		switch {
		case word == "existing":
			m.Existing = true
		case ok && machineKey.MatchString(key) && machineKey.MatchString(id):
			m.Of[key] = id
		default:
			return m, errors.NewNotValid(nil, fmt.Sprintf(`error in --map-machines: expected "existing" or "<bundle-id>=<machine-id>", got %q`, word))
		}
	}
	return m, nil
}

// machines are the ids of those of the bundle's machines that a model has: as the mapping
// says, else those with units that the bundle wants there.
func (p *Plan) machines(status *state.FullStatus) (map[string]string, error) {
	there := map[string]bool{}
	for _, m := range status.Machines {
		there[m.ID] = true
	}
	found := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(p.Map.Of)) {
		id := p.Map.Of[key]
		switch {
		case p.machine(key) == nil:
			return nil, errors.NewNotFound(nil, fmt.Sprintf("cannot map machines: the bundle has no machine %s", key))
		case !there[id]:
			return nil, errors.NewNotFound(nil, fmt.Sprintf("cannot map machines: machine %s not found", id))
		}
		found[key] = id
	}
	for _, m := range p.Machines {
		if p.Map.Existing && found[m.ID] == "" && there[m.ID] {
			found[m.ID] = m.ID
		}
	}
	for _, app := range p.Apps {
		want := p.places[app.Application.Name]
		for i, u := range unitsOf(status, app.Application.Name) {
			if i < len(want) && want[i].Machine != "" && found[want[i].Machine] == "" {
				found[want[i].Machine] = u.Machine
			}
		}
	}
	return found, nil
}

// unitsOf are the units of an application, by number; none where it isn't there.
func unitsOf(status *state.FullStatus, application string) []state.UnitView {
	for _, app := range status.Applications {
		if app.Name == application {
			return app.Units
		}
	}
	return nil
}

// to says where the application's units go from the one on that comes at place
// from: state.DeployArgs.To.
func (w *Work) to(application string, from int) ([]string, error) {
	var to []string
	of := w.plan.places[application]
	for _, place := range of[min(from, len(of)):] {
		id := state.NewMachine
		var err error
		switch {
		case place.Machine != "":
			id = w.seen.machines[place.Machine]
		case place.With != "":
			id, err = w.with(place.With)
		}
		if err != nil {
			return nil, err
		}
		to = append(to, id)
	}
	return to, nil
}

// with is the machine of a unit, by its place among those of its application.
func (w *Work) with(unit model.UnitName) (string, error) {
	units, err := w.model.Units(w.app.Context())
	if err != nil {
		return "", err
	}
	units = slices.DeleteFunc(units, func(u state.UnitDoc) bool { return u.Name.Application() != unit.Application() })
	if n := unit.Number(); n < len(units) {
		return units[n].Machine, nil
	}
	return "", errors.NewNotFound(nil, fmt.Sprintf("there is no unit %s to be placed with", unit))
}
