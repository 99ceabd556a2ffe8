package durable

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Enter is a path to the directory below base to which names lead, one after the other,
// until leave is called; where perm isn't 0, what isn't there is made with it. It is for
// directories in which a unit's processes can write as well: none of the names may be a
// link, which the agent would follow to where they can't get. The error is the operating
// system's, ENOTDIR where there is one.
// Who isn't root gets no further by a link than those processes do: it is a plain path then.
func (d Disk) Enter(base string, perm fs.FileMode, names ...string) (path string, leave func(), err error) {
	leave = func() {}
	if os.Geteuid() != 0 {
		path = filepath.Join(append([]string{base}, names...)...)
		if perm != 0 {
			err = d.MkdirAll(path, perm)
		}
		return path, leave, err
	}
	if perm != 0 {
		if err := d.MkdirAll(base, perm); err != nil {
			return "", leave, err
		}
	}
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := unix.Open(base, flags, 0)
	if err != nil {
		return "", leave, &os.PathError{Op: "open", Path: base, Err: err}
	}
	for _, name := range names {
		if perm != 0 {
			if err = d.Mkdir(filepath.Join(opened(fd), name), perm); os.IsExist(err) {
				err = nil
			}
		}
		next := -1
		if err == nil {
			if next, err = unix.Openat(fd, name, flags|unix.O_NOFOLLOW, 0); err != nil {
				err = &os.PathError{Op: "enter", Path: filepath.Join(base, name), Err: err}
			}
		}
		unix.Close(fd)
		if err != nil {
			return "", leave, err
		}
		fd = next
	}
	// With the dot it is the directory for who doesn't follow links, too.
	return opened(fd) + "/.", func() { unix.Close(fd) }, nil
}

func opened(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
