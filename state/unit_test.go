package state_test

import (
	"slices"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Seed 000, "remove-unit".
func TestDestroyUnit(t *testing.T) {
	t.Parallel()

	t.Run("a unit that an agent has taken on becomes dying", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.enter("mysql/0")
		w.ok(w.DestroyUnit(w.ctx, "mysql/0"))
		w.is("unit", w.unitLife("mysql/0"), "dying")
		w.ok(w.DestroyUnit(w.ctx, "mysql/0"))
		w.is("unit", w.unitLife("mysql/0"), "dying")
	})

	t.Run("a unit that no agent has taken on is gone at once, with its machine", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 2)
		w.ok(w.DestroyUnit(w.ctx, "mysql/0"))
		w.is("unit", w.unitLife("mysql/0"), "gone")
		w.is("machines", w.machineIDs(), "1")
		w.is("application", w.appLife("mysql"), "alive")
	})

	t.Run("a unit that is in a scope has an agent, whether it has said so or not", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.ok(w.EnterScope(w.ctx, "mysql/0", 0, nil))
		w.ok(w.DestroyUnit(w.ctx, "mysql/0"))
		w.is("unit", w.unitLife("mysql/0"), "dying")
	})

	t.Run("a unit that isn't there", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		err := w.DestroyUnit(w.ctx, "mysql/9")
		w.fails(err, `unit "mysql/9" does not exist`)
		if !errors.Is(err, errors.NotFound) {
			t.Error("error is not NotFound")
		}
	})
}

func TestNoLifeGoesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 1)
	w.enter("mysql/0")
	w.ok(w.SetDying(w.ctx, "mysql/0"))
	w.ok(w.SetDead(w.ctx, "mysql/0"))
	for _, step := range []func() error{
		func() error { return w.SetDying(w.ctx, "mysql/0") },
		func() error { return w.DestroyUnit(w.ctx, "mysql/0") },
		func() error { return w.SetDead(w.ctx, "mysql/0") },
		func() error { return w.SetDeployed(w.ctx, "mysql/0") },
		func() error { return w.SetUnitCharm(w.ctx, "mysql/0", "local:mysql-0") },
		func() error { return w.Tell(w.ctx, "mysql/0", state.Report{Failed: &state.FailureDoc{Run: 7}}) },
		func() error {
			return w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 1, LeaveScope: model.NoRelation})
		},
	} {
		w.ok(step())
		w.is("unit", w.unitLife("mysql/0"), "dead")
	}
}

func TestSetDead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(wordpress, 1)
	w.deploy(mysql, 1)
	id := w.relate("wordpress", "mysql")
	w.enter("mysql/0", id, 0)
	w.ok(w.SetDying(w.ctx, "mysql/0"))

	w.fails(w.SetDead(w.ctx, "mysql/0"), `unit "mysql/0" is in the scope of relation "mysql:cluster"`)
	w.leave("mysql/0", 0)
	w.fails(w.SetDead(w.ctx, "mysql/0"), `unit "mysql/0" is in the scope of relation "wordpress:db mysql:server"`)
	w.is("unit", w.unitLife("mysql/0"), "dying")
	w.leave("mysql/0", id)
	w.ok(w.SetDead(w.ctx, "mysql/0"))
	w.is("unit", w.unitLife("mysql/0"), "dead")
}

func TestRemoveUnit(t *testing.T) {
	t.Parallel()

	t.Run("only a dead unit is removed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.fails(w.RemoveUnit(w.ctx, "mysql/0"), `cannot remove unit "mysql/0": it is not dead`)
		w.ok(w.SetDying(w.ctx, "mysql/0"))
		w.fails(w.RemoveUnit(w.ctx, "mysql/0"), `cannot remove unit "mysql/0": it is not dead`)
	})

	t.Run("removing it again is no error", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.remove("mysql/0")
		w.ok(w.RemoveUnit(w.ctx, "mysql/0"))
		w.is("application, which is alive", w.appLife("mysql"), "alive")
	})

	t.Run("nothing is left of it but its number", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.enter("mysql/0", 0)
		lease, err := w.store.Grant(w.ctx, 1<<40)
		w.ok(err)
		leads, err := w.ClaimLeadership(w.ctx, "mysql/0", lease)
		w.ok(err)
		if !leads {
			t.Fatal("it doesn't lead")
		}
		value := "v"
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 1, LeaveScope: 0, Changes: model.Changes{
			State: map[string]*string{"k": &value},
			Ports: []model.PortChange{{Range: model.PortRange{From: 80, To: 80, Protocol: "tcp"}}},
		}}))
		w.remove("mysql/0")
		w.ok(w.RunCleanups(w.ctx))
		prefix := "m/" + w.UUID() + "/"
		for _, kind := range []string{"unit/", "machine/", "ports/", "charm-state/", "status/", "status-history/", "leader/", "scope/", "cleanup/"} {
			if keys := w.keys(prefix + kind); len(keys) > 0 {
				t.Errorf("left: %v", keys)
			}
		}
	})

	t.Run("a unit without an agent that answers can be removed by force", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 2)
		w.deploy(mysql, 1)
		w.deploy(logging, 0)
		db, info := w.relate("wordpress", "mysql"), w.relate("wordpress", "logging:info")
		w.enter("wordpress/0", db, info)
		w.enter("wordpress/1", db, info)
		w.enter("logging/0", info)
		w.enter("mysql/0", db)
		w.ok(w.ForceRemoveUnit(w.ctx, "wordpress/0"))
		w.is("units", w.unitNames(), "logging/1 mysql/0 wordpress/1")
		w.members("mysql/0", db, model.Member{Unit: "wordpress/1", Version: 1})
		w.ok(w.ForceRemoveUnit(w.ctx, "wordpress/0"))
	})

	t.Run("force takes the last reference to what was dying", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 1)
		id := w.relate("wordpress", "mysql")
		w.enter("wordpress/0", id)
		w.enter("mysql/0", id)
		_, err := w.DestroyApplication(w.ctx, "wordpress")
		w.ok(err)
		w.ok(w.ForceRemoveUnit(w.ctx, "wordpress/0"))
		w.is("application", w.appLife("wordpress"), "dying")
		w.ok(w.ForceRemoveUnit(w.ctx, "mysql/0"))
		w.is("application", w.appLife("wordpress"), "gone")
		w.is("relation", w.relationLife(id), "gone")
	})
}

func TestResolve(t *testing.T) {
	t.Parallel()

	t.Run("a unit that isn't in error is refused and nothing recorded", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		err := w.Resolve(w.ctx, "mysql/0", true)
		w.fails(err, `unit "mysql/0" is not in an error state`)
		if !errors.Is(err, errors.NotValid) {
			t.Error("error is not NotValid")
		}
		if u, err := w.Unit(w.ctx, "mysql/0"); err != nil || u.Resolved != (state.Resolved{}) {
			t.Errorf("recorded %+v, %v", u.Resolved, err)
		}
		w.fails(w.Resolve(w.ctx, "mysql/9", true), `unit "mysql/9" not found`)
	})

	t.Run("an answer names the run that it answers", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		for _, tt := range []struct {
			run   int64
			retry bool
			mode  string
		}{{3, true, "retry"}, {4, false, "skip"}} {
			w.ok(w.Tell(w.ctx, "mysql/0", state.Report{Failed: &state.FailureDoc{Run: tt.run}}))
			w.ok(w.Resolve(w.ctx, "mysql/0", tt.retry))
			u, err := w.Unit(w.ctx, "mysql/0")
			w.ok(err)
			if u.Resolved != (state.Resolved{Run: tt.run, Mode: tt.mode}) {
				t.Errorf("recorded %+v", u.Resolved)
			}
		}
	})

	t.Run("one failed run is answered once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.ok(w.Tell(w.ctx, "mysql/0", state.Report{Failed: &state.FailureDoc{Run: 3}}))
		w.ok(w.Resolve(w.ctx, "mysql/0", true))
		w.fails(w.Resolve(w.ctx, "mysql/0", false), `cannot set resolved mode for unit "mysql/0": already resolved`)
	})

	t.Run("a committed hook ends the error", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.ok(w.Tell(w.ctx, "mysql/0", state.Report{Failed: &state.FailureDoc{Run: 3}}))
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 4, LeaveScope: model.NoRelation}))
		w.fails(w.Resolve(w.ctx, "mysql/0", true), `unit "mysql/0" is not in an error state`)
	})
}

func TestSetMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 11)
	w.is("machines, by number", w.machineIDs(), "0 1 2 3 4 5 6 7 8 9 10")
	before := w.snapshot("mysql/0").ConfigHash
	w.ok(w.SetMachine(w.ctx, state.MachineDoc{ID: "0", Hostname: "host", Addresses: []string{"10.0.0.1", "10.0.0.2"}}))
	machines, err := w.Machines(w.ctx)
	w.ok(err)
	if m := machines[0]; m.Hostname != "host" || !slices.Equal(m.Addresses, []string{"10.0.0.1", "10.0.0.2"}) || m.Started != w.clock.Now() {
		t.Errorf("got %+v", m)
	}
	if w.snapshot("mysql/0").ConfigHash == before {
		t.Error("a new address doesn't change the configuration's hash")
	}
	w.fails(w.SetMachine(w.ctx, state.MachineDoc{ID: "99", Hostname: "host", Addresses: nil}), `machine "99" not found`)
}
