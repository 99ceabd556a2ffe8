package durable

import (
	"os"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

func exchange(a, b string) (bool, error) {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return false, nil
	}
	return err == nil, errors.Trace(err)
}

// syncTree is one call for the whole file system, which costs less than one for
// each of many small files.
func syncTree(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	return errors.Trace(unix.Syncfs(int(f.Fd())))
}

func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// duplicate has a descriptor of this process be another one's file.
func duplicate(from, to int) error { return errors.Trace(unix.Dup3(from, to, 0)) }
