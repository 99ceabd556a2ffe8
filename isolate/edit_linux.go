package isolate

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// EditFile changes a small file of the cell, which its programs may be reading: they
// get the former content or the new one. One that is a mount of its own, or a link,
// keeps its inode: it is written by one call, and cut only after that, so that a
// reader gets at worst empty lines at the end of a text. edit returns the new
// content for the old; if it is the same nothing is written. One that isn't there,
// as the unit has removed it, is left so.
func (c *Cell) EditFile(path string, edit func(string) string) error {
	f, err := c.OpenFile(path, os.O_RDWR, 0)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	was, now, err := edited(f, path+" of a unit", edit)
	if err != nil || now == was {
		return errors.Trace(err)
	}
	if replaced, err := c.replace(f, path, now); replaced || err != nil {
		return errors.Annotatef(err, "cannot write %s of a unit", path)
	}
	return errors.Annotatef(overwrite(f, len(was), now), "cannot write %s of a unit", path)
}

// replace puts a new file in the place of one; false: that has to keep its inode.
func (c *Cell) replace(f *os.File, path, text string) (bool, error) {
	dir, err := c.OpenFile(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return false, errors.Trace(err)
	}
	defer dir.Close()
	at, name := int(dir.Fd()), filepath.Base(path)
	var named, opened unix.Stat_t
	if err := unix.Fstatat(at, name, &named, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, errors.Trace(err)
	}
	if err := unix.Fstat(int(f.Fd()), &opened); err != nil {
		return false, errors.Trace(err)
	}
	if named.Ino != opened.Ino || named.Dev != opened.Dev || opened.Nlink > 1 || !sameMount(at, name) {
		return false, nil
	}
	temporary := "." + name + ".unitd-" + strconv.Itoa(os.Getpid())
	_ = unix.Unlinkat(at, temporary, 0) // of one that was killed
	fd, err := unix.Openat(at, temporary, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return false, nil // in a directory that can't be written to a file may be one that can
	}
	out := os.NewFile(uintptr(fd), temporary)
	_, err = out.WriteString(text)
	if err == nil {
		_ = unix.Fchown(fd, int(opened.Uid), int(opened.Gid)) // as far as it may
		err = unix.Fchmod(fd, opened.Mode&0o7777)
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err == nil {
		if err = unix.Renameat(at, temporary, at, name); err == nil {
			return true, nil
		}
	}
	_ = unix.Unlinkat(at, temporary, 0)
	return false, errors.Trace(err)
}

// sameMount says whether a file is no mount of its own. The kernel would not say so by
// refusing: it takes a mount away that is another name space's.
func sameMount(dir int, name string) bool {
	var d, f unix.Statx_t
	return unix.Statx(dir, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &d) == nil &&
		unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &f) == nil &&
		d.Mask&f.Mask&unix.STATX_MNT_ID != 0 && d.Mnt_id == f.Mnt_id
}
