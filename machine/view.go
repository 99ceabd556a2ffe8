package machine

import (
	"context"
	"slices"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// liveView is the hookcontext.View of one hook run on the live model. ctx ends
// lastCalls after the run.
type liveView struct {
	ctx   context.Context
	u     *unit
	charm model.Charm
	// machine is the id of the unit's machine.
	machine string
	// task is the id of the action's task that runs; empty: none does.
	task string
	// tail is told of what the charm logs as an error; nil: nobody is.
	tail *outputTail
}

var _ hookcontext.View = liveView{}

// model is the model as hook tools have it, see patient.
func (v liveView) model() *state.Model { return v.u.patient }

// Config is part of hookcontext.View.
func (v liveView) Config() (map[string]any, error) {
	c, err := v.model().Config(v.ctx, v.u.name.Application())
	return c.Values, errors.Trace(err)
}

// Settings is part of hookcontext.View.
func (v liveView) Settings(id model.RelationID, unit model.UnitName) (model.Settings, error) {
	return v.model().Settings(v.ctx, id, unit)
}

// ApplicationSettings is part of hookcontext.View.
func (v liveView) ApplicationSettings(id model.RelationID, app string) (model.Settings, error) {
	return v.model().ApplicationSettings(v.ctx, id, app)
}

// LeaderSettings is part of hookcontext.View.
func (v liveView) LeaderSettings() (model.Settings, error) {
	return v.model().LeaderSettings(v.ctx, v.u.name.Application())
}

// State is part of hookcontext.View.
func (v liveView) State() (map[string]string, error) {
	return v.model().CharmState(v.ctx, v.u.name)
}

// Leads is part of hookcontext.View.
func (v liveView) Leads() (int64, error) {
	var epoch int64
	err := v.u.health.patiently(v.ctx, func() (err error) {
		epoch, err = v.u.leads(v.ctx)
		return err
	})
	return epoch, errors.Trace(err)
}

// Ports is part of hookcontext.View.
func (v liveView) Ports() (map[model.UnitName]model.Ports, error) {
	return v.model().Ports(v.ctx, v.machine)
}

// UnitStatus is part of hookcontext.View.
func (v liveView) UnitStatus() (model.Status, error) {
	return v.model().StatusOf(v.ctx, state.WorkloadStatus, string(v.u.name))
}

// ApplicationStatus is part of hookcontext.View.
func (v liveView) ApplicationStatus() (hookcontext.ApplicationStatus, error) {
	app, units, err := v.model().UnitStatuses(v.ctx, v.u.name.Application())
	return hookcontext.ApplicationStatus{Application: app, Units: units}, errors.Trace(err)
}

// SetUnitStatus is part of hookcontext.View.
func (v liveView) SetUnitStatus(s model.Status) error {
	// What the agent has still to tell of the workload is overtaken.
	give, err := v.u.desire.hold(v.ctx)
	if err != nil {
		return errors.Trace(err)
	}
	defer give()
	if err := v.model().SetCharmStatus(v.ctx, v.u.name, s); err != nil {
		return errors.Trace(err)
	}
	v.u.desire.overtake(true, false)
	return nil
}

// SetApplicationStatus is part of hookcontext.View.
func (v liveView) SetApplicationStatus(s model.Status) error {
	err := v.model().SetApplicationStatus(v.ctx, v.u.name, s)
	if errors.Is(err, state.ErrNotLeader) {
		return hookcontext.ErrNotLeader
	}
	return errors.Trace(err)
}

// Network is part of hookcontext.View: the host's, for every binding that the
// charm has.
func (v liveView) Network(binding string) (hookcontext.Network, error) {
	known := binding == "" || slices.Contains(v.charm.Bindings, binding)
	for _, e := range v.charm.EndpointsOf(v.u.name.Application()) {
		known = known || e.Name == binding
	}
	if !known {
		return hookcontext.Network{}, errors.NotFoundf("binding %q", binding)
	}
	return v.u.host.Network, nil
}

// PublicAddress is part of hookcontext.View.
func (v liveView) PublicAddress() (string, error) {
	c := v.u.cell.Load()
	if len(v.u.host.Addresses) == 0 || c != nil && c.sidecar { // none is of public scope
		return "", errors.NotFoundf("public address")
	}
	return v.u.host.Addresses[0], nil
}

// GoalState is part of hookcontext.View.
func (v liveView) GoalState() (hookcontext.GoalState, error) {
	g, err := v.model().GoalState(v.ctx, v.u.name)
	out := hookcontext.GoalState{Units: goals(g.Units), Relations: map[string]map[string]hookcontext.Goal{}}
	for endpoint, m := range g.Relations {
		out.Relations[endpoint] = goals(m)
	}
	return out, errors.Trace(err)
}

func goals(from map[string]state.Goal) map[string]hookcontext.Goal {
	out := make(map[string]hookcontext.Goal, len(from))
	for k, g := range from {
		out[k] = hookcontext.Goal(g)
	}
	return out
}

// Storage is part of hookcontext.View.
func (v liveView) Storage() ([]hookcontext.Storage, error) {
	all, err := v.model().StorageOf(v.ctx, v.u.name)
	var out []hookcontext.Storage
	for _, s := range state.Undetached(all) {
		out = append(out, hookcontext.Storage{ID: s.ID, Kind: s.Kind, Location: s.Attachment.Location})
	}
	return out, errors.Trace(err)
}

// Log is part of hookcontext.View.
func (v liveView) Log(level, message string) {
	v.tail.log(level, v.u.mask.text(message))
	v.u.logLine(debuglog.Entry{Level: level, Module: "unit." + string(v.u.name) + ".juju-log", Message: message})
}

// LogAction is part of hookcontext.View.
func (v liveView) LogAction(message string) error {
	v.u.logLine(debuglog.Entry{Level: "INFO", Module: "unit." + string(v.u.name) + ".action-log", Message: message})
	return v.model().LogTask(v.ctx, v.task, message)
}
