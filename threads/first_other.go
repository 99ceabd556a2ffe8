//go:build !linux

package threads

// first says whether this is the process's first thread, which nobody knows here.
func first() bool { return false }
