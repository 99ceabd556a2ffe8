package machine

import (
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/durable"
)

// clearAway takes away what a unit that is gone has left in dir, its directory.
// It is out of the way even where the error says that it couldn't be removed,
// unless it couldn't be moved either. What the unit has started runs on.
func clearAway(disk durable.Disk, dir string) error {
	if !strings.Contains(dir, charmdir.Aside) {
		aside, err := charmdir.SetAside(disk, dir)
		if err != nil || aside == "" {
			return errors.Trace(err)
		}
		dir = aside
	}
	return errors.Trace(charmdir.RemoveTree(disk, dir))
}
