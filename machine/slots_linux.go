package machine

import "golang.org/x/sys/unix"

// hostMemory is how many bytes of memory this host has; 0: nobody knows.
func hostMemory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}
