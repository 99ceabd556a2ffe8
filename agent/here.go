package agent

import (
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Here is an error where a unit is on another host than the agent of this data
// directory, which alone knows what is asked for. Of a unit that isn't in the
// model nothing is said.
func (h *Host) Here(m *state.Model, unit model.UnitName) error {
	doc, err := m.Unit(h.ctx, unit)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return h.here(string(unit), doc.Machine, doc.Provider)
}

// MachineHere is Here for a machine.
func (h *Host) MachineHere(doc state.MachineDoc) error {
	return h.here("machine "+doc.ID, doc.ID, doc.Provider)
}

// here is an error where what is on a machine of that provider is on another host.
func (h *Host) here(what, machine, provider string) error {
	dir, err := DataDir()
	if err != nil {
		return err
	}
	r, err := ReadJoin(dir)
	if err != nil {
		return err
	}
	if r == nil && provider == state.LocalProvider {
		managed, err := h.ManagedElsewhere(dir)
		if err != nil || managed == nil {
			return err
		}
		return errors.NewNotFound(nil, fmt.Sprintf("%s is on host %s, not on this one: run the command there", what, managed.Host))
	}
	if r != nil && r.Machine == machine {
		return nil
	}
	return errors.NewNotFound(nil, fmt.Sprintf("%s is on machine %s, not on this one: run the command there", what, machine))
}
