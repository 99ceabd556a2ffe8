package trees

import (
	"bytes"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// tick is the time, in nanoseconds since 1970, that the kernel gives to what is changed now.
func tick() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) != nil {
		return 0 // so nothing is sure
	}
	return now.Nano()
}

// exact says whether the file system below a path notes each change of a file with the kernel's time, also if it's
// made by way of memory.
func exact(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && slices.Contains(exactly, int64(fs.Type))
}

var exactly = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC}

func stampOf(info fs.FileInfo) stamp {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}
	}
	return stamp{uint64(st.Dev), st.Ino, uint64(st.Nlink), st.Size, st.Mtim.Nano(), st.Ctim.Nano(), st.Mode, st.Uid, st.Gid}
}

func owners(info fs.FileInfo) (uid, gid int) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return os.Getuid(), os.Getgid()
}

// whiteout says whether a device is the mark of an overlay that something is gone.
func whiteout(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Rdev == 0
}

func makeWhiteout(path string) error { return unix.Mknod(path, unix.S_IFCHR, 0) }

// own gives a path the entry's owner, where this user may, and its extended attributes: an overlay notes there
// that a directory hides what is below it. It loses others, such as it may have from the directory that it's in.
func (e *entry) own(path string) error {
	if os.Geteuid() == 0 {
		if err := os.Lchown(path, e.uid, e.gid); err != nil {
			return err
		}
	} else {
		_ = os.Lchown(path, -1, e.gid) // who isn't in the group may not
	}
	names, err := attributeNames(path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.ContainsFunc(e.attributes, func(a attribute) bool { return a.name == name }) {
			continue
		}
		if err := unix.Lremovexattr(path, name); err != unix.EACCES && ignoreLack(err) != nil {
			return errors.Annotatef(err, "cannot remove the attribute %s", name)
		}
	}
	for _, a := range e.attributes {
		if err := ignoreLack(unix.Lsetxattr(path, a.name, a.value, 0)); err != nil {
			return errors.Annotatef(err, "cannot set the attribute %s", a.name)
		}
	}
	return nil
}

// attributes are the extended ones of a path, but for those that are about the file itself.
func attributes(path string) (all []attribute, err error) {
	names, err := attributeNames(path)
	for _, name := range names {
		if slices.ContainsFunc(ofTheFile, func(end string) bool { return strings.HasSuffix(name, end) }) {
			continue
		}
		value, err := read(func(b []byte) (int, error) { return unix.Lgetxattr(path, name, b) })
		if err == nil {
			all = append(all, attribute{name, value})
		} else if err := ignoreLack(err); err != nil {
			return nil, errors.Annotatef(err, "cannot read the attribute %s", name)
		}
	}
	return all, err
}

// ofTheFile are attributes that are about the file itself and not what is in it: those by which an
// overlay finds what a file was made from.
var ofTheFile = []string{".overlay.origin", ".overlay.uuid", ".overlay.nlink", ".overlay.upper"}

func attributeNames(path string) ([]string, error) {
	names, err := read(func(b []byte) (int, error) { return unix.Llistxattr(path, b) })
	if err != nil || len(names) == 0 {
		return nil, ignoreLack(err)
	}
	return strings.Split(strings.Trim(string(names), "\x00"), "\x00"), nil
}

// read reads what fill fills a buffer with.
func read(fill func([]byte) (int, error)) ([]byte, error) {
	if n, err := fill(nil); err != nil || n == 0 {
		return nil, err
	}
	b := make([]byte, 64<<10) // the kernel's limit
	n, err := fill(b)
	return bytes.Clone(b[:max(n, 0)]), err
}

// ignoreLack is no error where the file system has no such attributes, or this user may not
// know of them.
func ignoreLack(err error) error {
	if slices.ContainsFunc([]error{unix.ENOTSUP, unix.EPERM, unix.ENODATA}, func(no error) bool { return errors.Is(err, no) }) {
		return nil
	}
	return err
}
