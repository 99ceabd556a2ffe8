package state_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/statetest"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
)

// agent does, step by step, what the agents of a unit do: take it on, enter
// the scopes it should be in, leave those it shouldn't, and take it away. It
// says whether there was something to do.
func agent(ctx context.Context, m *state.Model, name model.UnitName) (bool, error) {
	s, err := m.Snapshot(ctx, name)
	if err != nil {
		return false, gone(err)
	}
	u := s.Unit
	switch {
	case u.Life == model.Dead:
		return true, gone(m.RemoveUnit(ctx, name))
	case !u.Deployed:
		return true, gone(m.SetDeployed(ctx, name))
	case s.Orphaned && u.Life == model.Alive:
		return true, gone(m.SetDying(ctx, name))
	}
	for _, r := range s.Relations {
		should := u.Life == model.Alive && r.Life == model.Alive && !r.Suspended
		switch {
		case r.InScope && !should:
			return true, gone(m.CommitHook(ctx, state.HookCommit{Unit: name, Run: u.Run + 1, LeaveScope: r.ID,
				Changes: model.Changes{Relations: map[model.RelationID]model.RelationChange{r.ID: {Unit: model.Settings{"bye": "1"}}}}}))
		case !r.InScope && should:
			err := m.EnterScope(ctx, name, r.ID, model.Settings{"hello": "1"})
			if errors.Is(err, state.ErrCannotEnterScopeYet) {
				continue
			}
			if errors.Is(err, state.ErrCannotEnterScope) {
				return true, nil // it has changed since the snapshot
			}
			return true, gone(err)
		}
	}
	if u.Life == model.Dying && len(u.Subordinates) == 0 {
		return true, gone(m.SetDead(ctx, name))
	}
	return false, nil
}

// gone drops the errors of who comes too late.
func gone(err error) error {
	if errors.Is(err, errors.NotFound) || errors.Is(err, errors.NotValid) || errors.Is(err, errors.AlreadyExists) {
		return nil
	}
	return err
}

// settle runs the agents of all units until there is nothing to do.
func (w *world) settle() {
	w.Helper()
	for round := 0; ; round++ {
		if round == 200 {
			w.Fatal("the agents don't come to rest")
		}
		units, err := w.Units(w.ctx)
		w.ok(err)
		busy := false
		for _, u := range units {
			did, err := agent(w.ctx, w.Model, u.Name)
			w.ok(err)
			busy = busy || did
		}
		if !busy {
			return
		}
	}
}

// The charms of the random tests: two principals that relate to each other, a
// peer relation, and a subordinate of both.
var troupe = []string{
	"wordpress db=requirer:mysql",
	"mysql server=provider:mysql cluster=peer:mysql-cluster",
	"logging subordinate info=requirer:juju-info@container",
}

var pairs = [][2]string{{"wordpress", "mysql"}, {"wordpress", "logging:info"}, {"mysql", "logging:info"}}

// operate does one thing that an operator may do, whether it makes sense or
// not; pick(n) chooses a number below n.
func operate(ctx context.Context, m *state.Model, pick func(n int) int) (string, error) {
	app := charm(troupe[pick(len(troupe))]).Name
	unit := model.NewUnitName(app, pick(4))
	pair := pairs[pick(len(pairs))]
	switch pick(8) {
	case 0:
		n := 1
		if app == "logging" {
			n = 0
		}
		return "deploy " + app, gone(m.Deploy(ctx, state.DeployArgs{Application: app, Charm: "local:" + app + "-0", Units: n}))
	case 1:
		_, err := m.AddUnits(ctx, app, 1)
		return "add-unit " + app, gone(err)
	case 2:
		_, err := m.AddRelation(ctx, pair[0], pair[1])
		return fmt.Sprint("integrate ", pair), gone(err)
	case 3:
		return fmt.Sprint("remove-relation ", pair), gone(m.DestroyRelation(ctx, pair[0], pair[1]))
	case 4:
		return fmt.Sprint("remove-unit ", unit), gone(m.DestroyUnit(ctx, unit))
	case 5:
		_, err := m.DestroyApplication(ctx, app)
		return "remove-application " + app, gone(err)
	case 6:
		return fmt.Sprint("remove-unit --force ", unit), gone(m.ForceRemoveUnit(ctx, unit))
	}
	return "clean up", m.RunCleanups(ctx)
}

// Whatever is asked for in whatever order, no document ever contradicts
// another, no life goes back, and what was destroyed is gone in the end.
func TestAnyOrderOfOperationsIsConsistent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := worldIn(rt, t.TempDir())
		for _, c := range troupe {
			w.addCharm(charm(c))
		}
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "pick") }
		lives := map[string]model.Life{}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			rt.Log(w.step(pick))
			problems, err := statetest.Problems(w.ctx, w.store, w.UUID(), true)
			if err != nil || len(problems) > 0 {
				rt.Fatalf("self-check: %v %v", problems, err)
			}
			lives = w.older(lives)
		}
		w.settle()
		w.teardown()
	})
}

// step is one thing that an operator or an agent does.
func (w *world) step(pick func(n int) int) string {
	w.Helper()
	units, err := w.Units(w.ctx)
	w.ok(err)
	if len(units) == 0 || pick(3) == 0 {
		what, err := operate(w.ctx, w.Model, pick)
		if err != nil {
			w.Fatalf("%s: %v", what, err)
		}
		return what
	}
	name := units[pick(len(units))].Name
	if _, err := agent(w.ctx, w.Model, name); err != nil {
		w.Fatalf("agent of %s: %v", name, err)
	}
	return "agent of " + string(name)
}

// older checks that no life has gone back since the step before. One step
// can't remove a thing and make another of the same name.
func (w *world) older(before map[string]model.Life) map[string]model.Life {
	w.Helper()
	now := map[string]model.Life{}
	full, err := w.Status(w.ctx)
	w.ok(err)
	for _, a := range full.Applications {
		now["application "+a.Name] = a.Life
		for _, u := range a.Units {
			now["unit "+string(u.Name)] = u.Life
		}
	}
	for _, r := range full.Relations {
		now[fmt.Sprint("relation ", r.ID)] = r.Life
	}
	for what, life := range now {
		if was, ok := before[what]; ok && life < was {
			w.Fatalf("%s was %s and is %s", what, was, life)
		}
	}
	return now
}

// teardown destroys everything and lets the agents finish: nothing is left.
func (w *world) teardown() {
	w.Helper()
	w.ok(w.Destroy(w.ctx, false))
	w.settle()
	w.ok(w.RunCleanups(w.ctx))
	w.check()
	w.is("units", w.unitNames(), "")
	apps, err := w.Applications(w.ctx)
	w.ok(err)
	for _, a := range apps {
		w.Errorf("application %s is left: %+v", a.Name, a)
	}
	prefix := "m/" + w.UUID() + "/"
	for _, kind := range []string{"relation", "scope/", "settings/", "machine/", "unit/", "config/", "status", "leader", "cleanup/", "charm-state/", "ports/"} {
		if keys := w.keys(prefix + kind); len(keys) > 0 {
			w.Errorf("left: %v", keys)
		}
	}
}

// Several operators and an agent for each unit at once.
func TestManyAtOnceAreConsistent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range troupe {
		w.addCharm(charm(c))
	}
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	var agents, operators sync.WaitGroup
	for i := range 2 {
		agents.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			for ctx.Err() == nil {
				units, err := w.Units(w.ctx)
				if err != nil {
					t.Error(err)
					return
				}
				random.Shuffle(len(units), func(a, b int) { units[a], units[b] = units[b], units[a] })
				for _, u := range units {
					if _, err := agent(w.ctx, w.Model, u.Name); err != nil {
						t.Errorf("agent of %s: %v", u.Name, err)
					}
				}
			}
		})
	}
	for i := range 3 {
		operators.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 2))
			for range 60 {
				if what, err := operate(w.ctx, w.Model, random.IntN); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	operators.Wait()
	stop()
	agents.Wait()
	w.settle()
	w.check()
	w.teardown()
}

// All units of a dying relation leave at once: one of them is the last.
func TestTheLastToLeaveIsOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("mysql server=provider:mysql", 8)
	w.deploy("wordpress db=requirer:mysql", 8)
	id := w.relate("wordpress", "mysql")
	units, err := w.Units(w.ctx)
	w.ok(err)
	for _, u := range units {
		w.enter(u.Name, id)
	}
	_, err = w.DestroyApplication(w.ctx, "wordpress")
	w.ok(err)
	var leaving sync.WaitGroup
	for _, u := range slices.Backward(units) {
		leaving.Go(func() {
			if err := w.LeaveScope(w.ctx, u.Name, id); err != nil {
				t.Error(err)
			}
			if u.Name.Application() == "wordpress" {
				for _, err := range []error{w.SetDying(w.ctx, u.Name), w.SetDead(w.ctx, u.Name), w.RemoveUnit(w.ctx, u.Name)} {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	leaving.Wait()
	w.is("relation", w.relationLife(id), "gone")
	w.is("application", w.appLife("wordpress"), "gone")
	w.is("the other application", w.appLife("mysql"), "alive")
}

// Units that come up at the same time enter a relation while a person removes it:
// whoever is in it leaves again, and it is gone once nobody is.
func TestWhoEntersARelationThatIsBeingRemovedIsInItOrIsnt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("mysql server=provider:mysql", 4)
	w.deploy("wordpress db=requirer:mysql", 4)
	units, err := w.Units(w.ctx)
	w.ok(err)
	for range 10 {
		id := w.relate("wordpress", "mysql")
		var all sync.WaitGroup
		for i, u := range units {
			all.Go(func() {
				err := w.EnterScope(w.ctx, u.Name, id, model.Settings{"hello": "1"})
				if err == nil && i%2 == 0 {
					err = w.LeaveScope(w.ctx, u.Name, id)
				}
				if err != nil && !errors.Is(err, state.ErrCannotEnterScope) && !errors.Is(err, errors.NotFound) {
					t.Error(err)
				}
			})
			if i == len(units)/2 {
				all.Go(func() {
					if err := w.DestroyRelationID(w.ctx, id); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		w.check()
		in, err := w.InScope(w.ctx, id)
		w.ok(err)
		for _, u := range in {
			w.is("relation", w.relationLife(id), "dying")
			w.ok(w.LeaveScope(w.ctx, u, id))
		}
		w.is("relation", w.relationLife(id), "gone")
	}
}

// A relation's document is everybody's: who comes and goes doesn't write it.
func TestWhoEntersARelationDoesntWriteIt(t *testing.T) {
	t.Parallel()
	w, id := pair(t)
	read := func() store.KV {
		var kv store.KV
		_, err := w.store.View(w.ctx, func(r store.Reader) (err error) {
			kv, err = r.Get(fmt.Sprintf("m/%s/relation/%d", w.UUID(), id))
			return err
		})
		w.ok(err)
		return kv
	}
	before := read()
	w.leave("mysql/0", id)
	w.enter("mysql/0", id)
	if after := read(); after.Rev != before.Rev {
		t.Errorf("the relation was written at revision %d", after.Rev)
	}
}

func TestLifecycles(t *testing.T) {
	t.Parallel()
	statetest.Lifecycles(t, func(t testing.TB) store.Store {
		s, err := sqlite.Open(filepath.Join(t.TempDir(), "model.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	})
}
