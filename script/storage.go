package script

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/storage"
)

// storageCommands have storage fail.
func storageCommands() []Cmd {
	return []Cmd{
		{Name: "storage-gone", Args: "STORAGE [back]", Summary: "take away what is in a unit's storage, as if its disk had come off: its directory is empty, and the model still says that it is attached; back: it is there again", run: (*call).storageGone},
	}
}

func (c *call) storageGone() error {
	back := len(c.args) == 2 && c.args[1] == "back"
	if len(c.args) != 1 && !back {
		return c.usagef("expected a storage, and perhaps back")
	}
	m, err := c.model()
	if err != nil {
		return err
	}
	v, err := c.storageOf(m)
	if err != nil {
		return err
	}
	fs := storage.FileSystem(machine.StorageDir(c.dir, m.UUID()), v.ID)
	gone := filepath.Join(filepath.Dir(fs), "gone")
	_, err = os.Stat(gone)
	switch there := os.IsNotExist(err); {
	case err != nil && !there:
		return errors.Trace(err)
	case back && there:
		return errors.Errorf("storage %s isn't gone", v.ID)
	case back:
		return errors.Annotatef(bringBack(gone, fs), "cannot bring storage %s back", v.ID)
	case !there:
		return errors.Errorf("storage %s is gone already", v.ID)
	case v.Attachment == nil || !v.Attachment.Ready:
		return errors.Errorf("storage %s is not attached to a unit", v.ID)
	}
	return errors.Annotatef(takeAway(fs, gone), "cannot take storage %s away", v.ID)
}

// storageOf is the storage that the first argument names, which has a file system.
func (c *call) storageOf(m *state.Model) (state.StorageView, error) {
	all, err := m.Storage(c.ctx)
	if err != nil {
		return state.StorageView{}, err
	}
	var names []string
	for _, v := range all {
		switch {
		case string(v.ID) != c.args[0]:
			names = append(names, string(v.ID))
		case v.Kind != model.Filesystem:
			return v, c.usagef("storage %s is a device: only a file system can be gone", v.ID)
		default:
			return v, nil
		}
	}
	there := "there is none"
	if len(names) > 0 {
		there = "there are " + strings.Join(names, ", ")
	}
	return state.StorageView{}, misuse{fmt.Errorf("there is no storage %q; %s", c.args[0], there)}
}

// takeAway moves what is in a file system aside. The directory itself stays, as a mount
// point does: it is where isolated units and workload containers have it from.
func takeAway(fs, aside string) error {
	if err := os.Mkdir(aside, 0o700); err != nil {
		return errors.Trace(err)
	}
	return moveAll(fs, aside)
}

// bringBack is the contrary. What was written meanwhile is hidden for good, as what is
// below a mount point.
func bringBack(aside, fs string) error {
	entries, err := os.ReadDir(fs)
	if err != nil {
		return errors.Trace(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(fs, e.Name())); err != nil {
			return errors.Trace(err)
		}
	}
	if err := moveAll(aside, fs); err != nil {
		return err
	}
	return errors.Trace(os.Remove(aside))
}

func moveAll(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return errors.Trace(err)
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}
