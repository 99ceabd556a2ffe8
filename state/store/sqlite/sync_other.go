//go:build !linux

package sqlite

import "golang.org/x/sys/unix"

// syncData makes a file durable.
func syncData(fd int) error { return unix.Fsync(fd) }
