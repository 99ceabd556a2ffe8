package machine

import (
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
	err = c.AttachBind(charmPebbleName, isolate.Bind{From: from, To: charmPebble, ReadOnly: true, Theirs: true})
	return errors.Annotatef(err, "cannot have %s for unit %q", charmPebble, u.name)
}
