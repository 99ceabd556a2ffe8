package state_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func TestEnterScope(t *testing.T) {
	t.Parallel()
	related := func(t *testing.T) (*world, model.RelationID) {
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 2)
		id := w.relate("wordpress", "mysql")
		w.enter("wordpress/0")
		w.enter("mysql/0")
		w.enter("mysql/1")
		return w, id
	}
	refused := func(w *world, unit model.UnitName, id model.RelationID) {
		w.Helper()
		before, err := w.InScope(w.ctx, id)
		w.ok(err)
		if err := w.EnterScope(w.ctx, unit, id, nil); !errors.Is(err, state.ErrCannotEnterScope) {
			w.Errorf("entering: %v", err)
		}
		after, err := w.InScope(w.ctx, id)
		w.ok(err)
		if !slices.Equal(after, before) {
			w.Errorf("in scope are %v, want %v", after, before)
		}
	}

	t.Run("a unit that shows itself has its settings", func(t *testing.T) {
		t.Parallel()
		w, id := related(t)
		want := model.Settings{"private-address": "10.0.0.7"}
		w.ok(w.EnterScope(w.ctx, "mysql/0", id, want))
		got, err := w.Settings(w.ctx, id, "mysql/0")
		w.ok(err)
		if !maps.Equal(got, want) {
			t.Errorf("settings %v", got)
		}
		w.members("wordpress/0", id, model.Member{Unit: "mysql/0", Version: 1})
	})

	t.Run("entering twice is entering once", func(t *testing.T) {
		t.Parallel()
		w, id := related(t)
		w.ok(w.EnterScope(w.ctx, "mysql/0", id, model.Settings{"a": "1"}))
		w.ok(w.EnterScope(w.ctx, "mysql/0", id, model.Settings{"a": "2"}))
		in, err := w.InScope(w.ctx, id)
		w.ok(err)
		got, err := w.Settings(w.ctx, id, "mysql/0")
		w.ok(err)
		if len(in) != 1 || got["a"] != "1" {
			t.Errorf("%d units in scope, settings %v", len(in), got)
		}
	})

	t.Run("a unit that is dying doesn't enter", func(t *testing.T) {
		t.Parallel()
		w, id := related(t)
		w.ok(w.SetDying(w.ctx, "mysql/0"))
		refused(w, "mysql/0", id)
	})

	t.Run("nobody enters a dying relation", func(t *testing.T) {
		t.Parallel()
		w, id := related(t)
		w.enter("mysql/0", id)
		w.ok(w.DestroyRelation(w.ctx, "wordpress", "mysql"))
		refused(w, "wordpress/0", id)
	})

	t.Run("nobody enters a suspended relation until it is resumed", func(t *testing.T) {
		t.Parallel()
		w, id := related(t)
		w.ok(w.Suspend(w.ctx, "", id))
		refused(w, "wordpress/0", id)
		w.ok(w.Resume(w.ctx, id))
		w.enter("wordpress/0", id)
	})

	t.Run("a unit doesn't enter a relation of other applications", func(t *testing.T) {
		t.Parallel()
		w, id := related(t)
		w.deploy("other", 1)
		refused(w, "other/0", id)
	})

	t.Run("a unit that is in a dying relation already has entered it", func(t *testing.T) {
		t.Parallel()
		w, id := related(t)
		w.enter("mysql/0", id)
		w.ok(w.DestroyRelation(w.ctx, "wordpress", "mysql"))
		w.ok(w.EnterScope(w.ctx, "mysql/0", id, nil))
	})

	t.Run("a relation that is gone is not found", func(t *testing.T) {
		t.Parallel()
		w, _ := related(t)
		if err := w.EnterScope(w.ctx, "mysql/0", 99, nil); !errors.Is(err, errors.NotFound) {
			t.Errorf("got %v", err)
		}
	})
}

func TestLeaveScope(t *testing.T) {
	t.Parallel()

	t.Run("a unit that left isn't seen, but what it said is", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 1)
		id := w.relate("wordpress", "mysql")
		w.enter("mysql/0", id)
		w.leave("mysql/0", id)
		w.members("wordpress/0", id)
		if s, err := w.Settings(w.ctx, id, "mysql/0"); err != nil || s["private-address"] == "" {
			t.Errorf("settings %v, %v", s, err)
		}
		w.is("relation, which is alive", w.relationLife(id), "alive")
	})

	t.Run("leaving twice is leaving once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 1)
		id := w.relate("wordpress", "mysql")
		w.enter("mysql/0", id)
		w.enter("wordpress/0", id)
		w.leave("mysql/0", id, id)
		in, err := w.InScope(w.ctx, id)
		w.ok(err)
		if len(in) != 1 {
			t.Errorf("%d units in scope, want 1", len(in))
		}
		w.leave("mysql/0", 99) // neither is leaving what is gone an error
	})

	t.Run("who comes back is a new member with a version of its own", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 1)
		id := w.relate("wordpress", "mysql")
		w.ok(w.EnterScope(w.ctx, "mysql/0", id, model.Settings{"a": "1"}))
		w.leave("mysql/0", id)
		w.ok(w.EnterScope(w.ctx, "mysql/0", id, model.Settings{"a": "2"}))
		w.members("wordpress/0", id, model.Member{Unit: "mysql/0", Version: 2})
	})
}

func TestWhoSeesWhom(t *testing.T) {
	t.Parallel()

	t.Run("providers see requirers and the other way round, in order of their numbers", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 11)
		w.deploy(mysql, 2)
		id := w.relate("wordpress", "mysql")
		for _, u := range []model.UnitName{"wordpress/10", "wordpress/2", "mysql/1", "mysql/0"} {
			w.enter(u, id)
		}
		one := func(u model.UnitName) model.Member { return model.Member{Unit: u, Version: 1} }
		w.members("mysql/0", id, one("wordpress/2"), one("wordpress/10"))
		w.members("wordpress/2", id, one("mysql/0"), one("mysql/1"))
		w.members("wordpress/5", id, one("mysql/0"), one("mysql/1")) // not in scope itself
	})

	t.Run("peers see all other peers", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 3)
		for _, u := range []model.UnitName{"mysql/0", "mysql/1", "mysql/2"} {
			w.enter(u, 0)
		}
		w.members("mysql/1", 0, model.Member{Unit: "mysql/0", Version: 1}, model.Member{Unit: "mysql/2", Version: 1})
	})

	t.Run("in a container relation a family sees itself only", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 2)
		w.deploy(logging, 0)
		id := w.relate("wordpress", "logging:info")
		w.enter("wordpress/0", id)
		w.enter("wordpress/1", id)
		w.enter("logging/0", id)
		w.enter("logging/1", id)
		w.members("wordpress/0", id, model.Member{Unit: "logging/0", Version: 1})
		w.members("logging/1", id, model.Member{Unit: "wordpress/1", Version: 1})
	})

	t.Run("a subordinate has no part in the container relation of another family", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 1)
		w.deploy(logging, 0)
		ours := w.relate("wordpress", "logging:info")
		theirs := w.relate("mysql", "logging:info")
		w.enter("wordpress/0", ours)
		w.enter("mysql/0", theirs)
		s := w.snapshot("logging/0")
		if len(s.Relations) != 1 || s.Relations[0].ID != ours {
			t.Errorf("logging/0 sees relations %+v, want %d", s.Relations, ours)
		}
		if err := w.EnterScope(w.ctx, "logging/0", theirs, nil); !errors.Is(err, state.ErrCannotEnterScope) {
			t.Errorf("entering the other: %v", err)
		}
		w.enter("logging/0", ours)
		w.enter("logging/1", theirs)
	})
}

// members checks whom a unit sees in a relation.
func (w *world) members(unit model.UnitName, id model.RelationID, want ...model.Member) {
	w.Helper()
	for _, r := range w.snapshot(unit).Relations {
		if r.ID != id {
			continue
		}
		if len(r.Members) != len(want) {
			w.Errorf("%s sees %v in relation %d, want %v", unit, r.Members, id, want)
			return
		}
		for i := range want {
			if r.Members[i] != want[i] {
				w.Errorf("%s sees %v in relation %d, want %v", unit, r.Members, id, want)
				return
			}
		}
		return
	}
	w.Errorf("%s doesn't see relation %d", unit, id)
}

func (w *world) snapshot(unit model.UnitName) *state.Snapshot {
	w.Helper()
	s, err := w.Snapshot(w.ctx, unit)
	w.ok(err)
	return s
}

// orphaned checks whether, and why, a unit has to mark itself Dying.
func (w *world) orphaned(unit model.UnitName, reason string) {
	w.Helper()
	s := w.snapshot(unit)
	if s.Orphaned != (reason != "") || s.OrphanReason != reason {
		w.Errorf("%s: orphaned %v, %q; want %q", unit, s.Orphaned, s.OrphanReason, reason)
	}
}
