package state_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func TestDeploy(t *testing.T) {
	t.Parallel()

	t.Run("as many peer relations as a charm may have leave room for units", func(t *testing.T) {
		t.Parallel()
		for _, peers := range []int{0, 1, 9, 30, 38} {
			w := newWorld(t)
			line := "many"
			for i := range peers {
				line += fmt.Sprintf(" p%d=peer:i%d", i, i)
			}
			w.deploy(line, 45)
			units, err := w.Units(w.ctx)
			w.ok(err)
			if len(units) != 45 {
				t.Errorf("%d peer relations: %d units", peers, len(units))
			}
		}
	})

	t.Run("an application, its peer relations and its units are there when deploy returns", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 2)
		app, err := w.Application(w.ctx, "mysql")
		w.ok(err)
		if want := (state.ApplicationDoc{Name: "mysql", Charm: "local:mysql-0", Units: 2, Relations: 1, NextUnit: 2}); !reflect.DeepEqual(app, want) {
			t.Errorf("got %+v, want %+v", app, want)
		}
		rels, err := w.RelationsOf(w.ctx, "mysql")
		w.ok(err)
		if len(rels) != 1 || rels[0].Key != "mysql:cluster" || !rels[0].IsPeer() || rels[0].Life != model.Alive {
			t.Errorf("relations %+v", rels)
		}
		w.is("units", w.unitNames(), "mysql/0 mysql/1")
	})

	t.Run("each unit has a machine of its own, numbered over the model", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 2)
		w.deploy(wordpress, 1)
		for unit, machine := range map[model.UnitName]string{"mysql/0": "0", "mysql/1": "1", "wordpress/0": "2"} {
			u, err := w.Unit(w.ctx, unit)
			w.ok(err)
			w.is("machine of "+string(unit), u.Machine, machine)
		}
		w.is("machines", w.machineIDs(), "0 1 2")
	})

	t.Run("a new unit is waiting for its machine, its agent allocating", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.is("workload", w.status(state.WorkloadStatus, "mysql/0"), "waiting: waiting for machine")
		w.is("agent", w.status(state.AgentStatus, "mysql/0"), "allocating: ")
	})

	t.Run("more units than one transaction can make are all made, in order", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 40)
		units, err := w.Units(w.ctx)
		w.ok(err)
		if len(units) != 40 {
			t.Fatalf("%d units", len(units))
		}
		for i, u := range units {
			w.is("unit", string(u.Name), fmt.Sprintf("mysql/%d", i))
			w.is("machine", u.Machine, fmt.Sprint(i))
		}
	})
}

func TestDeployIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		args  state.DeployArgs
		fails string
		is    error
	}{
		{"a name in use", state.DeployArgs{Application: "mysql", Charm: "local:mysql-0"},
			`cannot add application "mysql": application already exists`, errors.AlreadyExists},
		{"a name that looks like a unit", state.DeployArgs{Application: "mysql-0", Charm: "local:mysql-0"},
			`invalid application name "mysql-0"`, errors.NotValid},
		{"no name", state.DeployArgs{Charm: "local:mysql-0"}, `invalid application name ""`, errors.NotValid},
		{"a charm that isn't there", state.DeployArgs{Application: "other", Charm: "local:other-3"},
			`charm "local:other-3" not found`, errors.NotFound},
		{"units of a subordinate", state.DeployArgs{Application: "logging", Charm: "local:logging-0", Units: 1},
			`cannot use --num-units with a subordinate application: its units come with the units it is related to`, errors.NotValid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.deploy(mysql, 1)
			w.addCharm(charm(logging))
			before := len(w.keys("m/"))
			err := w.Deploy(w.ctx, tt.args)
			w.fails(err, tt.fails)
			if !errors.Is(err, tt.is) {
				t.Errorf("error is not %v", tt.is)
			}
			if after := len(w.keys("m/")); after != before {
				t.Errorf("%d documents were left behind", after-before)
			}
		})
	}
}

func TestAddUnits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 1)
	w.deploy(logging, 0)

	names, err := w.AddUnits(w.ctx, "mysql", 17)
	w.ok(err)
	if len(names) != 17 || names[0] != "mysql/1" || names[16] != "mysql/17" {
		t.Errorf("added %v", names)
	}
	_, err = w.AddUnits(w.ctx, "nope", 1)
	w.fails(err, `application "nope" not found`)
	_, err = w.AddUnits(w.ctx, "logging", 1)
	w.fails(err, `cannot add unit to application "logging": it is a subordinate; integrate it with another application instead`)

	w.ok(w.SetDeployed(w.ctx, "mysql/0"))
	_, err = w.DestroyApplication(w.ctx, "mysql")
	w.ok(err)
	_, err = w.AddUnits(w.ctx, "mysql", 1)
	w.fails(err, `cannot add unit to application "mysql": application is not alive`)
}

func TestNumbersAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 2)
	w.remove("mysql/1")
	names, err := w.AddUnits(w.ctx, "mysql", 1)
	w.ok(err)
	w.is("the unit after one was removed", string(names[0]), "mysql/2")
	u, err := w.Unit(w.ctx, "mysql/2")
	w.ok(err)
	w.is("its machine", u.Machine, "2")

	// A new life of the application counts from the start; machines and
	// relations still don't.
	w.remove("mysql/0")
	w.remove("mysql/2")
	_, err = w.DestroyApplication(w.ctx, "mysql")
	w.ok(err)
	w.is("application", w.appLife("mysql"), "gone")
	w.deploy(mysql, 1)
	u, err = w.Unit(w.ctx, "mysql/0")
	w.ok(err)
	w.is("machine of the new mysql/0", u.Machine, "3")
	rels, err := w.RelationsOf(w.ctx, "mysql")
	w.ok(err)
	if len(rels) != 1 || rels[0].ID != 1 {
		t.Errorf("relations of the new mysql: %+v", rels)
	}
}

func TestSetExposedAndTrust(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 1)
	w.ok(w.SetExposed(w.ctx, "mysql", true))
	w.ok(w.SetTrust(w.ctx, "mysql", true))
	app, err := w.Application(w.ctx, "mysql")
	w.ok(err)
	if !app.Exposed || !app.Trust {
		t.Errorf("got %+v", app)
	}
	w.ok(w.SetExposed(w.ctx, "mysql", false))
	app, err = w.Application(w.ctx, "mysql")
	w.ok(err)
	if app.Exposed || !app.Trust {
		t.Errorf("got %+v", app)
	}
	w.fails(w.SetTrust(w.ctx, "nope", true), `application "nope" not found`)
}

// unitNames are all units in order.
func (w *world) unitNames() string {
	w.Helper()
	units, err := w.Units(w.ctx)
	w.ok(err)
	var names []string
	for _, u := range units {
		names = append(names, string(u.Name))
	}
	return strings.Join(names, " ")
}

func (w *world) machineIDs() string {
	w.Helper()
	machines, err := w.Machines(w.ctx)
	w.ok(err)
	var ids []string
	for _, m := range machines {
		ids = append(ids, m.ID)
	}
	return strings.Join(ids, " ")
}

func (w *world) relationKeys(app string) string {
	w.Helper()
	rels, err := w.RelationsOf(w.ctx, app)
	w.ok(err)
	var keys []string
	for _, r := range rels {
		keys = append(keys, r.Key)
	}
	return strings.Join(keys, " ")
}

// status is "word: message".
func (w *world) status(kind state.StatusKind, name string) string {
	w.Helper()
	s, err := w.StatusOf(w.ctx, kind, name)
	w.ok(err)
	return s.Status + ": " + s.Message
}
