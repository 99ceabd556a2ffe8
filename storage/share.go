package storage

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// Share has what is in a directory be a group's, which may read and write it, and
// whatever is made in it later. Where the directory itself is so already nothing is
// done, unless all is wanted. Source: docs/spec/containers.md §5.3.
func Share(disk durable.Disk, dir string, gid int, all bool) error {
	root, err := os.OpenRoot(dir) // what is in it must not lead out of it
	if err != nil {
		return errors.Trace(err)
	}
	defer root.Close()
	st, err := root.Stat(".")
	if err != nil {
		return errors.Trace(err)
	}
	if !all && ofGroup(st, gid) && st.Mode()&os.ModeSetgid != 0 && st.Mode().Perm()&0o070 == 0o070 {
		return nil
	}
	err = disk.Do(durable.Step{Do: durable.Own, Path: dir}, func() error {
		err := fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || path == "." {
				return err
			}
			return share(root, path, gid, d)
		})
		if err != nil {
			return err
		}
		return share(root, ".", gid, fs.FileInfoToDirEntry(st)) // the last, as it says that all is done
	})
	return errors.Annotate(err, "cannot share storage with a unit's containers")
}

func share(root *os.Root, path string, gid int, d fs.DirEntry) error {
	st, err := d.Info()
	if err == nil && !ofGroup(st, gid) {
		err = root.Lchown(path, -1, gid)
	}
	if os.IsNotExist(err) {
		return nil // somebody has removed it meanwhile
	}
	if err != nil || d.Type()&fs.ModeSymlink != 0 {
		return err
	}
	mode := st.Mode().Perm() | 0o660 | st.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeSticky)
	if d.IsDir() {
		mode |= os.ModeSetgid | 0o110
	}
	if err := root.Chmod(path, mode); !os.IsNotExist(err) {
		return err
	}
	return nil
}

func ofGroup(st fs.FileInfo, gid int) bool {
	own, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(own.Gid) == gid
}
