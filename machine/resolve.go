package machine

import (
	"os"
	"path/filepath"

	"github.com/juju/errors"

	"github.com/unitd/unitd/names"
)

// resolverRecord is the file that record of wiring.enter is, in a unit's directory.
const resolverRecord = "host-resolv.conf"

// heedHost is poke if the host finds names by others than before, as where it has
// come into another network.
func (w *wiring) heedHost() {
	w.mu.Lock()
	var now [2]string
	if len(w.wired) > 0 {
		now[0], _ = w.resolvers(false)
		now[1], _ = w.resolvers(true)
	}
	moved := now != w.asked
	w.asked = now
	w.mu.Unlock()
	if moved {
		w.poke()
	}
}

// resolve brings the resolv.conf of a root to what the host has now. One that isn't
// what unitd has made of the host's is the unit's own, and stays. A root that is new
// has the host's.
func (w *wiring) resolve(one *wired) error {
	host, ok := w.resolvers(one.own.Address != "")
	if !ok {
		return nil
	}
	made := func(host string) string {
		if one.own.Short {
			return names.Resolv(host, one.own.Model)
		}
		return host
	}
	before, err := os.ReadFile(one.record)
	if err == nil && string(before) == host {
		return nil
	}
	if err != nil && !os.IsNotExist(err) {
		return errors.Trace(err)
	}
	known := err == nil
	err = one.edit("/etc/resolv.conf", func(file string) string {
		if known && file == made(string(before)) {
			return made(host)
		}
		return file
	})
	if err == nil {
		err = w.disk.MkdirAll(filepath.Dir(one.record), 0o755)
	}
	if err == nil {
		err = w.disk.ReplaceFile(one.record, []byte(host), 0o644)
	}
	return errors.Trace(err)
}
