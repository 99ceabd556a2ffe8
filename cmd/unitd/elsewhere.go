package main

import (
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// here is an error where a unit is on another host than the agent of this data
// directory, which alone knows what is asked for. Of a unit that isn't in the
// model nothing is said.
func (a *app) here(m *state.Model, unit model.UnitName) error {
	doc, err := m.Unit(a.ctx, unit)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	dir, err := dataDir()
	if err != nil {
		return err
	}
	r, err := readJoin(dir)
	if err != nil {
		return err
	}
	if r == nil && doc.Provider == state.LocalProvider {
		managed, err := a.managedElsewhere(dir)
		if err != nil || managed == nil {
			return err
		}
		return errors.NewNotFound(nil, fmt.Sprintf("%s is on host %s, not on this one: run the command there", unit, managed.Host))
	}
	if r != nil && r.Machine == doc.Machine {
		return nil
	}
	return errors.NewNotFound(nil, fmt.Sprintf("%s is on machine %s, not on this one: run the command there", unit, doc.Machine))
}
