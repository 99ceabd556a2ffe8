package charmdir

import (
	"os"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// exchange swaps two paths in one step; false, and no error, where the file
// system can't.
func exchange(a, b string) (bool, error) {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return false, nil
	}
	return err == nil, errors.Trace(err)
}

// syncTree makes all that is below dir durable: one call for the whole file
// system, which costs less than one for each of many small files.
func syncTree(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	return errors.Trace(unix.Syncfs(int(f.Fd())))
}
