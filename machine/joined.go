package machine

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Machine says which machine of which model an agent has joined as.
type Machine struct {
	Model string // its uuid
	ID    string
	// Agent is the id of the agent, as in state.MachineDoc.
	Agent string
}

// ErrMachineGone is why an agent ends whose machine is Dead, or gone: it must
// not run again (seed 000, "remove-machine").
const ErrMachineGone = errors.ConstError("the machine has been removed from the model")

// joined is the id of the machine that the agent has joined as, else empty.
func (a *modelAgent) joined() string {
	if a.Machine == nil {
		return ""
	}
	return a.Machine.ID
}

// id is the id of the machine that the agent's own messages come from.
func (a *modelAgent) id() string {
	if a.Machine == nil {
		return "0"
	}
	return a.Machine.ID
}

// hosts says whether the agent that has joined as m, or as nothing, is that of
// the unit's machine.
func (m *Machine) hosts(u state.UnitDoc) bool {
	if m == nil {
		return u.Provider == state.LocalProvider
	}
	return u.Machine == m.ID
}

// machineDuties does what a change of machines asks of the agent.
func (a *modelAgent) machineDuties(ctx context.Context, c state.Change) error {
	if a.Machine == nil {
		return errors.Trace(a.provision(ctx, c))
	}
	if !c.Resync && !c.Machines[a.Machine.ID] {
		return nil
	}
	doc, err := a.model.Machine(ctx, a.Machine.ID)
	switch {
	case errors.Is(err, errors.NotFound) && a.lostModel(ctx):
		return nil // if it was removed, agent.reconcile sees to the rest
	case errors.Is(err, errors.NotFound), err == nil && (doc.Life == model.Dead || doc.Agent != a.Machine.Agent):
		return errors.Trace(ErrMachineGone)
	case err != nil:
		return errors.Trace(err)
	case doc.Life == model.Dying && len(doc.Units) == 0:
		// The watch tells of it, and then the agent ends.
		return errors.Trace(a.model.SetMachineDead(ctx, doc.ID))
	}
	if a.standing[doc.ID] {
		return nil
	}
	if err := a.appear(ctx, doc.ID); err != nil {
		return errors.Trace(err)
	}
	a.standing[doc.ID] = true
	return nil
}

// end has the agent end with that error.
func (a *agent) end(err error) {
	select {
	case a.gone <- err:
	default: // it was told already
	}
}
