package state_test

import (
	"fmt"
	"testing"

	"github.com/unitd/unitd/state"
)

// filled is a world with a unit of db, which an agent has taken on, and whose storage
// has something in it.
func filled(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.deployStored(1, "")
	w.enter("db/0")
	w.ok(w.SetDeployed(w.ctx, "db/0"))
	w.provide("db/0", "data/0")
	return w
}

// filledBelow is a world with a unit of wordpress, whose subordinate of sub has such
// storage.
func filledBelow(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	sub := stored()
	sub.Name, sub.Subordinate = "sub", true
	sub.Endpoints = charm("x info=requirer:juju-info@container").Endpoints
	w.deploy(wordpress, 1)
	w.ok(w.deployWith(sub, 0, ""))
	w.enter("wordpress/0", w.relate("wordpress:juju-info", "sub:info"))
	w.ok(w.SetDeployed(w.ctx, "sub/0"))
	w.provide("sub/0", "data/0")
	return w
}

// fate is the life of each instance, and whether it is released.
func (w *world) fate() string {
	w.Helper()
	all, err := w.Storage(w.ctx)
	w.ok(err)
	text := ""
	for _, v := range all {
		text += fmt.Sprintf("%s %s", v.ID, v.Life)
		if v.Released {
			text += " released"
		}
		text += "\n"
	}
	return text
}

func TestStorageThatIsToBeReleasedStaysSo(t *testing.T) {
	t.Parallel()

	t.Run("when destroy-model is said again without a word, as it tells people to", func(t *testing.T) {
		t.Parallel()
		w := filled(t)
		w.ok(w.DestroyWith(w.ctx, false, state.StorageReleased))
		w.ok(w.Destroy(w.ctx, false))
		w.ok(w.Destroy(w.ctx, true))
		w.is("storage", w.fate(), "data/0 dying released\n")
		w.fails(w.DestroyWith(w.ctx, true, state.StorageDestroyed), `model "shop" is being destroyed already, and what is in its storage is left on this machine: `+
			`without "--destroy-storage" that goes on`)
	})

	t.Run("when the first command was cut off wherever that may be", func(t *testing.T) {
		t.Parallel()
		for n, done := 1, false; !done; n++ {
			w := filled(t)
			done = w.cutOff(n, func(m *state.Model) error { return m.DestroyWith(w.ctx, false, state.StorageReleased) })
			w.ok(w.Destroy(w.ctx, false))
			w.is(fmt.Sprintf("storage when cut off after %d", n), w.fate(), "data/0 dying released\n")
		}
	})

	t.Run("when it is removed again, or its unit with its storage", func(t *testing.T) {
		t.Parallel()
		w := filled(t)
		w.ok(w.RemoveStorage(w.ctx, "data/0", true, true))
		w.ok(w.RemoveStorage(w.ctx, "data/0", false, true))
		w.is("storage", w.fate(), "data/0 dying released\n")
		w.ok(w.ForceUnitWith(w.ctx, "db/0", state.Abandon, state.StorageDestroyed))
		w.is("storage without its unit", w.fate(), "data/0 dying released\n")
	})

	t.Run("when the model was to be destroyed with it at first", func(t *testing.T) {
		t.Parallel()
		w := filled(t)
		w.ok(w.DestroyWith(w.ctx, false, state.StorageDestroyed))
		w.ok(w.DestroyWith(w.ctx, false, state.StorageReleased))
		w.is("storage", w.fate(), "data/0 dying released\n")
	})
}

func TestAModelWithStorageNeedsAWordForIt(t *testing.T) {
	t.Parallel()
	w := filled(t)
	w.fails(w.Destroy(w.ctx, true), `cannot destroy model "shop": it has storage in it that would outlive it (data/0, …): `+
		`"--destroy-storage" removes it, "--release-storage" leaves what is in it on this machine`)
	w.is("storage", w.fate(), "data/0 alive\n")
	w.is("application", w.appLife("db"), "alive")
	w.fails(w.CheckDestroy(w.ctx, state.StorageStays), `cannot destroy model "shop": it has storage in it that would outlive it (data/0, …): `+
		`"--destroy-storage" removes it, "--release-storage" leaves what is in it on this machine`)
	w.ok(w.CheckDestroy(w.ctx, state.StorageReleased))
	w.is("application that was only asked about", w.appLife("db"), "alive")
	w.ok(w.ForceUnitWith(w.ctx, "db/0", state.Orderly, state.StorageDestroyed))
	w.ok(w.Destroy(w.ctx, true))
	w.is("storage of a unit that goes with it", w.fate(), "data/0 dying\n")
}

func TestAModelThatWasBegunToBeDestroyedIsDestroyedByTheCleanupQueue(t *testing.T) {
	t.Parallel()
	for _, force := range []bool{false, true} {
		for n, done := 1, false; !done; n++ {
			h := newHarbour(t)
			h.consume("dbalias")
			id := h.relate("shop:store", "dbalias")
			h.enter("shop/0", id)
			done = h.cutOff(n, func(m *state.Model) error { return m.Destroy(h.ctx, force) })
			h.ok(h.RunCleanups(h.ctx))
			what := fmt.Sprintf("with force %t, cut off after %d", force, n)
			h.is("shop "+what, h.appLife("shop"), map[bool]string{false: "dying", true: "gone"}[force])
			saas, err := h.SAAS(h.ctx, "dbalias")
			h.is("what it has consumed "+what, life(saas.Life, err), map[bool]string{false: "dying", true: "gone"}[force])
		}
	}
}

func TestARemovalThatIsRefusedLeavesStorageAlone(t *testing.T) {
	t.Parallel()
	const attached = "data/0 alive\n"

	t.Run("of an application with an offer", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		c := stored()
		c.Endpoints = charm("x db=provider:kv").Endpoints
		w.ok(w.deployWith(c, 1, ""))
		w.ok(w.SetDeployed(w.ctx, "db/0"))
		w.provide("db/0", "data/0")
		_, err := w.Offer(w.ctx, "db", []string{"db"}, "")
		w.ok(err)
		_, err = w.ForceApplicationWith(w.ctx, "db", state.Orderly, state.StorageDestroyed, nil)
		w.fails(err, `cannot destroy application "db": application is used by 1 offer`)
		w.is("storage", w.fate(), attached)
		w.ok(w.RemoveOffer(w.ctx, "db", false))
		_, err = w.ForceApplication(w.ctx, "db", state.Abandon, nil)
		w.ok(err)
		w.is("storage of the application that goes without it", w.fate(), attached)
	})

	t.Run("of a subordinate", func(t *testing.T) {
		t.Parallel()
		w := filledBelow(t)
		w.fails(w.ForceUnitWith(w.ctx, "sub/0", state.Orderly, state.StorageDestroyed),
			`unit "sub/0" is a subordinate, to remove use remove-relation. Note: this will remove all relations to sub`)
		w.is("storage", w.fate(), attached)
		w.ok(w.ForceRemoveUnit(w.ctx, "sub/0"))
		w.is("storage of the unit that goes without it", w.fate(), attached)
	})
}

func TestStorageGoesWithWhatItWasToGoWith(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(w *world) error{
		"its unit": func(w *world) error { return w.ForceUnitWith(w.ctx, "db/0", state.Orderly, state.StorageDestroyed) },
		"its application, however far the command has come": func(w *world) error {
			w.cutOff(1, func(m *state.Model) error {
				_, err := m.ForceApplicationWith(w.ctx, "db", state.Orderly, state.StorageDestroyed, nil)
				return err
			})
			return nil
		},
		"an application that is going already": func(w *world) error {
			_, err := w.DestroyApplication(w.ctx, "db")
			w.ok(err)
			_, err = w.ForceApplicationWith(w.ctx, "db", state.Orderly, state.StorageDestroyed, nil)
			return err
		},
		"a unit that is going already": func(w *world) error {
			w.ok(w.DestroyUnit(w.ctx, "db/0"))
			return w.ForceUnitWith(w.ctx, "db/0", state.Orderly, state.StorageDestroyed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := filled(t)
			w.ok(remove(w))
			fate, err := w.StorageFate(w.ctx, "db/0")
			w.ok(err)
			w.is("what is said of it", string(fate), "destroy")
			w.ok(w.SetDying(w.ctx, "db/0"))
			w.ok(w.EndAttachment(w.ctx, "db/0", "data/0"))
			w.is("storage", w.fate(), "data/0 dying\n")
		})
	}

	t.Run("the principal of its unit", func(t *testing.T) {
		t.Parallel()
		w := filledBelow(t)
		w.ok(w.ForceUnitWith(w.ctx, "wordpress/0", state.Abandon, state.StorageDestroyed))
		w.is("storage", w.fate(), "data/0 dying\n")
	})
}
