package state_test

import (
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func TestLeadership(t *testing.T) {
	t.Parallel()
	three := func(t *testing.T) *world {
		w := newWorld(t)
		w.deploy(mysql, 3)
		for _, u := range []model.UnitName{"mysql/0", "mysql/1", "mysql/2"} {
			w.enter(u)
		}
		return w
	}
	claim := func(w *world, unit model.UnitName) bool {
		w.Helper()
		lease, err := w.store.Grant(w.ctx, time.Hour)
		w.ok(err)
		leads, err := w.ClaimLeadership(w.ctx, unit, lease)
		w.ok(err)
		epoch, on, err := w.Leads(w.ctx, unit)
		w.ok(err)
		asked := epoch > 0
		if asked && on != lease {
			w.Errorf("%s leads by lease %d, want %d", unit, on, lease)
		}
		if leads != asked || leads != w.snapshot(unit).Leader {
			w.Errorf("%s: claim says %v, IsLeader %v", unit, leads, asked)
		}
		return leads
	}

	t.Run("nobody leads before somebody has claimed it", func(t *testing.T) {
		t.Parallel()
		w := three(t)
		w.leaders("mysql", "", "")
		if epoch, _, err := w.Leads(w.ctx, "mysql/0"); epoch != 0 || err != nil {
			t.Errorf("got %v, %v", epoch, err)
		}
	})

	t.Run("the first to claim it leads, and the others don't", func(t *testing.T) {
		t.Parallel()
		w := three(t)
		if !claim(w, "mysql/1") || claim(w, "mysql/0") || !claim(w, "mysql/1") || claim(w, "mysql/2") {
			t.Error("a claim had another result")
		}
		w.leaders("mysql", "mysql/1", "mysql/1")
	})

	t.Run("leadership ends with its lease, and who had it is remembered", func(t *testing.T) {
		t.Parallel()
		w := three(t)
		lease := w.lead("mysql/0")
		w.ok(w.store.Revoke(w.ctx, lease))
		w.leaders("mysql", "", "mysql/0")
		if !claim(w, "mysql/2") {
			t.Error("nobody could claim it")
		}
		w.leaders("mysql", "mysql/2", "mysql/2")
	})

	t.Run("a leader that comes back with a new lease keeps leading", func(t *testing.T) {
		t.Parallel()
		w := three(t)
		old := w.lead("mysql/0")
		w.lead("mysql/0")
		w.ok(w.store.Revoke(w.ctx, old))
		w.leaders("mysql", "mysql/0", "mysql/0")
	})

	t.Run("each time of leading is an epoch of its own", func(t *testing.T) {
		t.Parallel()
		w := three(t)
		epoch := func(unit model.UnitName, want int64) {
			t.Helper()
			if got, _, err := w.Leads(w.ctx, unit); got != want || err != nil {
				t.Errorf("%s leads under epoch %d, %v, want %d", unit, got, err, want)
			}
		}
		w.lead("mysql/0")
		lease := w.lead("mysql/0") // the same time by another lease
		epoch("mysql/0", 1)
		w.ok(w.store.Revoke(w.ctx, lease))
		w.lead("mysql/0")
		epoch("mysql/0", 2)
		w.ok(w.Depose(w.ctx, "mysql"))
		epoch("mysql/0", 0)
		epoch("mysql/1", 3)
		w.ok(w.ReleaseLeadership(w.ctx, "mysql/1"))
		w.lead("mysql/0")
		epoch("mysql/0", 4)
	})

	t.Run("it can be released by who has it only", func(t *testing.T) {
		t.Parallel()
		w := three(t)
		w.lead("mysql/0")
		w.ok(w.ReleaseLeadership(w.ctx, "mysql/1"))
		w.leaders("mysql", "mysql/0", "mysql/0")
		w.ok(w.ReleaseLeadership(w.ctx, "mysql/0"))
		w.leaders("mysql", "", "mysql/0")
	})

	t.Run("a unit that is dying keeps it but can't get it", func(t *testing.T) {
		t.Parallel()
		w := three(t)
		w.ok(w.SetDying(w.ctx, "mysql/1"))
		if claim(w, "mysql/1") {
			t.Error("a dying unit got it")
		}
		w.lead("mysql/0")
		w.ok(w.SetDying(w.ctx, "mysql/0"))
		if !claim(w, "mysql/0") {
			t.Error("a dying unit lost it")
		}
	})

	t.Run("a unit that is removed leads no more, and the others may", func(t *testing.T) {
		t.Parallel()
		w := three(t)
		w.lead("mysql/0")
		w.remove("mysql/0")
		if !claim(w, "mysql/1") {
			t.Error("the next couldn't claim it")
		}
		w.remove("mysql/2") // who doesn't lead
		w.leaders("mysql", "mysql/1", "mysql/1")
	})

	t.Run("a lease that is over is no use", func(t *testing.T) {
		t.Parallel()
		w := three(t)
		lease, err := w.store.Grant(w.ctx, time.Hour)
		w.ok(err)
		w.ok(w.store.Revoke(w.ctx, lease))
		leads, err := w.ClaimLeadership(w.ctx, "mysql/0", lease)
		if leads || !errors.Is(err, errors.NotFound) {
			t.Errorf("got %v, %v", leads, err)
		}
		w.leaders("mysql", "", "")
	})

	t.Run("applications have leaders of their own", func(t *testing.T) {
		t.Parallel()
		w := three(t)
		w.deploy(wordpress, 1)
		w.lead("mysql/0")
		w.lead("wordpress/0")
		w.leaders("mysql", "mysql/0", "mysql/0")
		w.leaders("wordpress", "wordpress/0", "wordpress/0")
	})
}

func (w *world) leaders(app string, now, last model.UnitName) {
	w.Helper()
	gotNow, gotLast, err := w.Leadership(w.ctx, app)
	w.ok(err)
	if gotNow != now || gotLast != last {
		w.Errorf("%s is led by %q, last by %q; want %q and %q", app, gotNow, gotLast, now, last)
	}
}

// A unit that leads already, or can't, is told so without a transaction that
// writes: agents claim at every change.
func TestAClaimThatChangesNothingWritesNothing(t *testing.T) {
	t.Parallel()
	w, _ := pair(t)
	lease := w.lead("mysql/0")
	w.ok(w.SetDying(w.ctx, "wordpress/0"))
	for unit, want := range map[model.UnitName]bool{"mysql/0": true, "mysql/1": false, "wordpress/0": false} {
		done := w.cutOff(0, func(m *state.Model) error {
			leads, err := m.ClaimLeadership(w.ctx, unit, lease)
			if leads != want {
				t.Errorf("%s leads: %v, want %v", unit, leads, want)
			}
			return err
		})
		if !done {
			t.Errorf("%s: a transaction was begun", unit)
		}
	}
	w.ok(w.ReleaseLeadership(w.ctx, "mysql/0"))
	if w.cutOff(0, func(m *state.Model) error { _, err := m.ClaimLeadership(w.ctx, "mysql/0", lease); return err }) {
		t.Error("a leadership was claimed with no transaction")
	}
}
