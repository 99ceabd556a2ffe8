//go:build !linux

package durable

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/juju/errors"
)

func exchange(_, _ string) (bool, error) { return false, nil }

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

func syncData(f *os.File) error { return f.Sync() }
