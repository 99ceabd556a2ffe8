//go:build !linux

package durable

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
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

// duplicate has a descriptor of this process be another one's file.
func duplicate(from, to int) error { return errors.Trace(unix.Dup2(from, to)) }
