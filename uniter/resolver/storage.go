package resolver

import (
	"fmt"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// Storage is an instance of storage that is attached to the unit, or is about
// to be, as the model has it.
type Storage struct {
	ID model.StorageID
	// Kind is model.Filesystem or model.Block.
	Kind string
	// Ready: it is there, at Location.
	Ready    bool
	Location string
	// Why says in a line what keeps it from being ready, if that is known.
	Why string
	// Initial: it was made with the unit, so install waits for it.
	Initial bool
	// Going: it is to be detached.
	Going bool
}

// storage finds an instance that the model has for the unit.
func (r Remote) storage(id model.StorageID) (Storage, bool) {
	for _, s := range r.Storage {
		if s.ID == id {
			return s, true
		}
	}
	return Storage{}, false
}

// strayStorage is what the charm was told of and the model doesn't have, in
// order.
func strayStorage(l Local, r Remote) []model.StorageID {
	var ids []model.StorageID
	for _, id := range l.storageInOrder() {
		if _, ok := r.storage(id); !ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// firstStorage is what comes between the deployment of the charm and install.
// Source: docs/spec/uniter-behaviour.md §4; why the unit waits is said here (≠).
func firstStorage(l Local, r Remote) (Op, bool) {
	if l.Installed || r.Sidecar {
		return Op{}, false
	}
	if op, ok := storage(l, r); ok {
		return op, true
	}
	for _, s := range r.Storage {
		if s.Initial && !s.Ready {
			reason := fmt.Sprintf("waiting for storage %s", s.ID)
			if s.Why != "" {
				reason += ": " + s.Why
			}
			return Op{Verb: Idle, Storage: []model.StorageID{s.ID}, Reason: reason}, true
		}
	}
	return Op{}, false
}

// storage tells of what comes and goes: first of what goes.
func storage(l Local, r Remote) (Op, bool) {
	if op, ok := detach(l, r, "storage is being detached"); ok {
		return op, true
	}
	for _, s := range r.Storage {
		if s.Ready && !s.Going && !l.Storage[s.ID] {
			return run(l, r, s.hook(hooks.StorageAttached, "storage attached"))
		}
	}
	return Op{}, false
}

// detach takes what is going away from the unit: without a hook what the charm
// was never told of, be it there or not.
func detach(l Local, r Remote, cause string) (Op, bool) {
	untold := Op{Verb: Detach, Reason: "the charm was told nothing of the storage"}
	for _, s := range r.Storage {
		if _, told := l.Storage[s.ID]; s.Going && !told {
			untold.Storage = append(untold.Storage, s.ID)
		}
	}
	if len(untold.Storage) > 0 {
		return untold, true
	}
	for _, s := range r.Storage {
		if s.Going && l.Charm != "" {
			return run(l, r, s.hook(hooks.StorageDetaching, cause))
		}
	}
	return Op{}, false
}

func (s Storage) hook(k hooks.Kind, cause string) hooks.Info {
	return hooks.Info{Kind: k, Storage: s.ID, StorageLocation: s.Location, StorageKind: s.Kind, Cause: cause}
}
