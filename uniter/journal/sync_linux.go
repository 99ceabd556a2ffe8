package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData syncs content and size, which is all that a record needs, and
// spares the write of the times that a full sync would add.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
