package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

// reserve gives a file so many bytes on the disk.
func reserve(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return fill(f, size)
	}
	return err
}
