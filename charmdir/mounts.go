package charmdir

import (
	"path"
	"slices"
	"strings"
)

// Places in a workload container that no storage can have: all below one of taken is
// the container's own, and what is in covered has such places in it that storage
// would hide. What the container gets after its storage isn't hidden by it, so /etc
// and /run are free, as they are in Kubernetes; and so is /dev/shm. Source:
// docs/spec/containers.md §4.3, §5.5.
var (
	taken = []string{
		"/proc", "/sys", "/charm/container", "/charm/bin", "/charm/etc", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf",
		"/var/run/secrets/kubernetes.io/serviceaccount", "/run/secrets/kubernetes.io/serviceaccount",
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts", "/dev/ptmx", "/dev/mqueue",
		"/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr",
	}
	covered = []string{"/", "/charm", "/dev"}
)

// takenBy is the place of the container's own that storage at a location would hide
// or be in; empty: none.
func takenBy(location string) string {
	at := path.Clean(location)
	if slices.Contains(covered, at) {
		return at
	}
	for _, t := range taken {
		if at == t || strings.HasPrefix(at, t+"/") {
			return t
		}
	}
	return ""
}
