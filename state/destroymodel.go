package state

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// goingModel is how a model is being destroyed.
type goingModel struct {
	Force bool `json:"force,omitempty"`
}

// Destroy is DestroyWith for a model without storage that would outlive it, or of
// which it has been said what becomes of that.
func (m *Model) Destroy(ctx context.Context, force bool) error {
	return errors.Trace(m.DestroyWith(ctx, force, StorageStays))
}

// DestroyWith makes the model Dying and destroys its applications, and all its storage
// as the word says. Their units' agents run stop and remove; RemoveIfEmpty takes the
// model away in the end. With force units are removed without a hook. A model that is
// Dying already needs no word, and what there was of its storage to be left on the host
// stays so. Errors: NotFound, NotValid where a word is missing, or takes back another.
func (m *Model) DestroyWith(ctx context.Context, force bool, storage StorageFate) error {
	_, err := m.update(ctx, func(tx *txn) error {
		info, err := readInfo(tx, m.info)
		if err != nil {
			return errors.Annotatef(err, "cannot destroy model %s", m.info.Name)
		}
		fate, err := tx.fateOfModel(info, storage)
		if err != nil || info.Life != model.Alive && fate == info.StorageFate && !force {
			return errors.Trace(err)
		}
		info.Life, info.StorageFate = model.Dying, fate
		// Whoever is cut off after this leaves the rest to the agent.
		if err := tx.queue(cleanupDoc{Model: &goingModel{Force: force}}); err != nil {
			return errors.Trace(err)
		}
		return putInfo(tx.tx, info)
	})
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(m.finishModel(ctx, goingModel{Force: force}))
}

// CheckDestroy says why DestroyWith would refuse.
func (m *Model) CheckDestroy(ctx context.Context, storage StorageFate) error {
	_, err := m.view(ctx, func(r docs) error {
		info, err := readInfo(r, m.info)
		if err == nil {
			_, err = r.fateOfModel(info, storage)
		}
		return errors.Trace(err)
	})
	return errors.Trace(err)
}

// fateOfModel is what becomes of the storage of a model that is being destroyed.
func (d docs) fateOfModel(info ModelInfo, said StorageFate) (StorageFate, error) {
	if said == StorageDestroyed && info.StorageFate == StorageReleased {
		return "", errors.NewNotValid(nil, fmt.Sprintf("model %q is being destroyed already, and what is in its storage is left on this machine: "+
			"without \"--destroy-storage\" that goes on", info.Name))
	}
	if fate := info.StorageFate.or(said); fate != StorageStays {
		return fate, nil
	}
	kept, err := d.outliving()
	if err != nil {
		return "", errors.Trace(err)
	}
	if len(kept) > 0 {
		return "", errors.NewNotValid(nil, fmt.Sprintf("cannot destroy model %q: it has storage in it that would outlive it (%s, …): "+
			"\"--destroy-storage\" removes it, \"--release-storage\" leaves what is in it on this machine", info.Name, kept[0]))
	}
	return StorageDestroyed, nil
}

// finishModel does the rest of a Destroy, if there is any. It can be stopped and run
// again at any point.
func (m *Model) finishModel(ctx context.Context, how goingModel) error {
	info, err := m.Info(ctx)
	if errors.Is(err, errors.NotFound) || err == nil && info.Life == model.Alive {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	if err := m.endAcross(ctx, how.Force); err != nil {
		return errors.Annotatef(err, "cannot destroy model %s", m.info.Name)
	}
	apps, err := m.Applications(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	for _, a := range apps {
		if _, err := m.DestroyApplication(ctx, a.Name); err != nil && !errors.Is(err, errors.NotFound) {
			return errors.Trace(err)
		}
	}
	if how.Force {
		if err := m.forceUnits(ctx); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(m.doomStorage(ctx, info.StorageFate == StorageReleased))
}

// forceUnits removes every unit and relation without waiting for an agent.
func (m *Model) forceUnits(ctx context.Context) error {
	for {
		units, err := m.Units(ctx)
		if err != nil {
			return errors.Trace(err)
		}
		// Principals first: they take their subordinates with them, and see
		// nothing of it.
		slices.SortStableFunc(units, func(a, b UnitDoc) int { return strings.Compare(string(a.Principal), string(b.Principal)) })
		if len(units) == 0 {
			return nil
		}
		if err := m.ForceRemoveUnit(ctx, units[0].Name); err != nil {
			return errors.Annotatef(err, "cannot remove %s by force", units[0].Name)
		}
	}
}

// doomStorage has all storage of the model removed once it is detached.
func (m *Model) doomStorage(ctx context.Context, release bool) error {
	all, err := m.Storage(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	for _, v := range all {
		_, err := m.update(ctx, func(tx *txn) error {
			s, err := tx.storageDoc(v.ID)
			if err != nil {
				return errors.Trace(err)
			}
			return tx.doom(s, release)
		})
		if err != nil && !errors.Is(err, errors.NotFound) {
			return errors.Trace(err)
		}
	}
	return nil
}
