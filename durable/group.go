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

// OfGroup says whether a file is of that group.
func OfGroup(st fs.FileInfo, gid int) bool {
	own, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(own.Gid) == gid
}
