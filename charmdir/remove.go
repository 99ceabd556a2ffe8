package charmdir

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// RemoveTree removes what is at path, if anything is. Directories that their
// owner may not write to, as a language's package cache makes them, are made
// writable first where they are in the way.
func RemoveTree(disk durable.Disk, path string) error {
	err := disk.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return errors.Trace(err)
	}
	// What can't be changed, or read, is what the second try fails at.
	_ = disk.FreeTree(path)
	return errors.Trace(disk.RemoveAll(path))
}

// Aside is in the name of what was set aside.
const Aside = ".gone-"

// SetAside moves what is at path, if anything is, to a name beside it that is
// free, and returns that; empty where nothing is there. So in one step nothing
// is at path any more, however long a removal takes and whatever it fails at.
func SetAside(disk durable.Disk, path string) (string, error) {
	if _, err := os.Lstat(path); os.IsNotExist(err) {
		return "", nil
	}
	for n := 0; ; n++ {
		aside := fmt.Sprintf("%s%s%d", path, Aside, n)
		if _, err := os.Lstat(aside); !os.IsNotExist(err) {
			continue
		}
		return aside, errors.Trace(disk.Rename(path, aside))
	}
}
