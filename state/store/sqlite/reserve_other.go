//go:build !linux

package sqlite

import "os"

// reserve gives a file so many bytes on the disk.
func reserve(f *os.File, size int64) error { return fill(f, size) }
