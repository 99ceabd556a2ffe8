package state_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func TestDeploy(t *testing.T) {
	t.Parallel()

	t.Run("an application, its peer relations and its units are there when deploy returns", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 2)
		app, err := w.Application(w.ctx, "mysql")
		w.ok(err)
		if want := (state.ApplicationDoc{Name: "mysql", Charm: "local:mysql-0", Units: 2, Relations: 1, NextUnit: 2}); app != want {
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

	t.Run("an application that isn't alive is left as it is", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.enter("mysql/0")
		destroy(w, "mysql")
		w.is("application", w.appLife("mysql"), "dying")
		destroy(w, "mysql")
		w.is("application", w.appLife("mysql"), "dying")
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

func TestSetConfig(t *testing.T) {
	t.Parallel()
	options := map[string]model.ConfigOption{
		"title": {Type: "string", Default: "Shop"},
		"size":  {Type: "int"},
		"debug": {Type: "boolean", Default: false},
		"ratio": {Type: "float", Default: 1.5},
	}
	for _, tt := range []struct {
		name  string
		set   map[string]string
		reset []string
		fails string
		want  map[string]any // of Set
		value any            // of title
	}{
		{name: "an option that isn't set has its default", value: "Shop"},
		{name: "text becomes a value of the option's type",
			set:  map[string]string{"title": "7", "size": "7", "debug": "true", "ratio": "7"},
			want: map[string]any{"title": "7", "size": 7.0, "debug": true, "ratio": 7.0}, value: "7"},
		{name: "an empty string is a value", set: map[string]string{"title": ""}, want: map[string]any{"title": ""}, value: ""},
		{name: "reset gives the default again", set: map[string]string{"title": "x"}, reset: []string{"title"}, value: "Shop"},
		{name: "an unknown option is refused with all others", set: map[string]string{"title": "x", "k": "v"},
			fails: `parsing settings for application: unknown option "k"`, value: "Shop"},
		{name: "a value of another type is refused", set: map[string]string{"size": "abc"},
			fails: `parsing settings for application: option "size" expected int, got "abc"`, value: "Shop"},
		{name: "resetting an unknown option is refused", reset: []string{"k"},
			fails: `updating application charm settings: unknown option "k"`, value: "Shop"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := charm(mysql)
			c.Options = options
			w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "mysql", Charm: w.addCharm(c)}))
			err := w.SetConfig(w.ctx, "mysql", tt.set, nil)
			if err == nil {
				err = w.SetConfig(w.ctx, "mysql", nil, tt.reset)
			}
			if tt.fails != "" {
				w.fails(err, tt.fails)
			} else {
				w.ok(err)
			}
			conf, err := w.Config(w.ctx, "mysql")
			w.ok(err)
			if !maps.Equal(conf.Set, tt.want) {
				t.Errorf("set is %v, want %v", conf.Set, tt.want)
			}
			if conf.Values["title"] != tt.value || len(conf.Values) != len(options) {
				t.Errorf("values are %v", conf.Values)
			}
		})
	}
}

func TestSetCharm(t *testing.T) {
	t.Parallel()
	const old = "shop db=requirer:mysql cluster=peer:shop-cluster"
	for _, tt := range []struct {
		name, charm, fails string
		relations          string // afterwards
	}{
		{"a charm with the same endpoints is taken", old, "", "shop:cluster shop:db mysql:server"},
		{"a new peer endpoint gets its relation", old + " ring=peer:ring", "", "shop:cluster shop:db mysql:server shop:ring"},
		{"an endpoint that nobody uses may go", "shop db=requirer:mysql cluster=peer:shop-cluster", "", "shop:cluster shop:db mysql:server"},
		{"a charm without an endpoint in use is refused", "shop cluster=peer:shop-cluster",
			`cannot upgrade application "shop" to charm "shop": would break relation "shop:db mysql:server"`, ""},
		{"an endpoint in use doesn't change its interface", "shop db=requirer:pgsql cluster=peer:shop-cluster",
			`cannot upgrade application "shop" to charm "shop": would break relation "shop:db mysql:server"`, ""},
		{"an endpoint in use doesn't change its role", "shop db=provider:mysql cluster=peer:shop-cluster",
			`cannot upgrade application "shop" to charm "shop": would break relation "shop:db mysql:server"`, ""},
		{"a principal doesn't become a subordinate", old + " subordinate",
			`cannot upgrade application "shop" to charm "shop": cannot change an application's subordinacy`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.deploy(old+" spare=requirer:spare", 1)
			w.deploy("mysql server=provider:mysql", 1)
			w.relate("shop", "mysql")
			err := w.SetCharm(w.ctx, "shop", w.addCharm(charm(tt.charm)), true)
			app, aerr := w.Application(w.ctx, "shop")
			w.ok(aerr)
			if tt.fails != "" {
				w.fails(err, tt.fails)
				w.is("charm", app.Charm, "local:shop-0")
				return
			}
			w.ok(err)
			w.is("charm", app.Charm, "local:shop-1")
			if !app.Forced {
				t.Error("force is forgotten")
			}
			w.is("relations", w.relationKeys("shop"), tt.relations)
		})
	}
}

func TestSetCharmKeepsWhatStillFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := charm(mysql)
	c.Options = map[string]model.ConfigOption{"kept": {Type: "int"}, "dropped": {Type: "string"}, "retyped": {Type: "string"}}
	w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "mysql", Charm: w.addCharm(c)}))
	w.ok(w.SetConfig(w.ctx, "mysql", map[string]string{"kept": "1", "dropped": "x", "retyped": "x"}, nil))
	c.Options = map[string]model.ConfigOption{"kept": {Type: "int"}, "retyped": {Type: "int", Default: 5}, "added": {Type: "string", Default: "new"}}
	w.ok(w.SetCharm(w.ctx, "mysql", w.addCharm(c), false))
	conf, err := w.Config(w.ctx, "mysql")
	w.ok(err)
	want := map[string]any{"kept": int64(1), "retyped": int64(5), "added": "new"}
	if !maps.Equal(conf.Values, want) {
		t.Errorf("got %v, want %v", conf.Values, want)
	}
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
