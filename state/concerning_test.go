package state_test

import (
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// An agent of the machine of mysql/0, which wordpress/0 is related to, is told of what
// these say: acts concern it or not, and it may have to follow something else.
func TestConcerningIsWhatConcernsTheUnitsOfAMachine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		act  func(w *world, id model.RelationID) error
		want string // what the watch tells of
		more bool   // there is more to be followed
	}{
		{"its own unit", func(w *world, _ model.RelationID) error { return w.SetDying(w.ctx, "mysql/0") }, "mysql/0", false},
		{"another unit of its application isn't", func(w *world, _ model.RelationID) error { return w.SetDying(w.ctx, "mysql/1") }, "", false},
		{"nor is a status", func(w *world, _ model.RelationID) error {
			return w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", status("active", "ready"))
		}, "", false},
		{"its application's configuration", func(w *world, _ model.RelationID) error {
			return w.SetConfig(w.ctx, "mysql", nil, nil)
		}, "mysql", true},
		{"another application's isn't", func(w *world, _ model.RelationID) error {
			return w.SetConfig(w.ctx, "wordpress", nil, nil)
		}, "", false},
		{"what the other side of a relation says", func(w *world, id model.RelationID) error {
			return w.wrote("wordpress/0", id, model.RelationChange{Unit: model.Settings{"a": "1"}})
		}, "relation:1", false},
		{"what its own side says isn't", func(w *world, id model.RelationID) error {
			return w.wrote("mysql/1", id, model.RelationChange{Unit: model.Settings{"a": "1"}})
		}, "", false},
		{"a peer that leaves", func(w *world, _ model.RelationID) error { return w.LeaveScope(w.ctx, "mysql/1", 0) }, "relation:0", false},
		{"a relation that goes", func(w *world, id model.RelationID) error { return w.DestroyRelationID(w.ctx, id) }, "relation:1", false},
		{"a new relation of its application", func(w *world, _ model.RelationID) error {
			_, err := w.AddRelation(w.ctx, "mysql", "logging:info")
			return err
		}, "mysql", true},
		{"a new unit of its application is on another machine", func(w *world, _ model.RelationID) error {
			_, err := w.AddUnits(w.ctx, "mysql", 1)
			return err
		}, "mysql", true},
		{"its machine", func(w *world, _ model.RelationID) error {
			return w.SetMachine(w.ctx, state.MachineDoc{ID: "0", Hostname: "host", Addresses: []string{"10.0.0.1"}})
		}, "machine:0", true},
		{"another machine isn't", func(w *world, _ model.RelationID) error {
			return w.SetMachine(w.ctx, state.MachineDoc{ID: "1", Hostname: "host", Addresses: []string{"10.0.0.1"}})
		}, "", false},
		{"the model's configuration", func(w *world, _ model.RelationID) error {
			return w.SetModelConfig(w.ctx, map[string]string{"development": "true"}, nil)
		}, "model", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, id := pair(t)
			w.deploy(logging, 0)
			c, err := w.Concerning(w.ctx, "0")
			w.ok(err)
			ch, err := w.WatchOf(t.Context(), c.Keys, c.Rev)
			w.ok(err)
			w.ok(tt.act(w, id))
			// The agent's own mark is among what it follows: so nothing else is to come.
			mark, err := w.Mark(w.ctx, "0")
			w.ok(err)
			all := make(chan state.Change, 100)
			more := false
			for change := range ch {
				changed, err := c.Changed(change, func(u model.UnitName) (state.UnitDoc, error) { return w.Unit(w.ctx, u) })
				w.ok(err)
				more = more || changed
				last := change.Rev >= mark
				change.Status = false
				all <- change
				if last {
					break
				}
			}
			w.is("told", w.told(all), tt.want)
			if more != tt.more {
				t.Errorf("something else is to be followed: %t, want %t", more, tt.more)
			}
		})
	}
}

// Of what was written after they were asked the agents that have joined aren't told, if
// it doesn't concern them: so they are asked anew.
func TestWhoIsSettledIsAskedAnewOfWhatWasWrittenSince(t *testing.T) {
	t.Parallel()
	w, _ := pair(t)
	rev, err := w.AskSettled(w.ctx)
	w.ok(err)
	settled := func(want bool) {
		t.Helper()
		if done, err := w.Settled(w.ctx, rev); err != nil || done != want {
			t.Errorf("settled %t (%v), want %t", done, err, want)
		}
	}
	w.ok(w.SetSettled(w.ctx, "0", rev))
	w.ok(w.SetDying(w.ctx, "mysql/1"))
	now := w.rev()
	settled(false)
	if w.rev() != now {
		t.Error("asked anew before all have answered")
	}
	w.ok(w.SetSettled(w.ctx, "", w.rev()))
	settled(false)
	asked := w.rev()
	settled(false)
	if w.rev() != asked {
		t.Error("asked anew before all have answered that")
	}
	w.ok(w.SetSettled(w.ctx, "0", asked))
	w.ok(w.SetSettled(w.ctx, "", asked))
	settled(true)
}
