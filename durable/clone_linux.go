package durable

import (
	"os"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// clone has to share what from has.
func clone(to, from *os.File) (bool, error) {
	err := unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
	for _, cannot := range []error{unix.EOPNOTSUPP, unix.ENOTTY, unix.ENOSYS, unix.EXDEV, unix.EINVAL, unix.EPERM} {
		if errors.Is(err, cannot) {
			return false, nil
		}
	}
	return err == nil, errors.Trace(err)
}
