package state_test

import (
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func TestSnapshot(t *testing.T) {
	t.Parallel()

	t.Run("a unit sees its application's relations by endpoint name, then by id", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy("shop zoo=requirer:zoo db=requirer:mysql cluster=peer:shop", 1)
		w.deploy("zoo animals=provider:zoo", 0)
		for _, name := range []string{"first", "second"} {
			w.deploy(name+" server=provider:mysql", 0)
		}
		w.relate("shop", "zoo")
		w.relate("shop", "second")
		w.relate("shop", "first")
		var got []string
		for _, r := range w.snapshot("shop/0").Relations {
			got = append(got, r.Own.Name+"-"+r.Other.Application)
		}
		w.is("order", strings.Join(got, " "), "cluster-shop db-second db-first zoo-zoo")
	})

	t.Run("a relation says what the unit needs to decide", func(t *testing.T) {
		t.Parallel()
		w, id := pair(t)
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 1, Changes: everything(id), LeaveScope: model.NoRelation}))
		s := w.snapshot("wordpress/0")
		r := s.Relations[0]
		if len(s.Relations) != 1 || r.ID != id || r.Own.String() != "wordpress:db" || r.Other.String() != "mysql:server" ||
			!r.InScope || r.ApplicationVersion != 1 || r.Life != model.Alive || r.Suspended {
			t.Errorf("got %+v", s.Relations)
		}
		w.leave("wordpress/0", id)
		w.ok(w.Suspend(w.ctx, "", id))
		r = w.snapshot("wordpress/0").Relations[0]
		if r.InScope || !r.Suspended {
			t.Errorf("got %+v", r)
		}
	})

	t.Run("a peer's own application settings are those that it is told of", func(t *testing.T) {
		t.Parallel()
		w, _ := pair(t)
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 1, Changes: model.Changes{
			Relations: map[model.RelationID]model.RelationChange{0: {Application: model.Settings{"a": "1"}}},
		}, LeaveScope: model.NoRelation}))
		for _, u := range []model.UnitName{"mysql/0", "mysql/1"} {
			if r := w.snapshot(u).Relations[0]; r.Own.Name != "cluster" || r.ApplicationVersion != 1 {
				t.Errorf("%s sees %+v", u, r)
			}
		}
	})

	t.Run("it has the model's settings", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		if s := w.snapshot("mysql/0"); !s.Retry || s.StatusInterval != 5*time.Minute {
			t.Errorf("got %v, %v", s.Retry, s.StatusInterval)
		}
		w.ok(w.SetModelConfig(w.ctx, map[string]string{"automatically-retry-hooks": "false", "update-status-hook-interval": "10s"}, nil))
		if s := w.snapshot("mysql/0"); s.Retry || s.StatusInterval != 10*time.Second {
			t.Errorf("got %v, %v", s.Retry, s.StatusInterval)
		}
	})

	t.Run("a unit that isn't there is not found", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		_, err := w.Snapshot(w.ctx, "mysql/0")
		w.fails(err, `unit "mysql/0" not found`)
		if !errors.Is(err, errors.NotFound) {
			t.Error("error is not NotFound")
		}
	})

	t.Run("a unit without an application is told so by its life", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.enter("mysql/0")
		_, err := w.DestroyApplication(w.ctx, "mysql")
		w.ok(err)
		w.orphaned("mysql/0", `application "mysql" is being removed`)
	})
}

func TestConfigHash(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*world) error
		moves  bool
	}{
		{"configuration", func(w *world) error {
			return w.SetConfig(w.ctx, "mysql", map[string]string{"size": "4"}, nil)
		}, true},
		{"trust", func(w *world) error { return w.SetTrust(w.ctx, "mysql", true) }, true},
		{"the machine's addresses", func(w *world) error {
			return w.SetMachine(w.ctx, state.MachineDoc{ID: "0", Hostname: "host", Addresses: []string{"10.0.0.9"}})
		}, true},
		{"the charm", func(w *world) error {
			return w.SetCharm(w.ctx, "mysql", w.addCharm(sized()), false)
		}, true},
		{"nothing", func(*world) error { return nil }, false},
		{"a value set to what it is", func(w *world) error {
			return w.SetConfig(w.ctx, "mysql", map[string]string{"size": "3"}, nil)
		}, false},
		{"a default that is set", func(w *world) error {
			return w.SetConfig(w.ctx, "mysql", map[string]string{"ratio": "1"}, nil)
		}, false},
		{"a value set and set back", func(w *world) error {
			w.ok(w.SetConfig(w.ctx, "mysql", map[string]string{"size": "4"}, nil))
			return w.SetConfig(w.ctx, "mysql", map[string]string{"size": "3"}, nil)
		}, false},
		{"the machine's name", func(w *world) error {
			return w.SetMachine(w.ctx, state.MachineDoc{ID: "0", Hostname: "other", Addresses: nil})
		}, false},
		{"exposure", func(w *world) error { return w.SetExposed(w.ctx, "mysql", true) }, false},
		{"a status", func(w *world) error {
			return w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", model.Status{Status: "active"})
		}, false},
		{"another unit's addresses", func(w *world) error {
			return w.SetMachine(w.ctx, state.MachineDoc{ID: "1", Hostname: "host", Addresses: []string{"10.0.0.9"}})
		}, false},
	} {
		t.Run(tt.name+map[bool]string{true: " changes it", false: " doesn't change it"}[tt.moves], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "mysql", Charm: w.addCharm(sized()), Units: 2,
				Config: map[string]any{"size": int64(3)}}))
			before := w.snapshot("mysql/0").ConfigHash
			w.ok(tt.change(w))
			after := w.snapshot("mysql/0").ConfigHash
			if (before != after) != tt.moves {
				t.Errorf("hash was %s and is %s", before, after)
			}
			// Who reads the model for the first time sees the same.
			other, err := w.controller.Model(w.ctx, "shop")
			w.ok(err)
			s, err := other.Snapshot(w.ctx, "mysql/0")
			w.ok(err)
			w.is("hash for a new reader", s.ConfigHash, after)
		})
	}
}

// sized is mysql with options.
func sized() model.Charm {
	c := charm(mysql)
	c.Options = map[string]model.ConfigOption{"size": {Type: "int"}, "ratio": {Type: "float", Default: 1.0}}
	return c
}
