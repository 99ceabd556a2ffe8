package machine

import (
	"context"
	stderrors "errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Leave clears away what c.Machine has on this host, whose machine is Dead, or
// gone: it ends what is left of hooks in which an agent was killed, and removes
// the units' cells, directories and tools, and the machine's storage, wherever
// it is mounted. The log, the history and recordings stay, and so does what a unit has started
// and left running on purpose. Where the model is gone too, they go with it, and
// storage stays: that is somebody's data. No agent may run in c.Dir.
//
// The error says what can't be cleared away, storage that is in use, say; what
// can be has been, and Leave may be called again for the rest. It is no error if
// nothing is there. Of c it needs what Run does, but for the hook tools.
func Leave(ctx context.Context, c Config) error {
	if c.Cells == nil {
		c.Cells = NewCells(c.Dir, "")
	}
	defer c.Cells.Close()
	c.Disk = c.Cells.Through(c.Disk)
	c.cgroups = runner.OpenCgroups(c.Dir)
	defer c.cgroups.Close()
	return errors.Trace((&agent{Config: c}).leave(ctx))
}

// leave is Leave in an agent whose units' agents have ended.
func (a *agent) leave(ctx context.Context) error {
	uuid := a.Machine.Model
	infos, err := a.Controller.Models(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	i := slices.IndexFunc(infos, func(info state.ModelInfo) bool { return info.UUID == uuid })
	if i < 0 && !a.removed(ctx, uuid) {
		return errors.NewNotFound(nil, "the store doesn't have the model with the id "+uuid+", and doesn't say that it was removed: nothing is cleared away")
	}
	former{dir: a.Dir, uuid: uuid, cgroups: a.cgroups, log: a.Log}.endAll(ctx)
	failed := []error{charmdir.RemoveTree(a.Disk, filepath.Join(a.Dir, "tools")), charmdir.RemoveTree(a.Disk, charmsDir(a.Dir))}
	if i < 0 {
		a.clearModel(uuid)
	} else {
		failed = append(failed,
			a.removeCells(uuid), // before the storage, which is mounted in them too
			charmdir.RemoveTree(a.Disk, filepath.Join(ModelDir(a.Dir, uuid), "agents")),
			a.clearStorage(ctx, a.Controller.Open(infos[i])))
	}
	if err := stderrors.Join(failed...); err != nil {
		line := strings.ReplaceAll(err.Error(), "\n", "; ")
		return errors.Errorf("machine %s has been removed from the model, and not all that it had here can be cleared away: %s: "+
			"start the agent again once that can go", a.Machine.ID, line)
	}
	return nil
}

// removeCells takes all cells of a model's units away, and the addresses of its
// applications.
func (a *agent) removeCells(uuid string) error {
	var failed []error
	for _, tag := range cellsOf(a.Config, uuid) {
		err := a.Cells.Remove(uuid + "/" + tag)
		failed = append(failed, errors.Annotatef(err, "cannot remove the machine of an isolated unit, %s", tag))
	}
	keys, err := a.Cells.Leased()
	failed = append(failed, errors.Trace(err))
	for _, key := range keys {
		if strings.HasPrefix(key, uuid+"/") {
			failed = append(failed, errors.Annotate(a.Cells.Release(key), "cannot give back the address of an application"))
		}
	}
	return stderrors.Join(failed...)
}

// clearStorage takes the storage of the removed machine off the host.
func (a *agent) clearStorage(ctx context.Context, m *state.Model) error {
	keeper := newKeeper(a.Config, m.UUID())
	there, err := keeper.Volumes()
	if err != nil || len(there) == 0 {
		return errors.Trace(err)
	}
	kept, released, err := a.storageLeft(ctx, m)
	if err != nil {
		return errors.Trace(err)
	}
	var failed []error
	for _, id := range there {
		switch {
		case kept[id]:
			continue
		case released[id]:
			_, err = keeper.Hand(ctx, id)
		default:
			err = keeper.Remove(ctx, id)
		}
		failed = append(failed, errors.Annotatef(err, "storage %s", id))
	}
	_ = a.Disk.Remove(keeper.Dir) // unless some is kept
	return stderrors.Join(failed...)
}

// storageLeft is what the model still says of storage once the machine is Dead:
// which is another machine's, and which a person has let go with what is in it.
// What the model doesn't know any more went with the machine.
func (a *agent) storageLeft(ctx context.Context, m *state.Model) (kept, released map[model.StorageID]bool, err error) {
	doc, err := m.Machine(ctx, a.Machine.ID)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return nil, nil, errors.Trace(err)
	}
	others := err == nil && doc.Agent != a.Machine.Agent // its id is another host's now
	all, err := m.Storage(ctx)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	kept, released = map[model.StorageID]bool{}, map[model.StorageID]bool{}
	for _, v := range all {
		kept[v.ID] = others || v.Host != a.Machine.ID
		released[v.ID] = v.Released
	}
	return kept, released, nil
}

// HandUnknown releases the storage that is on this host and that the model doesn't have,
// with what is in it, and says which that was: a model that was restored from a backup doesn't have what
// came later, and nobody has removed that. Of c it needs what Leave does. It may be
// called again where it was cut off.
func HandUnknown(ctx context.Context, c Config, m *state.Model) (released []model.StorageID, err error) {
	keeper := newKeeper(c, m.UUID())
	there, err := keeper.Volumes()
	if err != nil || len(there) == 0 {
		return nil, errors.Trace(err)
	}
	all, err := m.Storage(ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, id := range there {
		if slices.ContainsFunc(all, func(v state.StorageView) bool { return v.ID == id }) {
			continue
		}
		if _, err := keeper.Hand(ctx, id); err != nil {
			return released, errors.Annotatef(err, "storage %s", id)
		}
		released = append(released, id)
	}
	return released, nil
}
