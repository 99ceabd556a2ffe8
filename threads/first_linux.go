package threads

import "golang.org/x/sys/unix"

// first says whether this is the process's first thread.
func first() bool { return unix.Gettid() == process }
