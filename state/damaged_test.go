package state_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// TestADamagedDocumentIsNamed changes one byte of a document past the model, as a
// disk does, on each engine: whoever reads it is told which one it is, and so is
// who looks through the store.
func TestADamagedDocumentIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 1)
	key := "m/" + w.UUID() + "/unit/mysql/0"
	var good []byte
	put := func(value []byte) {
		_, err := w.store.Update(w.ctx, func(tx store.Tx) error { return tx.Put(key, value) })
		w.ok(err)
	}
	_, err := w.store.View(w.ctx, func(r store.Reader) error {
		kv, err := r.Get(key)
		good = bytes.Clone(kv.Value)
		return err
	})
	w.ok(err)
	put(bytes.Replace(good, []byte("mysql/0"), []byte("mysql/1"), 1))
	_, err = w.Unit(w.ctx, "mysql/0")
	if !errors.Is(err, state.ErrDocumentDamaged) {
		t.Errorf("reading it: %v", err)
	}
	w.fails(err, `document unit/mysql/0 of model "shop" is damaged in the store: "unitd store check" says what else is, and what can be recovered`)
	if _, err := w.Snapshot(w.ctx, "mysql/0"); !errors.Is(err, state.ErrDocumentDamaged) {
		t.Errorf("the agent is shown: %v", err)
	}
	found, err := state.Inspect(w.ctx, w.store)
	w.ok(err)
	if found.Whole() || len(found.Models) != 1 || len(found.Models[0].Damaged) != 1 || found.Models[0].Damaged[0].Key != "unit/mysql/0" {
		t.Errorf("what is found: %+v", found)
	}
	put(good)
	if found, err := state.Inspect(w.ctx, w.store); err != nil || !found.Whole() || found.Former != 0 {
		t.Errorf("what is found of a whole store: %+v (%v)", found, err)
	}
}

// TestARevisionThatCannotBeIsFound, whatever the engine that has it.
func TestARevisionThatCannotBeIsFound(t *testing.T) {
	t.Parallel()
	kvs := state.Remains{
		{Key: "a", Rev: 7, CreateRev: 7}, {Key: "b", Rev: 7, CreateRev: 3}, {Key: "c"}, {Key: "d", Rev: 3, CreateRev: 7},
		{Key: "e", Rev: -1, CreateRev: -1}, {Key: "f", Rev: 8, CreateRev: 1},
	}
	found, err := state.Inspect(t.Context(), behind{kvs})
	if err != nil {
		t.Fatal(err)
	}
	var keys string
	for _, r := range found.Impossible {
		keys += r.Key
	}
	if keys != "cdef" || found.Whole() {
		t.Errorf("found are %q, whole is %v", keys, found.Whole())
	}
}

// behind is a store at revision 7, whatever its keys say.
type behind struct{ state.Remains }

func (b behind) View(_ context.Context, fn func(store.Reader) error) (int64, error) {
	return b.Rev(), fn(b)
}

func (behind) Rev() int64 { return 7 }
