package machine

import (
	"io"
	"os"
	"path"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/workload"
)

// charmPebble is where a container unit's charm finds Pebble's program, and
// charmPebbleName what that is attached by. Source: docs/spec/containers.md §4.3.
const (
	charmPebble     = "/charm/bin/pebble"
	charmPebbleName = "pebble"
)

// lendPebble has the host's Pebble in the charm's container, where charms call it as a
// client of those of their containers. That the host has none, or it can't be had
// there, is told where containers start; the charm may well do without.
func (u *unit) lendPebble(c *cell) error {
	from, err := workload.FindPebble()
	if err != nil {
		return nil
	}
	if err := placeFor(c, charmPebble); err != nil {
		return errors.Annotatef(err, "cannot make %s for unit %q", charmPebble, u.name)
	}
	err = c.AttachBind(charmPebbleName, isolate.Bind{From: from, To: charmPebble, ReadOnly: true, Theirs: true})
	if errors.Is(err, errors.NotValid) { // who isn't root can only attach what is the agent's
		err = copyInto(c, from, charmPebble)
	}
	return errors.Annotatef(err, "cannot have %s for unit %q", charmPebble, u.name)
}

// placeFor has a file there, for something to be mounted over it.
func placeFor(c *cell, to string) error {
	if f, err := c.OpenFile(to, os.O_RDONLY, 0); err == nil {
		return errors.Trace(f.Close())
	}
	for _, dir := range []string{path.Dir(path.Dir(to)), path.Dir(to)} {
		if err := c.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return errors.Trace(err)
		}
	}
	f, err := c.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(f.Close())
}

// copyInto copies a program of the host into a cell, unless it is there: one of the
// same size is taken for it.
func copyInto(c *cell, from, to string) error {
	program, err := os.Open(from)
	if err != nil {
		return errors.Trace(err)
	}
	defer program.Close()
	has, err := program.Stat()
	if err != nil {
		return errors.Trace(err)
	}
	f, err := c.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() == has.Size() {
		return nil
	}
	if err := f.Truncate(0); err != nil {
		return errors.Trace(err)
	}
	if _, err := io.Copy(f, program); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(f.Close())
}
