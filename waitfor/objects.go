package waitfor

import (
	"maps"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// The schemas of what can be waited for.

// MachineSchema is that of machines. The status is the agent's.
func MachineSchema() Schema {
	return Schema{"a machine", map[string]typ{
		"id": {is: words}, "life": {is: words}, "status": {is: words}, "instance-status": {is: words}, "base": {is: words},
		"container-type": {is: words}, "config": {is: entries}, "supported-containers": {is: entries}, "system": {is: words},
	}}
}

// UnitSchema is that of units.
func UnitSchema() Schema {
	machine := MachineSchema()
	return Schema{"a unit", map[string]typ{
		"name": {is: words}, "application": {is: words}, "base": {is: words}, "charm-url": {is: words}, "life": {is: words},
		"public-address": {is: words}, "private-address": {is: words}, "machine-id": {is: words}, "principal": {is: words},
		"subordinate": {is: truth}, "workload-status": {is: words}, "workload-message": {is: words}, "agent-status": {is: words},
		"machines": {things, &machine},
	}}
}

// ApplicationSchema is that of applications.
func ApplicationSchema() Schema {
	unit, machine := UnitSchema(), MachineSchema()
	return Schema{"an application", map[string]typ{
		"name": {is: words}, "life": {is: words}, "exposed": {is: truth}, "charm-url": {is: words}, "min-units": {is: count},
		"subordinate": {is: truth}, "status": {is: words}, "workload-version": {is: words},
		"units": {things, &unit}, "machines": {things, &machine},
	}}
}

// ModelSchema is that of models.
func ModelSchema() Schema {
	application, unit, machine := ApplicationSchema(), UnitSchema(), MachineSchema()
	return Schema{"a model", map[string]typ{
		"name": {is: words}, "life": {is: words}, "is-controller": {is: truth}, "status": {is: words}, "config": {is: entries},
		"applications": {things, &application}, "units": {things, &unit}, "machines": {things, &machine},
	}}
}

// Application is one of a model; false: the model hasn't got it.
func Application(s *state.FullStatus, name string) (Object, bool) {
	for _, app := range s.Applications {
		if app.Name == name {
			return application(s, app), true
		}
	}
	return nil, false
}

func application(s *state.FullStatus, app state.ApplicationView) Object {
	units, machines := Set{}, Set{}
	for _, u := range app.Units {
		units[string(u.Name)] = unit(s, app, u)
		maps.Copy(machines, machinesOf(s, u))
	}
	return Object{
		"name": app.Name, "life": app.Life.String(), "exposed": app.Exposed, "charm-url": app.Charm, "min-units": float64(0),
		"subordinate": app.Subordinate, "status": app.Status.Status, "workload-version": app.Version, "units": units, "machines": machines,
	}
}

// Unit is one of a model; false: the model hasn't got it.
func Unit(s *state.FullStatus, name model.UnitName) (Object, bool) {
	for _, app := range s.Applications {
		for _, u := range app.Units {
			if u.Name == name {
				return unit(s, app, u), true
			}
		}
	}
	return nil, false
}

func unit(s *state.FullStatus, app state.ApplicationView, u state.UnitView) Object {
	return Object{
		"name": string(u.Name), "application": app.Name, "base": app.OnBase().String(), "charm-url": app.Charm, "life": u.Life.String(),
		"public-address": u.Address, "private-address": u.Address, "machine-id": u.Machine, "principal": string(u.Principal),
		"subordinate": u.Principal != "", "workload-status": u.Workload.Status, "workload-message": u.Workload.Message,
		"agent-status": u.Agent.Status, "machines": machinesOf(s, u),
	}
}

// machinesOf is the machine that a unit is on, if people see it.
func machinesOf(s *state.FullStatus, u state.UnitView) Set {
	if m, ok := Machine(s, u.Machine); ok {
		return Set{u.Machine: m}
	}
	return Set{}
}

// Machine is one of a model; false: the model hasn't got it.
func Machine(s *state.FullStatus, id string) (Object, bool) {
	for _, m := range s.Machines {
		if m.ID == id {
			return machine(m), true
		}
	}
	return nil, false
}

func machine(m state.MachineView) Object {
	instance := "running"
	if m.Started.IsZero() {
		instance = "pending"
	}
	system := ""
	if m.System != nil {
		system = m.System.String()
	}
	return Object{
		"id": m.ID, "life": m.Life.String(), "status": render.MachineStatus(m).Status, "instance-status": instance, "base": m.Base.String(), "system": system,
		"container-type": "", "config": Entries{}, "supported-containers": Entries{},
	}
}

// Model is a model with its configuration.
func Model(s *state.FullStatus, config map[string]string) Object {
	set := Entries{}
	for key, value := range config {
		set[key] = value
	}
	applications, units, machines := Set{}, Set{}, Set{}
	for _, app := range s.Applications {
		applications[app.Name] = application(s, app)
		for _, u := range app.Units {
			units[string(u.Name)] = unit(s, app, u)
		}
	}
	for _, m := range s.Machines {
		machines[m.ID] = machine(m)
	}
	return Object{
		"name": s.Model.Name, "life": s.Model.Life.String(), "is-controller": false, "status": render.ModelStatus(s.Model), "config": set,
		"applications": applications, "units": units, "machines": machines,
	}
}
