//go:build !linux

package machine

// hostMemory is how many bytes of memory this host has; 0: nobody knows.
func hostMemory() uint64 { return 0 }
