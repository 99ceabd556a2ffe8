package state_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Seed 000, "remove-application".
func TestDestroyApplication(t *testing.T) {
	t.Parallel()
	destroy := func(w *world, app string) state.Removal {
		w.Helper()
		gone, err := w.DestroyApplication(w.ctx, app)
		w.ok(err)
		return gone
	}

	t.Run("an application without units and relations is removed at once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 0)
		destroy(w, "wordpress")
		w.is("application", w.appLife("wordpress"), "gone")
	})

	t.Run("units that no agent has taken on go with it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 3)
		gone := destroy(w, "mysql")
		if want := []model.UnitName{"mysql/0", "mysql/1", "mysql/2"}; !slices.Equal(gone.Units, want) {
			t.Errorf("told of %v, want %v", gone.Units, want)
		}
		w.is("application", w.appLife("mysql"), "gone")
		w.is("machines", w.machineIDs(), "")
		w.is("peer relation", w.relationLife(0), "gone")
	})

	t.Run("an application with a unit is dying until the last one is removed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 2)
		w.enter("wordpress/0")
		w.enter("wordpress/1")
		destroy(w, "wordpress")
		w.is("application", w.appLife("wordpress"), "dying")
		w.is("its unit, whose agent has to mark it", w.unitLife("wordpress/0"), "alive")
		w.remove("wordpress/1")
		w.is("application", w.appLife("wordpress"), "dying")
		w.remove("wordpress/0")
		w.is("application", w.appLife("wordpress"), "gone")
	})

	t.Run("a relation that nobody is in goes at once, and the other application stays", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 1)
		id := w.relate("wordpress", "mysql")
		gone := destroy(w, "wordpress")
		if len(gone.Relations) != 1 || gone.Relations[0] != "wordpress:db mysql:server" {
			t.Errorf("told of %q", gone.Relations)
		}
		w.is("relation", w.relationLife(id), "gone")
		w.is("application", w.appLife("wordpress"), "gone")
		w.is("the other application", w.appLife("mysql"), "alive")
	})

	t.Run("the last unit to leave a dying relation removes the other application, if that is dying without units", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 1)
		id := w.relate("wordpress", "mysql")
		w.enter("wordpress/0", id)
		w.enter("mysql/0", id)
		destroy(w, "wordpress")
		w.is("relation", w.relationLife(id), "dying")
		w.leave("wordpress/0", id)
		w.remove("wordpress/0")
		w.is("application, which the relation still refers to", w.appLife("wordpress"), "dying")
		w.leave("mysql/0", id)
		w.is("relation", w.relationLife(id), "gone")
		w.is("application", w.appLife("wordpress"), "gone")
		w.is("application of the unit that left", w.appLife("mysql"), "alive")
	})

	t.Run("of an application that is dying it says what is left", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 2)
		w.enter("mysql/0", 0)
		w.enter("mysql/1")
		told := func(want string) {
			t.Helper()
			if got := destroy(w, "mysql"); fmt.Sprint(got.Units, got.Relations) != want {
				t.Errorf("told of %v, want %s", got, want)
			}
			w.is("application", w.appLife("mysql"), "dying")
		}
		told("[mysql/0 mysql/1] [mysql:cluster]")
		told("[mysql/0 mysql/1] [mysql:cluster]")
		w.remove("mysql/1")
		told("[mysql/0] [mysql:cluster]")
	})

	t.Run("a newer one of the same name, meanwhile, is left alone", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.between(1, func() {
			destroy(w, "mysql")
			w.deploy(mysql, 1)
		}, func(m *state.Model) error {
			_, err := m.DestroyApplication(w.ctx, "mysql")
			return err
		})
		w.is("application", w.appLife("mysql"), "alive")
		w.is("unit", w.unitLife("mysql/0"), "alive")
		w.is("peer relation", w.relationLife(1), "alive")
	})

	t.Run("whoever is cut off has begun what the agent ends", func(t *testing.T) {
		t.Parallel()
		w, id := pair(t)
		w.cutOff(1, func(m *state.Model) error {
			_, err := m.DestroyApplication(w.ctx, "mysql")
			return err
		})
		w.is("application", w.appLife("mysql"), "dying")
		w.is("its relation", w.relationLife(id), "alive")
		w.ok(w.RunCleanups(w.ctx))
		w.is("its relation", w.relationLife(id), "dying")
		for _, u := range []model.UnitName{"mysql/0", "mysql/1"} {
			w.leave(u, 0, id)
			w.remove(u)
		}
		w.leave("wordpress/0", id)
		w.is("application", w.appLife("mysql"), "gone")
	})

	t.Run("what is left to the agent isn't done to a newer one of the same name", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.enter("mysql/0", 0)
		destroy(w, "mysql")
		w.ok(w.ForceRemoveUnit(w.ctx, "mysql/0"))
		w.is("application", w.appLife("mysql"), "gone")
		w.deploy(mysql, 1)
		w.ok(w.RunCleanups(w.ctx))
		w.is("application", w.appLife("mysql"), "alive")
		w.is("unit", w.unitLife("mysql/0"), "alive")
		w.is("peer relation", w.relationLife(1), "alive")
	})

	t.Run("an application that isn't there is not found", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		_, err := w.DestroyApplication(w.ctx, "nope")
		w.fails(err, `application "nope" not found`)
	})

	t.Run("its name and its units' names can be used again, without what they had", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		c := charm(mysql)
		c.Options = map[string]model.ConfigOption{"size": {Type: "int"}}
		url := w.addCharm(c)
		w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "mysql", Charm: url, Units: 1, Config: map[string]any{"size": int64(3)}}))
		w.ok(w.SetStatus(w.ctx, state.ApplicationStatus, "mysql", model.Status{Status: "active", Message: "old"}))
		w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", model.Status{Status: "active", Message: "old"}))
		value := "old"
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 1, LeaveScope: model.NoRelation,
			Changes: model.Changes{State: map[string]*string{"k": &value}, WorkloadVersion: &value}}))
		destroy(w, "mysql")
		w.is("application", w.appLife("mysql"), "gone")

		w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "mysql", Charm: url, Units: 1}))
		w.ok(w.RunCleanups(w.ctx))
		conf, err := w.Config(w.ctx, "mysql")
		w.ok(err)
		charmState, err := w.CharmState(w.ctx, "mysql/0")
		w.ok(err)
		if len(conf.Set) > 0 || len(charmState) > 0 {
			t.Errorf("configuration %v, charm's state %v", conf.Set, charmState)
		}
		for _, kind := range []state.StatusKind{state.WorkloadStatus, state.AgentStatus} {
			history, err := w.StatusHistory(w.ctx, kind, "mysql/0")
			w.ok(err)
			if len(history) != 1 {
				t.Errorf("%s history is %+v, want only what the new unit began with", kind, history)
			}
		}
		history, err := w.StatusHistory(w.ctx, state.ApplicationStatus, "mysql")
		w.ok(err)
		if len(history) > 0 {
			t.Errorf("history of the application: %+v", history)
		}
	})
}
