package isolate

import (
	"net"
	"os"
	"path/filepath"
	"strings"
)

// Resolvers is the /etc/resolv.conf that a cell gets on this host as it is now.
// A server on the host's loopback device is out of reach for one with a network of
// its own: then those that it asks in turn are taken. false: nothing is known that
// would be better than what the cell has.
func Resolvers(ownNet bool) (string, bool) { return resolversIn("/", ownNet) }

// resolversIn is Resolvers where the host's root is at that path.
func resolversIn(root string, ownNet bool) (string, bool) {
	for _, path := range []string{"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"} {
		b, err := os.ReadFile(filepath.Join(root, follow(root, path)))
		if err == nil && (!ownNet || !asksLoopback(string(b))) {
			return string(b), true
		}
	}
	return "", false
}

// follow is where a link of the host leads to; path itself if it is none.
func follow(root, path string) string {
	to, err := os.Readlink(filepath.Join(root, path))
	switch {
	case err != nil:
		return path
	case filepath.IsAbs(to):
		return to
	}
	return filepath.Join(filepath.Dir(path), to)
}

// asksLoopback says whether all of the servers are on the loopback device.
func asksLoopback(conf string) bool {
	for line := range strings.Lines(conf) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" {
			if ip := net.ParseIP(f[1]); ip != nil && !ip.IsLoopback() {
				return false
			}
		}
	}
	return true
}
