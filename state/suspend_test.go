package state_test

import (
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

func TestSuspend(t *testing.T) {
	t.Parallel()

	t.Run("a suspended relation keeps what is in its databags, whoever has left it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 1)
		id := w.relate("wordpress", "mysql")
		w.enter("wordpress/0", id)
		w.enter("mysql/0", id)
		w.ok(w.Suspend(w.ctx, "moving house", id))
		w.leave("wordpress/0", id)
		w.leave("mysql/0", id)
		if r, err := w.Relation(w.ctx, id); err != nil || !r.Suspended || r.SuspendedMessage != "moving house" {
			t.Errorf("the relation is %+v, %v", r, err)
		}
		for _, unit := range []model.UnitName{"wordpress/0", "mysql/0"} {
			if s, err := w.Settings(w.ctx, id, unit); err != nil || s["private-address"] != "10.0.0.1" {
				t.Errorf("settings of %s: %v, %v", unit, s, err)
			}
		}
		w.ok(w.Resume(w.ctx, id))
		w.enter("wordpress/0", id)
		w.enter("mysql/0", id)
		w.members("wordpress/0", id, model.Member{Unit: "mysql/0", Version: 1})
		if r, err := w.Relation(w.ctx, id); err != nil || r.Suspended || r.SuspendedMessage != "" {
			t.Errorf("the relation is %+v, %v", r, err)
		}
	})

	t.Run("a suspended relation can be removed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 1)
		id := w.relate("wordpress", "mysql")
		w.enter("wordpress/0", id)
		w.ok(w.Suspend(w.ctx, "", id))
		w.ok(w.DestroyRelationID(w.ctx, id))
		w.is("relation", w.relationLife(id), "dying")
		w.leave("wordpress/0", id)
		w.is("relation", w.relationLife(id), "gone")
	})

	t.Run("a subordinate stays while its relation is suspended", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(logging, 0)
		id := w.relate("wordpress", "logging:info")
		w.enter("wordpress/0", id)
		w.enter("logging/0", id)
		w.ok(w.Suspend(w.ctx, "", id))
		w.leave("wordpress/0", id)
		w.leave("logging/0", id)
		w.orphaned("logging/0", "")
		w.ok(w.Resume(w.ctx, id))
		w.enter("wordpress/0", id)
		w.enter("logging/0", id)
		w.members("wordpress/0", id, model.Member{Unit: "logging/0", Version: 1})
	})

	t.Run("all are suspended or none", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 1)
		id := w.relate("wordpress", "mysql")
		err := w.Suspend(w.ctx, "", id, 0)
		w.fails(err, `cannot suspend relation "mysql:cluster": it is a peer relation`)
		if !errors.Is(err, errors.NotValid) {
			t.Error("error is not NotValid")
		}
		err = w.Suspend(w.ctx, "", id, 99)
		w.fails(err, `relation 99 not found (not found)`)
		if !errors.Is(err, errors.NotFound) {
			t.Error("error is not NotFound")
		}
		if r, err := w.Relation(w.ctx, id); err != nil || r.Suspended {
			t.Errorf("the relation is %+v, %v", r, err)
		}
	})
}
