package machine

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/storage"
)

// storeroom has on this host the storage that a model's units are to have. It
// works beside the units' agents, as making a file system takes its time; what
// it has done they see in the model.
type storeroom struct {
	keeper *storage.Keeper
	model  *state.Model
	// host is state.StorageDoc.Host of the storage that is this one's matter.
	host string
	log  *slog.Logger
	rounds

	// provided has what was provided since the agent began, and for whom; empty:
	// it was let go.
	provided map[model.StorageID]model.UnitName
}

// StorageDir is where the storage of a model is; see package storage. It isn't
// in ModelDir, which goes with the model whatever is in it. dir is Config.Dir.
func StorageDir(dir, uuid string) string { return filepath.Join(dir, "storage", uuid) }

func newKeeper(c Config, uuid string) *storage.Keeper {
	return &storage.Keeper{Disk: c.Disk, Dir: StorageDir(c.Dir, uuid), Released: filepath.Join(c.Dir, "released-storage", uuid), Mounts: c.Mounts}
}

func newStoreroom(c Config, m *state.Model, host string, log *slog.Logger, idle func()) *storeroom {
	s := &storeroom{
		keeper: newKeeper(c, m.UUID()), model: m, host: host, log: log,
		provided: map[model.StorageID]model.UnitName{},
	}
	s.begin(c.Clock, idle)
	return s
}

// run provides storage until ctx ends.
func (s *storeroom) run(ctx context.Context) { s.work(ctx, s.round) }

// round does all that the model says, and says whether to try again.
func (s *storeroom) round(ctx context.Context) (again bool) {
	all, err := s.model.Storage(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Error("cannot read what storage there is to be", "err", err)
		}
		return true
	}
	for _, v := range all {
		if v.Host != s.host {
			continue
		}
		err := s.serve(ctx, v)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return false
		}
		if v.Problem != err.Error() {
			s.log.Error("cannot provide storage", "storage", v.ID, "unit", v.Unit, "err", err)
		}
		told := s.model.SetProvided(ctx, state.Provided{Storage: v.ID, Unit: v.Unit, Problem: err.Error()})
		// Leave that is lacking doesn't come while the agent runs.
		again = again || told != nil || !errors.Is(err, errors.NotSupported)
	}
	return again
}

// serve does what the model says of one instance.
func (s *storeroom) serve(ctx context.Context, v state.StorageView) error {
	unit, known := s.provided[v.ID]
	switch {
	case v.Attachment == nil && v.Life != model.Alive:
		return s.remove(ctx, v)
	case v.Attachment == nil:
		if known && unit == "" {
			return nil
		}
		if err := s.keeper.Release(ctx, v.ID); err != nil {
			return errors.Trace(err)
		}
		s.provided[v.ID] = ""
		return errors.Trace(s.model.SetProvided(ctx, state.Provided{Storage: v.ID}))
	case v.Going && !v.Attachment.Ready, unit == v.Unit && v.Attachment.Ready:
		return nil
	}
	wanted, inside, err := s.wanted(ctx, v)
	if err != nil {
		return errors.Trace(err)
	}
	location, err := s.keeper.Provide(ctx, storage.Volume{
		ID: v.ID, Provider: v.Provider, Kind: v.Kind, Size: v.Size, ReadOnly: v.ReadOnly, Wanted: wanted,
	})
	if err != nil {
		return errors.Trace(err)
	}
	if inside != "" {
		location = inside
	}
	if err := s.model.SetProvided(ctx, state.Provided{Storage: v.ID, Unit: v.Unit, Location: location}); err != nil {
		return errors.Trace(err)
	}
	s.provided[v.ID] = v.Unit
	return nil
}

// wanted is where the charm wants its storage to be on this host; or else inside,
// where it is in the machine of an isolated unit: on the host that stays where it
// is made, and the unit's agent attaches it.
func (s *storeroom) wanted(ctx context.Context, v state.StorageView) (wanted, inside string, err error) {
	isolated, pod, err := s.isolated(ctx, v.Unit)
	switch {
	case err != nil:
		return "", "", errors.Trace(err)
	case !isolated && pod:
		// The place is the same one in each unit: on the host there is one only.
		return "", "", nil
	case !isolated:
		return v.Attachment.Wanted, "", nil
	case v.Kind != model.Filesystem:
		return "", "", nil
	case v.Attachment.Location != "": // of which the charm was told
		return "", v.Attachment.Location, nil
	case filepath.IsAbs(v.Attachment.Wanted):
		return "", filepath.Clean(v.Attachment.Wanted), nil
	}
	return "", isolate.Juju + "/storage/" + string(v.ID), nil
}

// isolated says whether a unit has a machine of its own, or its principal has, and
// whether it is a container unit.
func (s *storeroom) isolated(ctx context.Context, unit model.UnitName) (isolated, pod bool, err error) {
	doc, err := s.model.Unit(ctx, unit)
	if err == nil {
		var app state.ApplicationDoc
		in := unit
		if doc.Principal != "" {
			in = doc.Principal
		}
		if app, err = s.model.Application(ctx, in.Application()); err == nil {
			return app.Isolation.On(), doc.Pod, nil
		}
	}
	if errors.Is(err, errors.NotFound) {
		return false, false, nil // on its way out
	}
	return false, false, errors.Trace(err)
}

// remove takes an instance off the host and out of the model.
func (s *storeroom) remove(ctx context.Context, v state.StorageView) error {
	if v.Released {
		to, err := s.keeper.Hand(ctx, v.ID)
		if err != nil {
			return errors.Trace(err)
		}
		if to != "" {
			s.log.Info("storage is released", "storage", v.ID, "to", to)
		}
	} else if err := s.keeper.Remove(ctx, v.ID); err != nil {
		return errors.Trace(err)
	}
	delete(s.provided, v.ID)
	return errors.Trace(s.model.StorageGone(ctx, v.ID))
}
