package backup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter/journal"
	"github.com/unitd/unitd/uniter/resolver"
)

// asideName has, below a data directory, what a restored store doesn't know, by
// restorations. Nobody touches it again.
const asideName = "before-restore"

// Meet has a data directory that was there before come to terms with a store that was restored: its
// units may have come further than the store has, and it may have units and storage that came
// later than the backup. Of these nobody can say that they were removed, so nothing
// is cleared away:
//
//   - a unit's directory that the store knows nothing of is moved to "before-restore", and storage to
//     "released-storage";
//   - the journal of a unit that knows of runs that the store doesn't have is moved there too, with its
//     history. What these runs wrote is lost, so the unit goes on from what the model
//     remembers, as with a lost disk (docs/guarantees.md, "When a disk is lost or damaged");
//   - a unit that has come no further goes on as if nothing had been.
//
// It is done once for each restoration, may be cut off anywhere, and runs before an
// agent does. A directory that was restored itself knows of its restoration. Of c it
// needs what machine.Leave does. It returns what was moved, for people.
func Meet(ctx context.Context, c machine.Config) (moved []string, err error) {
	infos, err := c.Controller.Models(ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	known, err := readKnown(c.Dir)
	if err != nil {
		return nil, errors.Trace(err)
	}
	changed := false
	for _, info := range infos {
		if c.Machine != nil && c.Machine.Model != info.UUID {
			continue
		}
		m := c.Controller.Open(info)
		doc, restored, err := m.Restored(ctx)
		if errors.Is(err, errors.Unauthorized) {
			continue // it isn't this agent's to see
		}
		if err != nil {
			return moved, errors.Trace(err)
		}
		if !restored || known[info.UUID] == doc.ID {
			continue
		}
		x := &meeting{Config: c, ctx: ctx, m: m, to: filepath.Join(c.Dir, asideName, doc.ID)}
		if err := x.all(); err != nil {
			return moved, errors.Annotatef(err, "cannot come to terms with the restored model %q", info.Name)
		}
		moved = append(moved, x.moved...)
		known[info.UUID], changed = doc.ID, true
	}
	if !changed {
		return moved, nil
	}
	return moved, errors.Annotate(writeKnown(c.Disk, c.Dir, known), "cannot note that the store was restored")
}

// Knows says whether a data directory knows that the model was restored: only then is what the model
// doesn't have something that was removed.
func Knows(dir, uuid string, doc state.RestoredDoc) (bool, error) {
	known, err := readKnown(dir)
	return known[uuid] == doc.ID, errors.Trace(err)
}

// meeting is one model that was restored.
type meeting struct {
	machine.Config
	ctx   context.Context
	m     *state.Model
	to    string
	moved []string
}

func (x *meeting) all() error {
	units, err := x.m.Units(x.ctx)
	if err != nil {
		return errors.Trace(err)
	}
	dir := filepath.Join(machine.ModelDir(x.Dir, x.m.UUID()), "agents")
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return errors.Trace(err)
	}
	for _, e := range entries {
		i := slices.IndexFunc(units, func(u state.UnitDoc) bool { return u.Name.Tag() == e.Name() })
		var of *state.UnitDoc
		if i >= 0 {
			of = &units[i]
		}
		if err := x.unit(filepath.Join(dir, e.Name()), of); err != nil {
			return errors.Annotatef(err, "unit directory %s", e.Name())
		}
	}
	released, err := machine.HandUnknown(x.ctx, x.Config, x.m)
	for _, id := range released {
		x.moved = append(x.moved, fmt.Sprintf("storage %s, which the backup doesn't have, to released-storage", id))
	}
	return errors.Trace(err)
}

// unit sets aside of a unit's directory what the store doesn't have; nil: it doesn't have the unit.
func (x *meeting) unit(dir string, of *state.UnitDoc) error {
	r, err := journal.Newest(dir)
	if err != nil {
		return nil // the unit's agent says what is wrong with it
	}
	tag := filepath.Base(dir)
	switch {
	case of == nil, r.Generation > 0 && r.Local.ID != of.ID:
		if err := x.move(dir); err != nil {
			return errors.Trace(err)
		}
		x.moved = append(x.moved, tag+", which the backup doesn't have, to "+asideName)
		return x.move(filepath.Join(machine.HistoryDir(x.Dir, x.m.UUID()), tag+".jsonl"))
	case r.Generation == 0 || fits(r.Local, of.Run):
		return nil
	}
	for _, path := range []string{
		filepath.Join(machine.HistoryDir(x.Dir, x.m.UUID()), tag+".jsonl"), filepath.Join(machine.HistoryDir(x.Dir, x.m.UUID()), tag+".jsonl.1"),
		filepath.Join(dir, "journal-0"), filepath.Join(dir, "journal-1"),
	} {
		if err := x.move(path); err != nil {
			return errors.Trace(err)
		}
	}
	x.moved = append(x.moved, fmt.Sprintf("the journal of %s, which has come to run %d, and the backup to %d, to %s", of.Name, r.Local.Run, of.Run, asideName))
	return nil
}

// fits says whether a journal knows of no commit that the model doesn't have, by its stamp. One
// run may have begun, or failed, since: of more nobody can say that none of them has
// committed.
func fits(l resolver.Local, committed int64) bool {
	if l.Run <= committed {
		return true
	}
	begun := l.Task != nil && l.Task.Run == l.Run || l.Current != nil && l.Current.Run == l.Run
	return begun && l.Run == committed+1
}

// move moves what is in the data directory to where it is out of the way, unless it isn't there.
func (x *meeting) move(path string) error {
	if _, err := os.Lstat(path); os.IsNotExist(err) {
		return nil
	}
	name, err := filepath.Rel(x.Dir, path)
	if err != nil {
		return errors.Trace(err)
	}
	to := filepath.Join(x.to, name)
	if err := x.Disk.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return errors.Trace(err)
	}
	if err := x.Disk.Rename(path, to); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(x.Disk.SyncDir(filepath.Dir(to)))
}
