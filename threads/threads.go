// Package threads has functions called on threads of their own, for what the kernel
// changes of one thread alone: its rights, its mounts.
package threads

import (
	"os"
	"runtime"
)

// Lost calls do on a thread that nobody has after it. That is never the process's first,
// which can't end, and by which everybody sees the process.
func Lost(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and so it ends with this goroutine
		if !first() {
			done <- do()
			return
		}
		err := Lost(do)
		runtime.UnlockOSThread()
		done <- err
	}()
	return <-done
}

var process = os.Getpid()
