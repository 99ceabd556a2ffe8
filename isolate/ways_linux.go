package isolate

import (
	"context"
	"os"

	"github.com/juju/errors"
)

// way is how a cell has users.
type way int

const (
	// wayMapped: it is in a user name space, with ids that root has given it.
	wayMapped way = iota
	// wayRoot: its users are the host's.
	wayRoot
	// wayUser: it is in a user name space of who runs the agent.
	wayUser
)

// ways are those in which a cell can be had, the best first. What is there of changes is
// of one kind.
func (c *Cell) ways(was record, only bool) []way {
	switch {
	case was.Furnished && was.Mapped.Many():
		return []way{wayMapped}
	case was.Furnished && was.User:
		return []way{wayUser}
	case was.Furnished:
		return []way{wayRoot}
	case os.Geteuid() != 0:
		return []way{wayUser}
	case c.cells.HostUsers:
		return []way{wayRoot}
	case only:
		return []way{wayMapped, wayRoot}
	}
	return []way{wayMapped, wayRoot, wayUser}
}

// startBy starts the cell in one of the ways.
func (c *Cell) startBy(ctx context.Context, w way, was record, s Spec) error {
	c.record.User, c.record.IDs, c.record.Mapped = w != wayRoot, IDs{}, IDs{}
	switch w {
	case wayUser:
		if c.record.IDs = was.IDs; !was.Furnished {
			c.record.IDs = c.cells.idsFor(true)
		}
	case wayMapped:
		if onOverlay(c.dir) {
			return errOnOverlay
		}
		ids, err := takeNumbers()
		if err != nil {
			return errors.Annotate(err, "cannot have ids for a unit's machine")
		}
		c.record.Mapped = ids
	}
	err := c.startAs(ctx, s)
	if err != nil {
		dropNumbers(c.record.Mapped, identify(os.Getpid()))
	}
	return errors.Trace(err)
}

// firstWays are those in which a workload container can be had, the best first. It is
// of the kind of the unit's machine, as both have files in common.
func (c *Cell) firstWays(with *Cell) []way {
	switch {
	case os.Geteuid() != 0:
		return []way{wayUser}
	case with != nil && with.record.Mapped.Many():
		return []way{wayMapped}
	}
	return []way{wayRoot, wayUser}
}

// startFirstBy makes the container in one of the ways.
func (c *Cell) startFirstBy(ctx context.Context, w way, s Spec, lock *os.File) error {
	c.record.User = w != wayRoot
	switch {
	case w == wayUser && s.With != nil:
		c.record.IDs = s.With.record.IDs
	case w == wayUser:
		c.record.IDs = c.cells.idsFor(true)
	case w == wayMapped && onOverlay(c.dir):
		return errOnOverlay
	case w == wayMapped:
		c.record.Mapped = s.With.record.Mapped
	}
	return errors.Trace(c.startFirstAs(ctx, s, lock))
}
