package state_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// told collects what a watcher is told of up to now, as words.
func (w *world) told(ch <-chan state.Change) string {
	w.Helper()
	now, err := w.store.View(w.ctx, func(store.Reader) error { return nil })
	w.ok(err)
	words := map[string]bool{}
	onlyStatus := true
	for {
		select {
		case c, ok := <-ch:
			if !ok {
				w.Fatal("the watch has ended")
			}
			for u := range c.Units {
				words[string(u)] = true
			}
			for a := range c.Applications {
				words[a] = true
			}
			for r := range c.Relations {
				words[fmt.Sprintf("relation:%d", r)] = true
			}
			for m := range c.Machines {
				words["machine:"+m] = true
			}
			words["model"] = words["model"] || c.Model
			words["cleanup"] = words["cleanup"] || c.Cleanups
			words["resync"] = words["resync"] || c.Resync
			onlyStatus = onlyStatus && c.Status
			words["status"] = onlyStatus
			if c.Rev < now {
				continue
			}
			maps.DeleteFunc(words, func(_ string, is bool) bool { return !is })
			return strings.Join(slices.Sorted(maps.Keys(words)), " ")
		case <-time.After(5 * time.Minute):
			w.Fatal("not told of the newest change")
		}
	}
}

func TestWatchTellsWhomAChangeConcerns(t *testing.T) {
	t.Parallel()
	setSettings := func(w *world, c model.Changes) error {
		return w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 1, Changes: c, LeaveScope: model.NoRelation})
	}
	for _, tt := range []struct {
		name string
		act  func(w *world, id model.RelationID) error
		want string
	}{
		{"a status concerns nobody", func(w *world, _ model.RelationID) error {
			return w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", status("active", ""))
		}, "status"},
		{"configuration concerns its application", func(w *world, _ model.RelationID) error {
			return w.SetConfig(w.ctx, "mysql", nil, nil)
		}, "mysql"},
		{"a new charm concerns its application", func(w *world, _ model.RelationID) error {
			return w.SetCharm(w.ctx, "wordpress", "local:wordpress-0", true)
		}, "wordpress"},
		{"leadership concerns its application", func(w *world, _ model.RelationID) error {
			return w.ReleaseLeadership(w.ctx, "mysql/0")
		}, "mysql"},
		{"the model's configuration concerns the model", func(w *world, _ model.RelationID) error {
			return w.SetModelConfig(w.ctx, map[string]string{"development": "true"}, nil)
		}, "model"},
		{"a machine's address concerns the machine", func(w *world, _ model.RelationID) error {
			return w.SetMachine(w.ctx, state.MachineDoc{ID: "1", Hostname: "host", Addresses: []string{"10.0.0.1"}})
		}, "machine:1"},
		{"a relation's settings concern the relation", func(w *world, id model.RelationID) error {
			return setSettings(w, model.Changes{Relations: map[model.RelationID]model.RelationChange{id: {Application: model.Settings{"a": "1"}}}})
		}, "mysql/0 relation:1"},
		{"leader settings concern their application", func(w *world, _ model.RelationID) error {
			return setSettings(w, model.Changes{LeaderSettings: model.Settings{"a": "1"}})
		}, "mysql mysql/0"},
		{"who leaves a scope concerns the relation", func(w *world, id model.RelationID) error {
			return w.LeaveScope(w.ctx, "mysql/0", id)
		}, "mysql/0 relation:1"},
		{"a resolution concerns its unit", func(w *world, _ model.RelationID) error {
			w.ok(w.Tell(w.ctx, "mysql/1", state.Report{Failed: &state.FailureDoc{Run: 3}}))
			return w.Resolve(w.ctx, "mysql/1", true)
		}, "mysql/1"},
		{"a dying unit is its own concern", func(w *world, _ model.RelationID) error {
			return w.SetDying(w.ctx, "mysql/1")
		}, "mysql/1"},
		{"a new relation concerns both applications", func(w *world, _ model.RelationID) error {
			_, err := w.AddRelation(w.ctx, "wordpress", "logging:info")
			return err
		}, "logging relation:2 wordpress"},
		{"a unit that goes leaves work behind", func(w *world, _ model.RelationID) error {
			return w.ForceRemoveUnit(w.ctx, "mysql/1")
		}, "cleanup machine:1 mysql mysql/1 relation:0 relation:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, id := pair(t)
			w.deploy(logging, 0)
			ch, err := w.Watch(t.Context(), 0)
			w.ok(err)
			w.ok(tt.act(w, id))
			w.is("told", w.told(ch), tt.want)
		})
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()

	t.Run("it goes on from a revision, so that nothing is missed after a snapshot", func(t *testing.T) {
		t.Parallel()
		w, _ := pair(t)
		rev := w.snapshot("mysql/0").Rev
		w.ok(w.SetDying(w.ctx, "mysql/0"))
		ch, err := w.Watch(t.Context(), rev)
		w.ok(err)
		w.is("told", w.told(ch), "mysql/0")
	})

	t.Run("who comes too late has to look at everything", func(t *testing.T) {
		t.Parallel()
		w, _ := pair(t)
		rev := w.snapshot("mysql/0").Rev
		w.ok(w.SetDying(w.ctx, "mysql/0"))
		w.ok(w.SetDying(w.ctx, "mysql/1"))
		now := w.snapshot("mysql/0").Rev
		w.ok(w.store.Compact(w.ctx, now))
		ch, err := w.Watch(t.Context(), rev)
		w.ok(err)
		w.is("told", w.told(ch), "resync")
	})

	t.Run("another model's changes aren't told", func(t *testing.T) {
		t.Parallel()
		w, _ := pair(t)
		other, err := w.controller.AddModel(w.ctx, "art")
		w.ok(err)
		ch, err := w.Watch(t.Context(), 0)
		w.ok(err)
		w.ok(other.SetModelConfig(w.ctx, map[string]string{"development": "true"}, nil))
		w.ok(w.SetDying(w.ctx, "mysql/0"))
		w.is("told", w.told(ch), "mysql/0")
	})

	t.Run("it ends with its context, also while nobody listens", func(t *testing.T) {
		t.Parallel()
		w, _ := pair(t)
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		ch, err := w.Watch(ctx, 0)
		w.ok(err)
		w.ok(w.SetDying(w.ctx, "mysql/0"))
		cancel()
		for deadline := time.After(5 * time.Minute); ; {
			select {
			case _, open := <-ch:
				if !open {
					return
				}
			case <-deadline:
				t.Fatal("it hasn't ended")
			}
		}
	})
}

// Who may see what has changed of a relation looks again, and nobody else: units of
// a side see the other side, and peers each other.
func TestOfARelationThoseAreToldWhoCanSeeWhatChanged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		act  func(w *world, peers, id model.RelationID) error
		want string
	}{
		{"who enters is seen by the other side", func(w *world, _, id model.RelationID) error {
			return w.EnterScope(w.ctx, "wordpress/0", id, nil)
		}, "mysql/0 mysql/1"},
		{"a peer that enters is seen by the others", func(w *world, peers, _ model.RelationID) error {
			return w.EnterScope(w.ctx, "mysql/0", peers, nil)
		}, "mysql/1"},
		{"settings are the other side's to see", func(w *world, _, id model.RelationID) error {
			return w.wrote("mysql/0", id, model.RelationChange{Unit: model.Settings{"a": "1"}})
		}, "wordpress/0"},
		{"so are an application's", func(w *world, _, id model.RelationID) error {
			return w.wrote("mysql/0", id, model.RelationChange{Application: model.Settings{"a": "1"}})
		}, "wordpress/0"},
		{"those of peers are for all of them", func(w *world, peers, _ model.RelationID) error {
			return w.wrote("mysql/0", peers, model.RelationChange{Application: model.Settings{"a": "1"}})
		}, "mysql/0 mysql/1"},
		{"its life is everybody's", func(w *world, _, id model.RelationID) error {
			return w.DestroyRelationID(w.ctx, id)
		}, "mysql/0 mysql/1 wordpress/0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.deploy(mysql, 2)
			w.deploy(wordpress, 1)
			id := w.relate("wordpress", "mysql")
			const peers = model.RelationID(0)
			w.enter("mysql/0", id)
			w.lead("mysql/0")
			rev := w.snapshot("mysql/0").Rev
			ch, err := w.Watch(t.Context(), rev)
			w.ok(err)
			w.ok(tt.act(w, peers, id))
			rel, err := w.Relation(w.ctx, id)
			w.ok(err)
			peerDoc, err := w.Relation(w.ctx, peers)
			w.ok(err)
			var told []string
			for c := range ch {
				for _, u := range []model.UnitName{"mysql/0", "mysql/1", "wordpress/0"} {
					for touched, r := range map[*state.Touched]state.RelationDoc{c.Relations[id]: rel, c.Relations[peers]: peerDoc} {
						if touched != nil && touched.Concerns(u, r.Endpoints) {
							told = append(told, string(u))
						}
					}
				}
				if len(c.Relations) > 0 {
					break
				}
			}
			w.is("told", strings.Join(told, " "), tt.want)
		})
	}
}

// wrote commits what a hook of the unit has written into a relation.
func (w *world) wrote(unit model.UnitName, id model.RelationID, change model.RelationChange) error {
	epoch, _, err := w.Leads(w.ctx, unit)
	w.ok(err)
	return w.CommitHook(w.ctx, state.HookCommit{Unit: unit, Run: 1, LeaveScope: model.NoRelation,
		Changes: model.Changes{Epoch: epoch, Relations: map[model.RelationID]model.RelationChange{id: change}}})
}
