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

// Sentences of seeds 000 and 002 that no other test is about; see
// docs/lifecycles.md.
func TestLifecycleSentences(t *testing.T) {
	t.Parallel()

	t.Run("what is being removed already is left as it is", func(t *testing.T) {
		t.Parallel()
		w, id := pair(t)
		w.ok(w.DestroyUnit(w.ctx, "mysql/0"))
		w.ok(w.DestroyRelationID(w.ctx, id))
		before := w.rev()
		w.ok(w.DestroyUnit(w.ctx, "mysql/0"))
		w.ok(w.DestroyRelationID(w.ctx, id))
		w.ok(w.DestroyRelation(w.ctx, "wordpress", "mysql"))
		if after := w.rev(); after != before {
			t.Errorf("removing again has written something: revision %d, was %d", after, before)
		}
		_, err := w.DestroyApplication(w.ctx, "mysql")
		w.ok(err)
		w.is("relation", w.relationLife(id), "dying")
		in, err := w.InScope(w.ctx, id)
		w.ok(err)
		if len(in) != 3 {
			t.Errorf("%d units in scope, want 3", len(in))
		}
	})

	t.Run("the name of an application that is dying is taken", func(t *testing.T) {
		t.Parallel()
		w, _ := pair(t)
		_, err := w.DestroyApplication(w.ctx, "mysql")
		w.ok(err)
		w.is("application", w.appLife("mysql"), "dying")
		err = w.Deploy(w.ctx, state.DeployArgs{Application: "mysql", Charm: w.addCharm(charm(mysql)), Units: 1})
		w.fails(err, `cannot add application "mysql": application already exists`)
	})

	t.Run("who leaves last keeps its own application", func(t *testing.T) {
		t.Parallel()
		w, id := pair(t)
		for _, app := range []string{"mysql", "wordpress"} {
			_, err := w.DestroyApplication(w.ctx, app)
			w.ok(err)
		}
		for _, u := range []model.UnitName{"mysql/0", "mysql/1"} {
			w.leave(u, 0, id)
			w.remove(u)
		}
		w.is("application without units, in a relation", w.appLife("mysql"), "dying")
		w.leave("wordpress/0", id)
		w.is("relation", w.relationLife(id), "gone")
		w.is("the other application", w.appLife("mysql"), "gone")
		w.is("application of the unit that left last", w.appLife("wordpress"), "dying")
		w.remove("wordpress/0")
		w.is("application of the unit that left last", w.appLife("wordpress"), "gone")
	})

	t.Run("the other application stays while it has a unit or a relation", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy("hub a=requirer:http b=requirer:http", 1)
		w.deploy("web one=provider:http", 1)
		w.deploy("blog two=provider:http", 1)
		first, second := w.relate("hub:a", "web"), w.relate("hub:b", "blog")
		w.enter("web/0", first)
		w.enter("blog/0", second)
		w.enter("hub/0")
		_, err := w.DestroyApplication(w.ctx, "hub")
		w.ok(err)
		w.leave("web/0", first)
		w.is("application with a unit and a relation", w.appLife("hub"), "dying")
		w.remove("hub/0")
		w.is("application with a relation", w.appLife("hub"), "dying")
		w.leave("blog/0", second)
		w.is("application with nothing", w.appLife("hub"), "gone")
	})

	t.Run("the last unit leaves a dying application that has a relation", func(t *testing.T) {
		t.Parallel()
		w, id := pair(t)
		_, err := w.DestroyApplication(w.ctx, "wordpress")
		w.ok(err)
		w.leave("wordpress/0", id)
		w.remove("wordpress/0")
		app, err := w.Application(w.ctx, "wordpress")
		w.ok(err)
		if app.Life != model.Dying || app.Units != 0 || app.Relations != 1 {
			t.Errorf("the application is %+v", app)
		}
	})
}

// rev is the store's newest revision.
func (w *world) rev() int64 {
	w.Helper()
	rev, err := w.Rev(w.ctx)
	w.ok(err)
	return rev
}

// deaf is a store that commits, and whose answer to the nth commit is lost.
type deaf struct {
	store.Store
	n int
}

func (d *deaf) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	rev, err := d.Store.Update(ctx, fn, opts...)
	if d.n--; d.n < 0 && err == nil {
		return 0, errCut
	}
	return rev, err
}

// Seed 000, "juju deploy", has it as a bug that a connection that fails at the
// wrong time makes an application without its peer relations.
func TestADeploymentThatIsCutOff(t *testing.T) {
	t.Parallel()
	const charmed = "ring one=peer:ring two=peer:ring three=peer:ring"
	deploy := func(w *world, url string) func(*state.Model) error {
		return func(m *state.Model) error {
			return m.Deploy(w.ctx, state.DeployArgs{Application: "ring", Charm: url, Units: 30})
		}
	}
	whole := func(w *world, there bool) {
		w.Helper()
		rels, err := w.RelationsOf(w.ctx, "ring")
		w.ok(err)
		app, err := w.Application(w.ctx, "ring")
		switch {
		case !there && (!errors.Is(err, errors.NotFound) || len(rels) > 0):
			w.Errorf("there is an application, %v, or relations: %v", err, rels)
		case there && (err != nil || app.Relations != 3 || len(rels) != 3):
			w.Errorf("the application is %+v, %v, with relations %v", app, err, rels)
		}
		w.check()
	}

	t.Run("before a commit", func(t *testing.T) {
		t.Parallel()
		for n, done := 0, false; !done; n++ {
			w := newWorld(t)
			url := w.addCharm(charm(charmed))
			done = w.cutOff(n, deploy(w, url))
			whole(w, n > 0)
		}
	})

	t.Run("after it, when the answer is lost", func(t *testing.T) {
		t.Parallel()
		for n, done := 0, false; !done; n++ {
			w := newWorld(t)
			url := w.addCharm(charm(charmed))
			err := deploy(w, url)(w.onStore(&deaf{Store: w.store, n: n}))
			done = err == nil
			whole(w, true)
			// Whoever asks again is told.
			w.fails(deploy(w, url)(w.Model), `cannot add application "ring": application already exists`)
		}
	})

	t.Run("and it can be removed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		url := w.addCharm(charm(charmed))
		w.cutOff(1, deploy(w, url))
		_, err := w.DestroyApplication(w.ctx, "ring")
		w.ok(err)
		w.is("application", w.appLife("ring"), "gone")
	})
}

// Seed 000, "Units": the subordinates of a principal that is Dying are Dying,
// in no transaction that is as large as there are many.
func TestAPrincipalWithManySubordinates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("host", 1)
	const many = store.MaxWrites
	for i := range many {
		sub := fmt.Sprintf("sub%c%c", 'a'+i/26, 'a'+i%26)
		w.deploy(sub+" subordinate info=requirer:juju-info@container", 0)
		w.enter("host/0", w.relate("host", sub+":info"))
	}
	w.ok(w.DestroyUnit(w.ctx, "host/0"))
	units, err := w.Units(w.ctx)
	w.ok(err)
	marked := 0
	for _, u := range units {
		if u.Name != "host/0" && u.Life == model.Alive {
			w.orphaned(u.Name, "its principal host/0 is being removed")
		} else {
			marked++
		}
	}
	if marked < 2 || len(units) != many+1 {
		t.Errorf("%d of %d units are marked", marked, len(units))
	}
	w.check()
}
