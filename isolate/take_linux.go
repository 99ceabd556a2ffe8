package isolate

import (
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// An agent that is root has its units' machines in user name spaces in which the host's
// files are nobody's that is known in there. What of them a machine is to have, the agent
// takes for the init: as a mount that is nowhere yet, whose files belong to the same
// numbers inside as they do on the host (an idmapped mount). So neither side's files change owners, and
// the init has no way to anything else of the host. Source: docs/spec/machine-isolation.md §1.

// taking is what an init asks for: what the host has at a path.
type taking struct {
	Path string `json:"path"`
	// All: with what is mounted in it. ReadOnly: nothing can be written to it.
	All      bool `json:"all,omitempty"`
	ReadOnly bool `json:"read-only,omitempty"`
	// Theirs: its files belong to whom they do on the host, which is nobody who is
	// known inside: all units have them.
	Theirs bool `json:"theirs,omitempty"`
}

// handsFile is the number of the init's file by which it asks, after those that it has in
// any case.
func (s setUp) handsFile() int {
	if s.First == nil {
		return firstFile
	}
	return logFile + 1 // it has joined what it joins already
}

// hands gives an init, at the other end of a connection, what it asks for, until it asks
// no more. users is its user name space.
func hands(conn *net.UnixConn, users *os.File) {
	for {
		var t taking
		files, err := receive(conn, &t)
		closeAll(files)
		if err != nil {
			return
		}
		fd, err := t.take(int(users.Fd()))
		if err != nil {
			err = send(conn, answerOf(err), nil)
		} else {
			err = send(conn, done{}, []int{fd})
			unix.Close(fd)
		}
		if err != nil {
			return
		}
	}
}

// serveHands gives the init what it asks for.
func (p *child) serveHands() error {
	if p.hands == nil {
		return nil
	}
	users, err := os.Open("/proc/" + strconv.Itoa(p.process.Pid) + "/ns/user")
	if err != nil {
		p.abort()
		return errors.Trace(err)
	}
	go func() {
		defer users.Close()
		hands(p.hands, users)
	}()
	return nil
}

// real is a path of the host without links. In the agent's own directory none is
// followed: in some places there units can make them.
func (c *Cells) real(path string) (string, error) {
	own := filepath.Dir(c.Dir)
	if !isBelow(path, own) || path == own {
		path, err := filepath.EvalSymlinks(path)
		return path, errors.Trace(err)
	}
	real, err := filepath.EvalSymlinks(own)
	return filepath.Join(real, below(own, path)), errors.Trace(err)
}

// plain opens what is at a path that has no links, or had none: one that is there
// now was made to lead elsewhere.
func plain(path string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return -1, &os.PathError{Op: "take", Path: path, Err: err}
	}
	return fd, nil
}

// take makes the mount for that name space of users.
func (t taking) take(users int) (fd int, err error) {
	if fd, err = t.clone(); err != nil {
		return -1, errors.Trace(err)
	}
	if err = t.prepare(fd, users); err != nil {
		unix.Close(fd)
		return -1, &os.PathError{Op: "take", Path: t.Path, Err: err}
	}
	return fd, nil
}

// clone makes the mount as the host has it.
func (t taking) clone() (int, error) {
	at, err := plain(t.Path)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_EMPTY_PATH)
	if t.All {
		flags |= unix.AT_RECURSIVE
	}
	fd, err := unix.OpenTree(at, "", flags)
	if err != nil {
		return -1, &os.PathError{Op: "take", Path: t.Path, Err: err}
	}
	return fd, nil
}

// prepare has the mount be as it is to be. If something is mounted in it that can't
// belong to whom it does on the host, such as /proc, then all that is belongs to nobody:
// the kernel maps a mount by itself only while it is in no other.
func (t taking) prepare(fd, users int) error {
	attr := unix.MountAttr{Propagation: unix.MS_PRIVATE}
	if t.ReadOnly {
		attr.Attr_set = unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil || t.Theirs {
		return err
	}
	mapped := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(users)}
	if t.All && unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &mapped) == nil {
		return nil
	}
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &mapped)
}

// take is what the host has at a path, as a mount that is nowhere yet.
func (s setUp) take(t taking) (fd int, err error) {
	if s.hands == nil {
		if fd, err = t.clone(); err == nil && t.ReadOnly {
			err = readOnly(fd)
		}
		return fd, err
	}
	if err := send(s.hands, t, nil); err != nil {
		return -1, errors.Trace(err)
	}
	var d done
	files, err := receive(s.hands, &d)
	defer closeAll(files)
	switch {
	case err != nil:
		return -1, errors.Annotate(err, "the agent has ended")
	case d.Errno != 0:
		return -1, &os.PathError{Op: d.Op, Path: d.Path, Err: d.Errno}
	case d.Err != "" || len(files) != 1:
		return -1, errors.Errorf("cannot take %s: %s", t.Path, d.Err)
	}
	return unix.FcntlInt(files[0].Fd(), unix.F_DUPFD_CLOEXEC, 0)
}

// takeTo is take, at a place inside.
func (s setUp) takeTo(t taking, to string) error {
	fd, err := s.take(t)
	if err != nil {
		return noRights("cannot have "+to, err)
	}
	defer unix.Close(fd)
	return errors.Annotatef(unix.MoveMount(fd, "", unix.AT_FDCWD, to, unix.MOVE_MOUNT_F_EMPTY_PATH), "cannot mount %s", to)
}

// benchDir is where an init that is given what of the host it has puts its root together:
// a file system of its own over a directory of the host that everybody gets to, and which
// no cell has from the host.
const benchDir = "/tmp"

// bench has that there, and says where the root is put together.
func (s *setUp) bench() error {
	s.root, s.layers = filepath.Join(s.Dir, rootDir), filepath.Join(s.Dir, layersDir)
	if s.hands == nil {
		return nil
	}
	if err := unix.Mount("tmpfs", benchDir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return noRights("cannot make a place for the root", err)
	}
	s.root, s.layers = filepath.Join(benchDir, rootDir), filepath.Join(benchDir, layersDir)
	for _, d := range []string{s.root, s.layers} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return errors.Trace(err)
		}
	}
	return s.takeTo(taking{Path: filepath.Join(s.Dir, layersDir)}, s.layers)
}

// reachAll is reach for each of several.
func (s setUp) reachAll(dirs []string) (all []string, err error) {
	for _, d := range dirs {
		at, err := s.reach(d)
		if err != nil {
			return nil, errors.Trace(err)
		}
		all = append(all, at)
	}
	return all, nil
}

// reach is where this process gets to a directory of the host to read it, without what is
// mounted in it.
func (s setUp) reach(dir string) (string, error) {
	if s.hands == nil {
		return dir, nil
	}
	entries, err := os.ReadDir(benchDir)
	if err != nil {
		return "", errors.Trace(err)
	}
	at := filepath.Join(benchDir, "lower-"+strconv.Itoa(len(entries)))
	if err := os.Mkdir(at, 0o755); err != nil {
		return "", errors.Trace(err)
	}
	return at, s.takeTo(taking{Path: dir, ReadOnly: true}, at)
}
