package state_test

import (
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Seeds 000 and 002: how subordinate units come and go.
func TestSubordinates(t *testing.T) {
	t.Parallel()
	family := func(t *testing.T) (*world, model.RelationID) {
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(logging, 0)
		id := w.relate("wordpress", "logging:info")
		w.enter("wordpress/0", id)
		w.enter("logging/0", id)
		return w, id
	}

	t.Run("a relation makes no subordinate until a principal enters it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 2)
		w.deploy(logging, 0)
		id := w.relate("wordpress", "logging:info")
		w.is("units", w.unitNames(), "wordpress/0 wordpress/1")
		w.enter("wordpress/1", id)
		w.is("units", w.unitNames(), "logging/0 wordpress/0 wordpress/1")
		u, err := w.Unit(w.ctx, "logging/0")
		w.ok(err)
		if u.Principal != "wordpress/1" || u.Machine != "1" || u.Life != model.Alive {
			t.Errorf("got %+v", u)
		}
		w.is("machines", w.machineIDs(), "0 1")
		w.is("its workload", w.status(state.WorkloadStatus, "logging/0"), "waiting: installing agent")
	})

	t.Run("a principal in two relations with one application has one subordinate of it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy("wordpress logs=provider:logs juju=provider:juju-info", 1)
		w.deploy("logging subordinate info=requirer:juju-info@container logs=requirer:logs@container", 0)
		first := w.relate("wordpress:juju", "logging:info")
		second := w.relate("wordpress:logs", "logging:logs")
		w.enter("wordpress/0", first, second)
		w.is("units", w.unitNames(), "logging/0 wordpress/0")
		// It stays while one of the two is alive (O-SUB-07).
		w.ok(w.DestroyRelationID(w.ctx, first))
		w.orphaned("logging/0", "")
		w.ok(w.DestroyRelationID(w.ctx, second))
		w.orphaned("logging/0", "no relation to wordpress is alive")
	})

	t.Run("a global relation makes no units", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 0)
		w.enter("wordpress/0", w.relate("wordpress", "mysql"))
		w.is("units", w.unitNames(), "wordpress/0")
	})

	t.Run("when a principal becomes dying, so do its subordinates", func(t *testing.T) {
		t.Parallel()
		w, _ := family(t)
		w.ok(w.DestroyUnit(w.ctx, "wordpress/0"))
		w.is("lives", w.unitLife("wordpress/0")+" "+w.unitLife("logging/0"), "dying dying")
		w.is("subordinate application", w.appLife("logging"), "alive")
	})

	t.Run("a unit is not dead while a unit subordinate to it exists", func(t *testing.T) {
		t.Parallel()
		w, id := family(t)
		w.ok(w.DestroyUnit(w.ctx, "wordpress/0"))
		w.leave("wordpress/0", id)
		w.leave("logging/0", id)
		w.ok(w.SetDead(w.ctx, "logging/0"))
		w.fails(w.SetDead(w.ctx, "wordpress/0"), `unit "wordpress/0" has subordinates`)
		w.ok(w.RemoveUnit(w.ctx, "logging/0"))
		w.ok(w.SetDead(w.ctx, "wordpress/0"))
		w.ok(w.RemoveUnit(w.ctx, "wordpress/0"))
		w.is("units", w.unitNames(), "")
	})

	t.Run("a subordinate can't be destroyed directly", func(t *testing.T) {
		t.Parallel()
		w, _ := family(t)
		w.fails(w.DestroyUnit(w.ctx, "logging/0"),
			`unit "logging/0" is a subordinate, to remove use remove-relation. Note: this will remove all relations to logging`)
		w.is("subordinate", w.unitLife("logging/0"), "alive")
	})

	t.Run("a principal waits for its former subordinate before it gets a new one", func(t *testing.T) {
		t.Parallel()
		w, id := family(t)
		w.ok(w.DestroyRelationID(w.ctx, id))
		w.orphaned("logging/0", "no relation to wordpress is alive")
		w.ok(w.SetDying(w.ctx, "logging/0"))
		w.leave("wordpress/0", id)
		w.leave("logging/0", id)
		again := w.relate("wordpress", "logging:info")
		notYet := func(want bool) {
			t.Helper()
			s, err := w.Snapshot(w.ctx, "wordpress/0")
			w.ok(err)
			for _, v := range s.Relations {
				if v.NotYet != (want && v.ID == again) {
					t.Errorf("relation %d: not yet %t", v.ID, v.NotYet)
				}
			}
		}
		notYet(true)
		if err := w.EnterScope(w.ctx, "wordpress/0", again, nil); !errors.Is(err, state.ErrCannotEnterScopeYet) {
			t.Errorf("with the former one dying: %v", err)
		}
		w.ok(w.SetDead(w.ctx, "logging/0"))
		if err := w.EnterScope(w.ctx, "wordpress/0", again, nil); !errors.Is(err, state.ErrCannotEnterScopeYet) {
			t.Errorf("with the former one dead: %v", err)
		}
		notYet(true)
		w.ok(w.RemoveUnit(w.ctx, "logging/0"))
		notYet(false)
		w.enter("wordpress/0", again)
		notYet(false)
		w.is("units", w.unitNames(), "logging/1 wordpress/0")
	})

	t.Run("a subordinate has to go with its application and with its principal", func(t *testing.T) {
		t.Parallel()
		w, _ := family(t)
		w.orphaned("logging/0", "")
		w.ok(w.DestroyUnit(w.ctx, "wordpress/0"))
		w.orphaned("logging/0", "its principal wordpress/0 is being removed")
		_, err := w.DestroyApplication(w.ctx, "logging")
		w.ok(err)
		w.orphaned("logging/0", `application "logging" is being removed`)
		w.orphaned("wordpress/0", "")
	})

	t.Run("the last subordinate removes its dying application", func(t *testing.T) {
		t.Parallel()
		w, id := family(t)
		_, err := w.DestroyApplication(w.ctx, "logging")
		w.ok(err)
		w.leave("wordpress/0", id)
		w.leave("logging/0", id)
		w.is("relation", w.relationLife(id), "gone")
		w.is("application", w.appLife("logging"), "dying")
		w.remove("logging/0")
		w.is("application", w.appLife("logging"), "gone")
		u, err := w.Unit(w.ctx, "wordpress/0")
		w.ok(err)
		if len(u.Subordinates) != 0 {
			t.Errorf("principal still has %v", u.Subordinates)
		}
	})
}
