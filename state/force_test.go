package state_test

import (
	"slices"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// abandoned are the things that can be abandoned, of a world in which mysql and
// wordpress are related, and each agent is somewhere in the middle.
var abandoned = map[string]struct {
	do   func(*world, *state.Model, model.RelationID) error
	gone func(*world, model.RelationID)
}{
	"a unit": {
		func(w *world, m *state.Model, _ model.RelationID) error {
			return m.ForceUnit(w.ctx, "mysql/0", state.Abandon)
		},
		func(w *world, id model.RelationID) {
			w.is("unit", w.unitLife("mysql/0"), "gone")
			w.is("relation", w.relationLife(id), "alive")
		},
	},
	"a relation": {
		func(w *world, m *state.Model, id model.RelationID) error {
			return m.ForceRelation(w.ctx, id, state.Abandon, nil)
		},
		func(w *world, id model.RelationID) {
			w.is("relation", w.relationLife(id), "gone")
			w.is("unit", w.unitLife("mysql/0"), "alive")
		},
	},
	"an application": {
		func(w *world, m *state.Model, _ model.RelationID) error {
			_, err := m.ForceApplication(w.ctx, "mysql", state.Abandon, nil)
			return err
		},
		func(w *world, id model.RelationID) {
			w.is("application", w.appLife("mysql"), "gone")
			w.is("relation", w.relationLife(id), "gone")
			w.is("the other unit", w.unitLife("wordpress/0"), "alive")
		},
	},
}

// Seeds 000 and 001: force leaves all references whole, and needs no agent.
func TestWhatIsAbandonedIsGone(t *testing.T) {
	t.Parallel()
	for name, c := range abandoned {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, id := pair(t)
			w.ok(c.do(w, w.Model, id))
			c.gone(w, id)
		})
		t.Run(name+" that is on its way out in order", func(t *testing.T) {
			t.Parallel()
			w, id := pair(t)
			switch name {
			case "a unit":
				w.ok(w.DestroyUnit(w.ctx, "mysql/0"))
			case "a relation":
				w.ok(w.DestroyRelationID(w.ctx, id))
			default:
				_, err := w.DestroyApplication(w.ctx, "mysql")
				w.ok(err)
			}
			w.ok(c.do(w, w.Model, id))
			c.gone(w, id)
		})
		t.Run(name+", and who is cut off leaves the rest to the queue", func(t *testing.T) {
			t.Parallel()
			for n, done := 1, false; !done; n++ {
				w, id := pair(t)
				done = w.cutOff(n, func(m *state.Model) error {
					err := c.do(w, m, id)
					if err != nil && !errors.Is(err, state.ErrUnfinished) {
						t.Errorf("cut off after %d, it doesn't say that it has begun: %v", n, err)
					}
					return err
				})
				w.ok(w.RunCleanups(w.ctx))
				c.gone(w, id)
			}
			w, id := pair(t)
			w.cutOff(0, func(m *state.Model) error {
				err := c.do(w, m, id)
				if errors.Is(err, state.ErrUnfinished) {
					t.Error("it says that it has begun, and hasn't")
				}
				return err
			})
		})
	}
}

// The agent is told of force, which grows and is not taken back.
func TestForceIsTold(t *testing.T) {
	t.Parallel()
	force := func(w *world, unit model.UnitName) state.Force {
		w.Helper()
		s, err := w.Snapshot(w.ctx, unit)
		w.ok(err)
		return s.Force
	}

	t.Run("of a unit and its subordinates", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(logging, 0)
		id := w.relate("wordpress", "logging:info")
		w.enter("wordpress/0", id)
		w.enter("logging/0", id)
		w.ok(w.DestroyUnit(w.ctx, "wordpress/0"))
		for _, how := range []state.Force{state.SkipFailing, state.Orderly} {
			w.ok(w.ForceUnit(w.ctx, "wordpress/0", how))
			for _, u := range []model.UnitName{"wordpress/0", "logging/0"} {
				if got := force(w, u); got != state.SkipFailing {
					t.Errorf("%s is removed with force %d", u, got)
				}
			}
		}
		w.is("lives", w.unitLife("wordpress/0")+" "+w.unitLife("logging/0"), "dying dying")
	})

	t.Run("of an application, and its relations", func(t *testing.T) {
		t.Parallel()
		w, id := pair(t)
		for _, how := range []state.Force{state.Orderly, state.SkipFailing, state.Orderly} {
			_, err := w.ForceApplication(w.ctx, "mysql", how, nil)
			w.ok(err)
		}
		if got := force(w, "mysql/0"); got != state.SkipFailing {
			t.Errorf("mysql/0 is removed with force %d", got)
		}
		if got := force(w, "wordpress/0"); got != state.Orderly {
			t.Errorf("wordpress/0 is removed with force %d", got)
		}
		s, err := w.Snapshot(w.ctx, "wordpress/0")
		w.ok(err)
		if i := slices.IndexFunc(s.Relations, func(v state.RelationView) bool { return v.ID == id }); i < 0 || s.Relations[i].Force != state.SkipFailing {
			t.Errorf("the relation is %+v", s.Relations)
		}
	})

	t.Run("before it is done, what it leaves behind", func(t *testing.T) {
		t.Parallel()
		w, id := pair(t)
		left, err := w.LeftBehind(w.ctx, "mysql/0")
		w.ok(err)
		if !slices.Contains(left.Relations, "wordpress:db mysql:server") || len(left.Subordinates) > 0 {
			t.Errorf("got %+v", left)
		}
		units, err := w.InScope(w.ctx, id)
		w.ok(err)
		if want := []model.UnitName{"mysql/0", "mysql/1", "wordpress/0"}; !slices.Equal(units, want) {
			t.Errorf("in scope are %v, want %v", units, want)
		}
	})
}

func TestOnlyAbandoningTakesASubordinateByItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(wordpress, 1)
	w.deploy(logging, 0)
	w.enter("wordpress/0", w.relate("wordpress", "logging:info"))
	w.fails(w.ForceUnit(w.ctx, "logging/0", state.SkipFailing),
		`unit "logging/0" is a subordinate, to remove use remove-relation. Note: this will remove all relations to logging`)
	w.ok(w.ForceUnit(w.ctx, "logging/0", state.Abandon))
	w.is("units", w.unitNames(), "wordpress/0")
}
