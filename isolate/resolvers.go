package isolate

import (
	"net"
	"os"
	"strings"
)

// Resolvers is the /etc/resolv.conf that a cell gets on this host as it is now.
// A server on the host's loopback device is out of reach for one with a network of
// its own: then those that it asks in turn are taken. false: nothing is known that
// would be better than what the cell has.
func Resolvers(ownNet bool) (string, bool) {
	for _, path := range []string{"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"} {
		b, err := os.ReadFile(path)
		if err == nil && (!ownNet || !asksLoopback(string(b))) {
			return string(b), true
		}
	}
	return "", false
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
