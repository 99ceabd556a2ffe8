package isolate

import (
	"os"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// holdRoot has nobody remove the directory that is below a cell's overlay as long as this
// process has the cell: who would, takes the lock of the directory for itself. A command that
// updates bases can't know of the units of others' stores, such as those of scripts.
func (c *Cells) holdRoot(key, root string) error {
	if root == "" || c.roots[key] != nil {
		return nil
	}
	f, err := os.Open(root)
	if err != nil {
		return errors.Trace(err)
	}
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	}
	switch err {
	case nil:
	case unix.EWOULDBLOCK:
		f.Close()
		return errors.Errorf("%s is being removed", root)
	default: // of a file system without locks
		f.Close()
		return nil
	}
	if c.roots == nil {
		c.roots = map[string]*os.File{}
	}
	c.roots[key] = f
	return nil
}

// letRoot lets the directory go.
func (c *Cells) letRoot(key string) {
	if f := c.roots[key]; f != nil {
		f.Close()
		delete(c.roots, key)
	}
}
