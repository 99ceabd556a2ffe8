package isolate

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// furnish writes the files by which a machine knows itself. What the unit has
// changed of them since stays; only a cell that is new gets them.
func furnish(s setUp) error {
	if err := unix.Sethostname([]byte(s.Hostname)); err != nil {
		return errors.Annotate(err, "cannot set the host name")
	}
	for _, dir := range []string{"/run/lock", "/usr/bin", "/var/log/juju", Juju + "/agents"} {
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
	if s.resolvers != nil {
		files["/etc/resolv.conf"] = *s.resolvers
	}
	for path, text := range osFiles(s.OS) {
		files[path] = text
	}
	single := s.single()
	if single {
		// Nobody else is known in there: whoever would become somebody, can't.
		files["/etc/apt/apt.conf.d/99unitd-isolate"] = "APT::Sandbox::User \"root\";\n"
	}
	for path, text := range files {
		if err := replace(path, text); err != nil {
			return errors.Trace(err)
		}
	}
	if !single {
		if err := makeAccounts(s.Accounts); err != nil {
			return errors.Trace(err)
		}
	}
	if err := furnishSnap(); err != nil {
		return errors.Trace(err)
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

// noSnap is the snap of all machines: snapd runs in none of them, and one that the root has
// would only wait for it.
const (
	snapPath = "/usr/bin/snap"
	noSnap   = `#!/bin/sh
echo "snap: snaps don't work in unitd's machines: install a deb instead, or deploy the charm with a Juju controller" >&2
exit 1
`
)

// furnishSnap has the refusal in the place of a snap that couldn't do anything.
func furnishSnap() error {
	if err := replace(snapPath, noSnap); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.Chmod(snapPath, 0o755))
}
