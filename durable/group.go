package durable

import (
	"io/fs"
	"os"
	"syscall"
)

// ShareTree has what is in a directory, and the directory, be a group's, which may read
// and write it, and whatever is made in it later. It is one step.
func (d Disk) ShareTree(path string, gid int) error {
	return d.step(Own, path, nil, func() error { return d.call(Call{Do: share, Path: path, GID: gid, UID: -1}) })
}

// shareTree is ShareTree with the rights of this process.
func shareTree(dir string, gid int) error {
	root, err := os.OpenRoot(dir) // what is in it must not lead out of it
	if err != nil {
		return err
	}
	defer root.Close()
	st, err := root.Stat(".")
	if err != nil {
		return err
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		return shareOne(root, path, gid, d)
	})
	if err != nil {
		return err
	}
	return shareOne(root, ".", gid, fs.FileInfoToDirEntry(st)) // the last, as it says that all is done
}

func shareOne(root *os.Root, path string, gid int, d fs.DirEntry) error {
	st, err := d.Info()
	if err == nil && !OfGroup(st, gid) {
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

// FreeTree has its owner get to all that is in a tree. Who still runs in there may put links
// in it meanwhile: nothing out of the tree is changed by them. It is one step.
func (d Disk) FreeTree(path string) error {
	if st, err := os.Lstat(path); err != nil || !st.IsDir() {
		return err
	}
	return d.step(Own, path, nil, func() error {
		if err := os.Chmod(path, 0o700); err != nil {
			return err
		}
		root, err := os.OpenRoot(path)
		if err != nil {
			return err
		}
		defer root.Close()
		return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = root.Chmod(path, 0o700) // others may still be freed
			}
			return nil
		})
	})
}

// OfGroup says whether a file is of that group.
func OfGroup(st fs.FileInfo, gid int) bool {
	own, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(own.Gid) == gid
}
