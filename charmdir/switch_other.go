//go:build !linux

package charmdir

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/juju/errors"
)

// exchange says that two paths can't be swapped in one step here.
func exchange(_, _ string) (bool, error) { return false, nil }

// syncTree makes all that is below dir durable, file by file.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Type()&fs.ModeSymlink != 0 {
			return errors.Trace(err)
		}
		f, err := os.Open(path)
		if err != nil {
			return errors.Trace(err)
		}
		defer f.Close()
		return errors.Trace(f.Sync())
	})
}
