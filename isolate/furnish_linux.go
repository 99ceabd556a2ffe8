package isolate

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// furnish writes the files by which a machine knows itself. What the unit has
// changed of them since stays; only a cell that is new gets them.
func furnish(s setUp) error {
	if err := unix.Sethostname([]byte(s.Hostname)); err != nil {
		return errors.Annotate(err, "cannot set the host name")
	}
	for _, dir := range []string{"/run/lock", "/usr/bin", "/var/log/juju"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return errors.Trace(err)
		}
	}
	if !s.Fresh {
		return nil
	}
	address := s.Address
	if address == "" {
		address = "127.0.1.1"
	}
	files := map[string]string{
		"/etc/hostname": s.Hostname + "\n",
		"/etc/hosts":    fmt.Sprintf("127.0.0.1\tlocalhost\n%s\t%s\n::1\tlocalhost ip6-localhost ip6-loopback\n", address, s.Hostname),
	}
	if text, ok := resolvers(s.OwnNet); ok {
		files["/etc/resolv.conf"] = text
	}
	for path, text := range osFiles(s.OS) {
		files[path] = text
	}
	if s.User {
		// Nobody else is known in there: whoever would become somebody, can't.
		files["/etc/apt/apt.conf.d/99unitd-isolate"] = "APT::Sandbox::User \"root\";\n"
	}
	for path, text := range files {
		if err := replace(path, text); err != nil {
			return errors.Trace(err)
		}
	}
	if !s.User {
		if err := makeAccounts(s.Accounts); err != nil {
			return errors.Trace(err)
		}
	}
	for _, name := range []string{"juju-exec", "juju-run"} {
		path := filepath.Join("/usr/bin", name)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := os.Symlink(filepath.Join(Juju, "tools", name), path); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// replace puts a file there in the place of whatever there is, a link too.
func replace(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return errors.Trace(err)
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return errors.Trace(err)
	}
	return errors.Trace(os.WriteFile(path, []byte(text), 0o644))
}

// resolvers is the /etc/resolv.conf of a cell. A server on the host's loopback
// device is out of reach for one with a network of its own: then those that it
// asks in turn are taken. false: nothing is known that would be better than what
// there is.
func resolvers(ownNet bool) (string, bool) {
	for _, path := range []string{"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"} {
		b, err := os.ReadFile(filepath.Join(oldRoot, follow(path)))
		if err == nil && (!ownNet || !asksLoopback(string(b))) {
			return string(b), true
		}
	}
	return "", false
}

// follow is where a link of the host leads to; path itself if it is none.
func follow(path string) string {
	to, err := os.Readlink(filepath.Join(oldRoot, path))
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
