package state_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// littered is a world with all that removals leave to the cleanup queue: settings,
// histories, secrets, tasks, storage, and removals of which only the beginning is
// made. The queue has not been run.
func littered(t *testing.T) *world {
	t.Helper()
	s := newSecrets(t)
	w := s.world
	w.ok(s.hook("mysql/0", made("one"), s.grant("wordpress")))
	own := made("own")
	own.ID, own.Make = "9m4e2mr0ui3e8a215n50", &model.SecretOwner{Kind: model.OwnedByUnit, Name: "mysql/1"}
	w.ok(s.hook("mysql/1", own))
	s.reads("wordpress/0", state.SecretRef{ID: secretOne}, "one")
	for i := range 25 {
		w.ask("mysql/0")
		w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", model.Status{Status: "active", Message: fmt.Sprint(i)}))
		w.ok(w.SetStatus(w.ctx, state.ApplicationStatus, "mysql", model.Status{Status: "active", Message: fmt.Sprint(i)}))
	}
	_, err := w.AddStorage(w.ctx, "mysql/0", "data", model.StorageDirective{Count: 3, Size: 1})
	w.ok(err)
	// A settings document for each of very many who were here once.
	for i := 0; i < 300; i += store.MaxWrites {
		_, err := w.store.Update(w.ctx, func(tx store.Tx) error {
			for k := range store.MaxWrites {
				if err := tx.Put(fmt.Sprintf("m/%s/settings/%d/unit/mysql/%d", w.UUID(), s.relation, i+k+2), []byte(`{"version":1}`)); err != nil {
					return err
				}
			}
			return nil
		})
		w.ok(err)
	}
	w.cutOff(1, func(m *state.Model) error { return m.ForceRelation(w.ctx, s.relation, state.Abandon, nil) })
	w.cutOff(1, func(m *state.Model) error {
		_, err := m.ForceApplication(w.ctx, "mysql", state.Abandon, nil)
		return err
	})
	w.cutOff(1, func(m *state.Model) error { return m.ForceRemoveUnit(w.ctx, "wordpress/0") })
	return w
}

// raw writes a document of the model as it is.
func (w *world) raw(key, value string) {
	w.Helper()
	_, err := w.store.Update(w.ctx, func(tx store.Tx) error { return tx.Put("m/"+w.UUID()+"/"+key, []byte(value)) })
	w.ok(err)
}

// documents are the model's documents but for its sequences, by key.
func (w *world) documents() map[string]string {
	w.Helper()
	all := map[string]string{}
	prefix := "m/" + w.UUID() + "/"
	_, err := w.store.View(w.ctx, func(r store.Reader) error {
		kvs, err := r.List(prefix)
		for _, kv := range kvs {
			if key := strings.TrimPrefix(kv.Key, prefix); !strings.HasPrefix(key, "sequence/") {
				all[key] = string(kv.Value)
			}
		}
		return err
	})
	w.ok(err)
	return all
}

// clean is what is there of a littered world once the queue is empty: charms, the
// tasks, which have ended, and the application that was not removed.
func (w *world) clean() map[string]string {
	w.Helper()
	w.is("application", w.appLife("mysql"), "gone")
	w.is("units", w.unitNames(), "")
	docs := w.documents()
	for key := range docs {
		switch kind, _, _ := strings.Cut(key, "/"); kind {
		case "charm", "task", "operation":
		case "app", "config":
			if !strings.HasSuffix(key, "/wordpress") {
				w.Errorf("%s is left", key)
			}
		case "storage":
			if !strings.Contains(docs[key], `"life":1`) {
				w.Errorf("storage that was never there is left: %s", docs[key])
			}
		default:
			w.Errorf("%s is left", key)
		}
	}
	return docs
}

func TestCleanups(t *testing.T) {
	t.Parallel()

	t.Run("nothing is left", func(t *testing.T) {
		t.Parallel()
		w := littered(t)
		w.ok(w.RunCleanups(w.ctx))
		w.clean()
	})

	t.Run("whoever is killed in the middle goes on from there", func(t *testing.T) {
		t.Parallel()
		// Work that a single transaction ends leaves the queue by a second one.
		for _, steps := range []int{2, 3, 5} {
			w := littered(t)
			kills := 0
			for !w.cutOff(steps, func(m *state.Model) error { return m.RunCleanups(w.ctx) }) {
				if kills++; kills > 1000 {
					t.Fatal("it comes to no end")
				}
			}
			if kills < 5 {
				t.Errorf("killed only %d times", kills)
			}
			w.clean()
		}
	})

	t.Run("who hears of no answer does it again", func(t *testing.T) {
		t.Parallel()
		for n := range 4 {
			w := littered(t)
			if err := w.onStore(&deaf{Store: w.store, n: 5 * n}).RunCleanups(w.ctx); err != nil && !errors.Is(err, errCut) {
				t.Error(err)
			}
			w.ok(w.RunCleanups(w.ctx))
			w.clean()
		}
	})

	t.Run("work that is done twice is done once", func(t *testing.T) {
		t.Parallel()
		w := littered(t)
		// All that ever was in the queue, as an agent has it that was stopped for long.
		queue := map[string]string{}
		for {
			for key, doc := range w.documents() {
				if strings.HasPrefix(key, "cleanup/") {
					queue[key] = doc
				}
			}
			if w.cutOff(2, func(m *state.Model) error { return m.RunCleanups(w.ctx) }) {
				break
			}
		}
		want := w.clean()
		for key, doc := range queue {
			w.raw(key, doc)
		}
		w.ok(w.RunCleanups(w.ctx))
		if got := w.documents(); !maps.Equal(got, want) {
			t.Errorf("now there is %v, there was %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
		if len(queue) < 8 {
			t.Errorf("only %d were in the queue", len(queue))
		}
	})

	t.Run("several agents do it together", func(t *testing.T) {
		t.Parallel()
		w := littered(t)
		var agents sync.WaitGroup
		for range 3 {
			agents.Go(func() {
				if err := w.RunCleanups(w.ctx); err != nil {
					t.Error(err)
				}
			})
		}
		agents.Wait()
		w.ok(w.RunCleanups(w.ctx))
		w.clean()
	})

	t.Run("what can't be done keeps nothing else", func(t *testing.T) {
		t.Parallel()
		w := littered(t)
		w.raw("cleanup/000000000", `{"tasks":"task-of/broken/"}`)
		w.raw("task-of/broken/1", `"no reference"`)
		if err := w.RunCleanups(w.ctx); err == nil {
			t.Error("no error of what can't be done")
		}
		left := slices.Sorted(maps.Keys(w.documents()))
		left = slices.DeleteFunc(left, func(key string) bool { return !strings.HasPrefix(key, "cleanup/") })
		if len(left) != 1 {
			t.Errorf("left in the queue: %v", left)
		}
	})
}
