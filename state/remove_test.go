package state_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// hub makes a unit with n relations, in all of whose scopes it is alone.
func hub(t *testing.T, n int) *world {
	t.Helper()
	w := newWorld(t)
	w.deploy("hub metrics=requirer:http", 1)
	w.enter("hub/0")
	for i := range n {
		spoke := fmt.Sprintf("spoke%c%c", 'a'+i/26, 'a'+i%26)
		w.deploy(spoke+" web=provider:http", 0)
		w.enter("hub/0", w.relate("hub", spoke))
	}
	return w
}

func TestForceWithManyRelations(t *testing.T) {
	t.Parallel()

	t.Run("of a unit", func(t *testing.T) {
		t.Parallel()
		w := hub(t, 70)
		w.ok(w.ForceRemoveUnit(w.ctx, "hub/0"))
		w.is("unit", w.unitLife("hub/0"), "gone")
		w.is("application", w.appLife("hub"), "alive")
	})

	t.Run("all of which go with their applications", func(t *testing.T) {
		t.Parallel()
		w := hub(t, 40)
		w.ok(w.Destroy(w.ctx, true))
		gone, err := w.RemoveIfEmpty(w.ctx)
		w.ok(err)
		if !gone {
			t.Error("the model is still there")
		}
	})

	t.Run("and many subordinates", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy("host", 1)
		for i := range 70 {
			sub := fmt.Sprintf("sub%c%c", 'a'+i/26, 'a'+i%26)
			w.deploy(sub+" subordinate info=requirer:juju-info@container", 0)
			w.enter("host/0", w.relate("host", sub+":info"))
		}
		w.ok(w.ForceRemoveUnit(w.ctx, "host/0"))
		w.is("units", w.unitNames(), "")
		w.is("machines", w.machineIDs(), "")
	})
}

// Whoever is cut off has either done nothing that an agent sees, or marked
// every unit Dead, and then the agent takes them away.
func TestForceThatIsCutOffIsFinishedByTheAgent(t *testing.T) {
	t.Parallel()
	done := false
	for n := 0; !done; n++ {
		w := hub(t, 12)
		w.deploy("sub subordinate info=requirer:juju-info@container", 0)
		w.enter("hub/0", w.relate("hub", "sub:info"))
		done = w.cutOff(n, func(m *state.Model) error { return m.ForceRemoveUnit(w.ctx, "hub/0") })
		units, err := w.Units(w.ctx)
		w.ok(err)
		for _, u := range units {
			if n == 0 {
				w.is(string(u.Name), u.Life.String(), "alive")
				continue
			}
			w.is(string(u.Name), u.Life.String(), "dead")
			w.ok(w.RemoveUnit(w.ctx, u.Name))
		}
		if n > 0 {
			w.is("units", w.unitNames(), "")
		}
		w.check()
	}
}

func TestOnlyWhatIsGoingGoesFurther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 2)
	w.deploy(wordpress, 1)
	id := w.relate("wordpress", "mysql")
	w.fails(w.SetDead(w.ctx, "mysql/0"), `unit "mysql/0" is alive`)
	w.is("unit", w.unitLife("mysql/0"), "alive")

	w.enter("mysql/0", id)
	w.ok(w.DestroyRelationID(w.ctx, id))
	err := w.Suspend(w.ctx, "", id)
	w.fails(err, `cannot suspend relation "wordpress:db mysql:server": it is being removed`)
	if !errors.Is(err, errors.NotValid) {
		t.Error("error is not NotValid")
	}
	if r, err := w.Relation(w.ctx, id); err != nil || r.Suspended || r.Life != model.Dying {
		t.Errorf("the relation is %+v, %v", r, err)
	}
}

// blind is a store whose transactions list no values.
type blind struct{ store.Store }

func (b blind) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	return b.Store.Update(ctx, func(tx store.Tx) error { return fn(blindTx{tx}) }, opts...)
}

type blindTx struct{ store.Tx }

func (blindTx) Page(string, string, int) ([]store.KV, error) { return nil, errCut }

// Databags can have a megabyte each, and a page a hundred of them.
func TestCleaningUpReadsNoValues(t *testing.T) {
	t.Parallel()
	w, id := pair(t)
	w.ok(w.DestroyRelationID(w.ctx, id))
	for _, u := range []model.UnitName{"mysql/0", "mysql/1", "wordpress/0"} {
		w.leave(u, id)
	}
	bags := fmt.Sprintf("m/%s/settings/%d/", w.UUID(), id)
	if len(w.keys(bags)) == 0 {
		t.Fatal("nothing to clean up")
	}
	w.ok(w.onStore(blind{w.store}).RunCleanups(w.ctx))
	if keys := w.keys(bags); len(keys) > 0 {
		t.Errorf("left: %v", keys)
	}
}
