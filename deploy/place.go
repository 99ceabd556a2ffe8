package deploy

import (
	"strings"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Placed does what places units, of which so many are placed nowhere, and says
// then which machines they haven't waited for.
func (d *Deployer) Placed(m *state.Model, units int, do func() error) error {
	passed, err := m.PassedOver(d.Context(), units)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	switch {
	case units <= 0 || len(passed) == 0 || d.passedOver:
	case len(passed) == 1:
		d.Note("Machine %s is passed over, as no host has joined as it: --to %[1]s makes units wait for it", passed[0])
	default:
		d.Note("Machines %s are passed over, as no hosts have joined as them: --to %s makes units wait for the first", strings.Join(passed, ", "), passed[0])
	}
	d.passedOver = true
	return nil
}

// OnMachines is for how many units of an application machines are to be found.
func OnMachines(charm model.Charm, todo state.DeployArgs) int {
	if charm.Sidecar() {
		return 0
	}
	return todo.Units - len(todo.To)
}
