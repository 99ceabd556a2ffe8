package machine

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Provisioner sees to it that machines have hosts: the duty of the agent that
// has the models (seed 000, "Agents": JobManageModel). Its methods are called
// again until they succeed, and must be right when they have succeeded before.
type Provisioner interface {
	// Provision gets an Alive machine a host, and says what people are to know it
	// by. The error is NotYetAvailable where the host comes by itself, or later.
	Provision(ctx context.Context, m state.MachineDoc) (instance string, err error)
	// Decommission gives the host of a Dead machine back to whom it is from.
	Decommission(ctx context.Context, m state.MachineDoc) error
}

// provisioners are those that there are.
func provisioners() map[string]Provisioner {
	return map[string]Provisioner{state.LocalProvider: local{}, state.ManualProvider: manual{}}
}

// local has its machines on the agent's own host, as many as are asked for.
type local struct{}

// localInstance is what people know a machine of this host by.
func localInstance(id string) string { return "local-" + id }

// Provision is part of Provisioner.
func (local) Provision(_ context.Context, m state.MachineDoc) (string, error) {
	return localInstance(m.ID), nil
}

// Decommission is part of Provisioner: what units leave on the host goes with
// them.
func (local) Decommission(context.Context, state.MachineDoc) error { return nil }

// manual has the hosts that join.
type manual struct{}

// Provision is part of Provisioner.
func (manual) Provision(_ context.Context, m state.MachineDoc) (string, error) {
	return "", errors.NewNotYetAvailable(nil, "the agent of machine "+m.ID+" has not joined")
}

// Decommission is part of Provisioner: the host is its owner's, and the agent on
// it clears away what it has brought.
func (manual) Decommission(context.Context, state.MachineDoc) error { return nil }

// provision looks after the machines in the change: those that have no host,
// and those that are Dead.
func (a *modelAgent) provision(ctx context.Context, c state.Change) error {
	if c.Resync {
		all, err := a.model.Machines(ctx)
		if err != nil {
			return errors.Trace(err)
		}
		for _, doc := range all {
			if err := a.provisionOne(ctx, doc); err != nil {
				return errors.Annotatef(err, "machine %s", doc.ID)
			}
		}
		return nil
	}
	for id := range c.Machines {
		doc, err := a.model.Machine(ctx, id)
		if errors.Is(err, errors.NotFound) {
			delete(a.standing, id)
			continue
		}
		if err == nil {
			err = a.provisionOne(ctx, doc)
		}
		if err != nil {
			return errors.Annotatef(err, "machine %s", id)
		}
	}
	return nil
}

func (a *modelAgent) provisionOne(ctx context.Context, m state.MachineDoc) error {
	p, ok := a.Provisioners[m.Provider]
	switch {
	case !ok || m.ForUnit:
		return nil // of a later unitd; it comes and goes with its unit
	case m.Life == model.Alive && m.Instance == "":
		instance, err := p.Provision(ctx, m)
		if errors.Is(err, errors.NotYetAvailable) {
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
		if m.Provider == state.LocalProvider {
			a.standing[m.ID] = true
			return errors.Trace(a.appear(ctx, m.ID))
		}
		return errors.Trace(a.model.SetMachine(ctx, state.MachineDoc{ID: m.ID, Instance: instance}))
	case m.Life == model.Alive && m.Provider == state.LocalProvider && !a.standing[m.ID]:
		a.standing[m.ID] = true // as the agent begins
		return errors.Trace(a.appear(ctx, m.ID))
	case m.Life == model.Dying && len(m.Units) == 0 && (m.Instance == "" || m.Provider == state.LocalProvider):
		// It is this agent's own, or has none; the watch tells of it.
		return errors.Trace(a.model.SetMachineDead(ctx, m.ID))
	case m.Life == model.Dead:
		if err := p.Decommission(ctx, m); err != nil {
			return errors.Annotate(err, "cannot decommission its host")
		}
		delete(a.standing, m.ID)
		a.log.Info("the machine is decommissioned", "machine", m.ID, "instance", m.Instance)
		return errors.Trace(a.model.RemoveMachine(ctx, m.ID))
	}
	return nil
}
