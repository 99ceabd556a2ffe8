package storage

import (
	"os"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// Share has what is in a directory be a group's, which may read and write it, and
// whatever is made in it later. Where the directory itself is so already nothing is
// done, unless all is wanted. Source: docs/spec/containers.md §5.3.
func Share(disk durable.Disk, dir string, gid int, all bool) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return errors.Trace(err)
	}
	if !all && durable.OfGroup(st, gid) && st.Mode()&os.ModeSetgid != 0 && st.Mode().Perm()&0o070 == 0o070 {
		return nil
	}
	return errors.Annotate(disk.ShareTree(dir, gid), "cannot share storage with a unit's containers")
}
