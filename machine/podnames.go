package machine

import (
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/names"
)

// podNames is the key by which the wiring knows the names that a unit's workload
// containers have, beside those of the unit's own machine.
func podNames(tag string) string { return isolate.ContainerKey(tag, "") }

// namesDir has the files, on the host, by which a unit's workload containers find
// themselves and others: one set for all of them.
func (u *unit) namesDir() string { return filepath.Join(u.dir, "names") }

// nameFiles are those files.
var nameFiles = []string{"hosts", "hostname", "resolv.conf"}

// nameBinds are those files as a container has them.
func (u *unit) nameBinds() []isolate.Bind {
	var binds []isolate.Bind
	for _, name := range nameFiles {
		binds = append(binds, isolate.Bind{From: filepath.Join(u.namesDir(), name), To: "/etc/" + name})
	}
	return binds
}

// isRegular says whether reading a file waits for nobody.
func isRegular(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && st.Mode().IsRegular()
}

// enterNames has the names of a unit in its workload containers, and keeps them
// current. A file that is there stays the one that it is, as containers have it open
// that were started by a former agent.
func (u *unit) enterNames(c *cell) error {
	if err := u.disk.MkdirAll(u.namesDir(), 0o755); err != nil {
		return errors.Trace(err)
	}
	texts := map[string]string{
		"hosts":    "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n",
		"hostname": names.Host(u.name) + "\n",
	}
	f, err := c.OpenFile("/etc/resolv.conf", os.O_RDONLY|syscall.O_NONBLOCK, 0) // the host's may lead to nowhere from there
	if err == nil {
		defer f.Close()
	}
	if err == nil && isRegular(f) {
		b, err := io.ReadAll(io.LimitReader(f, 1<<20))
		if err != nil {
			return errors.Trace(err)
		}
		texts["resolv.conf"] = string(b)
	}
	for _, name := range nameFiles {
		path := filepath.Join(u.namesDir(), name)
		_, err := os.Stat(path)
		if err != nil {
			err = u.disk.ReplaceFile(path, []byte(texts[name]), 0o644)
		}
		if err == nil {
			err = u.letAllRead(path)
		}
		if err != nil {
			return errors.Trace(err)
		}
	}
	u.wiring.enter(podNames(u.name.Tag()), u.name, c.Network(), true, filepath.Join(u.namesDir(), resolverRecord), func(path string, edit func(string) string) error {
		return isolate.EditBound(filepath.Join(u.namesDir(), filepath.Base(path)), edit)
	})
	return nil
}
