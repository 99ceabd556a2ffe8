package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// addStorage attaches storage that isn't there yet.
func addStorage(initial bool) func(*World, []string) (bool, error) {
	return func(w *World, args []string) (bool, error) {
		id, err := model.ParseStorageID(args[0])
		if err != nil || w.Model.Life != model.Alive || w.storage(id) >= 0 {
			return false, err
		}
		all := append(slices.Clone(w.Model.Storage), resolver.Storage{ID: id, Kind: model.Filesystem, Initial: initial})
		slices.SortFunc(all, func(a, b resolver.Storage) int { return model.CompareStorage(a.ID, b.ID) })
		w.Model.Storage = all
		return true, nil
	}
}

// storage is where the model has the instance; -1: nowhere.
func (w *World) storage(id model.StorageID) int {
	return slices.IndexFunc(w.Model.Storage, func(s resolver.Storage) bool { return s.ID == id })
}

func onStorage(change func(*resolver.Storage)) func(*World, []string) (bool, error) {
	return func(w *World, args []string) (bool, error) {
		i := w.storage(model.StorageID(args[0]))
		if i < 0 {
			return false, nil
		}
		w.Model.Storage = slices.Clone(w.Model.Storage)
		change(&w.Model.Storage[i])
		return true, nil
	}
}

func vanishStorage(w *World, args []string) (bool, error) {
	return w.detached(model.StorageID(args[0])), nil
}

// detached takes an instance away from the unit; false: it had none.
func (w *World) detached(id model.StorageID) bool {
	i := w.storage(id)
	if i >= 0 {
		w.Model.Storage = slices.Delete(slices.Clone(w.Model.Storage), i, i+1)
	}
	return i >= 0
}

// die makes the unit Dying, and with it what is attached to it.
func (w *World) die() {
	w.Model.Life = max(w.Model.Life, model.Dying)
	w.Model.Storage = slices.Clone(w.Model.Storage)
	for i := range w.Model.Storage {
		w.Model.Storage[i].Going = true
	}
}

// untoldStorage says what of the storage a living unit has not been told.
func (w *World) untoldStorage() string {
	known := maps.Clone(w.Monitor.attached)
	for _, s := range w.Model.Storage {
		if s.Going || s.Ready && !known[s.ID] {
			return fmt.Sprintf("storage %s is there: %t, going: %t, and it was told: %t", s.ID, s.Ready, s.Going, known[s.ID])
		}
		delete(known, s.ID)
	}
	for id := range known {
		if w.Local.Storage[id] {
			return fmt.Sprintf("it remembers storage %s, which is gone", id)
		}
	}
	return ""
}

// waitsForStorage says whether install waits for what the unit was made with.
func (w *World) waitsForStorage() bool {
	return !w.Local.Installed && !w.Model.Sidecar && slices.ContainsFunc(w.Model.Storage, func(s resolver.Storage) bool { return s.Initial && !s.Ready })
}

// storageGuarantees are those about the storage of a unit.
func storageGuarantees() []Guarantee {
	const spec = "docs/spec/uniter-behaviour.md"
	return []Guarantee{
		{"attached runs once for an instance of storage", spec + " §1", attachedOnce},
		{"detaching runs once, for storage that was attached", spec + " §1", detachingOfAttached},
		{"a unit that goes has its storage detached before its relations are broken, and before stop", spec + " §1", detachedFirst},
	}
}

func attachedOnce(m *Monitor, h hooks.Info) string {
	if h.Kind == hooks.StorageAttached && m.attached[h.Storage] && !m.anew[h.Storage] {
		return "a second time"
	}
	return ""
}

func detachingOfAttached(m *Monitor, h hooks.Info) string {
	if h.Kind == hooks.StorageDetaching && !m.attached[h.Storage] {
		return "for storage that is not attached"
	}
	return ""
}

func detachedFirst(m *Monitor, h hooks.Info) string {
	going := h.Kind == hooks.Stop && !m.halts(h) || h.Kind == hooks.Remove || h.Kind == hooks.RelationDeparted && h.Departing != h.RemoteUnit
	if going && m.failed == nil && len(m.attached) > 0 {
		return fmt.Sprintf("with %d instances of storage attached", len(m.attached))
	}
	return ""
}

// tellStorage moves on what the charm knows of its storage.
func (m *Monitor) tellStorage(h hooks.Info) {
	m.attached = maps.Clone(m.attached)
	if m.attached == nil {
		m.attached = map[model.StorageID]bool{}
	}
	if h.Kind == hooks.StorageAttached {
		m.attached[h.Storage] = true
		m.anew = maps.Clone(m.anew)
		delete(m.anew, h.Storage)
		return
	}
	delete(m.attached, h.Storage)
}

// GoneStorage tells the monitor that storage was taken away by force.
func (m *Monitor) GoneStorage(id model.StorageID) {
	m.attached = maps.Clone(m.attached)
	delete(m.attached, id)
}

// storageFacts are the guarantees about the cause of storage hooks.
func storageFacts() []fact {
	const spec = "docs/spec/uniter-behaviour.md"
	return []fact{
		{Guarantee{"install runs when all storage is attached that the unit is deployed with, unless it has containers", spec + " §4", nil}, afterFirstStorage},
		{Guarantee{"a storage hook says where the storage is", spec + " §2", nil}, whereStorageIs},
	}
}

func afterFirstStorage(w *World, h hooks.Info) string {
	for _, s := range w.seen.Storage {
		if h.Kind == hooks.Install && !w.seen.Sidecar && !w.again() && (s.Initial && !s.Ready || s.Ready && !s.Going && !w.Monitor.attached[s.ID]) {
			return fmt.Sprintf("before %s is attached", s.ID)
		}
	}
	return ""
}

func whereStorageIs(w *World, h hooks.Info) string {
	for _, s := range w.seen.Storage {
		if s.ID == h.Storage && (h.Kind == hooks.StorageAttached && !s.Ready && !w.again() || h.StorageLocation != s.Location || h.StorageKind != s.Kind) {
			return fmt.Sprintf("for %q while it is at %q", h.StorageLocation, s.Location)
		}
	}
	return ""
}
