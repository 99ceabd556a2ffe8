package sqlite

import "golang.org/x/sys/unix"

// syncData makes what is in a file durable, and of what is said about it as much as
// it takes to read that.
func syncData(fd int) error {
	for {
		if err := unix.Fdatasync(fd); err != unix.EINTR {
			return err
		}
	}
}
