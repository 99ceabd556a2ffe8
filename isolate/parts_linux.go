package isolate

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// part is something that is mounted in a container's root once the host's has
// gone.
type part struct {
	to string
	// mount is what is mounted there, a mount that is nowhere; file: it is no
	// directory. Negative: do is called instead, once there is a directory.
	mount int
	file  bool
	do    func() error
	// maybe: it is no error if it can't be.
	maybe bool
}

// takeParts has all that a container needs beside its layers, in the order in
// which it is to be mounted.
func takeParts(s setUp) ([]part, error) {
	parts, err := takeSystem(s)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, b := range s.Binds {
		p, err := s.takeBind(b)
		if err != nil {
			return nil, errors.Annotatef(err, "cannot take %s", b.From)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// takeMachine has all that a unit's machine needs beside its root: what is its own or
// the host's, and, once the agent's directory is hidden, what it has of Juju. What is in
// the units' directories comes by Attach.
func takeMachine(s setUp) (parts, juju []part, err error) {
	if parts, err = takeSystem(s); err != nil {
		return nil, nil, errors.Trace(err)
	}
	for _, dir := range s.Shared {
		p, err := s.takeBind(Bind{From: dir, To: dir})
		if err != nil {
			return nil, nil, errors.Annotatef(err, "cannot take %s", dir)
		}
		parts = append(parts, p)
	}
	// Only the agent writes there, who would follow links.
	binds := []Bind{{From: filepath.Join(s.Dir, jujuDir, "tools"), To: Juju + "/tools", ReadOnly: true, Theirs: true}}
	if s.Client != "" {
		binds = append(binds, Bind{From: s.Client, To: Juju + "/tools/client", ReadOnly: true, Theirs: true})
	}
	if s.isSystem() {
		group, err := takeSystemGroup()
		if err != nil {
			return nil, nil, errors.Trace(err)
		}
		parts = append(parts, group)
		binds = append(binds, Bind{From: filepath.Join(s.Dir, notifyName), To: notifySocket, Theirs: true})
	}
	for _, b := range binds {
		p, err := s.takeBind(b)
		if err != nil {
			return nil, nil, errors.Annotatef(err, "cannot take %s", b.From)
		}
		juju = append(juju, p)
	}
	return parts, juju, nil
}

// takeSystem is what a system has beside its files: of the kernel, and of its own.
func takeSystem(s setUp) ([]part, error) {
	proc, err := detached("proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, noRights("cannot mount /proc", err)
	}
	parts := []part{{to: "/proc", mount: proc}}
	sys, err := takeSys()
	if err != nil {
		return nil, errors.Trace(err)
	}
	parts = append(parts, part{to: "/sys", mount: sys})
	if s.Group {
		parts = append(parts, takeGroup()...)
	}
	parts = append(parts, part{to: "/dev", mount: -1, do: func() error { return tmpfs("/dev", "mode=755") }})
	for _, name := range hostDevices {
		path := filepath.Join("/dev", name)
		fd, err := clone(path)
		if err != nil {
			return nil, errors.Annotatef(err, "cannot take %s", path)
		}
		parts = append(parts, part{to: path, mount: fd, file: true})
	}
	parts = append(parts, part{to: "/dev", mount: -1, do: furnishDevices})
	own, err := takeOwn(s)
	return append(parts, own...), errors.Trace(err)
}

// detached makes a file system's mount that is nowhere yet. Who isn't root has to
// do so while the host's own one is there.
func detached(kind string, attr int) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
}

// clone makes a mount, which is nowhere yet, of what is at a path.
func clone(path string) (int, error) {
	return unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
}

// takeSys is /sys of the network that the container has; the host's, for who may
// have no other.
func takeSys() (int, error) {
	const attr = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY
	fd, err := detached("sysfs", attr)
	if err == nil {
		return fd, nil
	}
	if fd, err = clone("/sys"); err != nil {
		return -1, errors.Annotate(err, "cannot take /sys")
	}
	_ = readOnly(fd) // what is root's alone stays so without it
	return fd, nil
}

// takeGroup is what programs read their limits from, where the kernel lets it be.
func takeGroup() []part {
	if unix.Unshare(unix.CLONE_NEWCGROUP) != nil {
		return nil
	}
	fd, err := detached("cgroup2", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
	if err != nil {
		return nil
	}
	return []part{{to: "/sys/fs/cgroup", mount: fd, maybe: true}}
}

// takeOwn is what of the root is the container's from the start: an image has its
// own, the host's is the host's.
func takeOwn(s setUp) ([]part, error) {
	if s.First != nil && !s.onHost() {
		return []part{
			{to: "/run", mount: -1, do: func() error { return nil }},
			{to: "/tmp", mount: -1, do: func() error { return nil }},
		}, nil
	}
	dir := filepath.Join(s.Dir, tmpDir)
	if s.First != nil {
		dir = filepath.Join(s.Dir, layersDir, tmpDir)
	}
	tmp, err := s.take(taking{Path: dir})
	if err != nil {
		return nil, errors.Annotate(err, "cannot take /tmp")
	}
	return []part{
		{to: "/run", mount: -1, do: func() error { return tmpfs("/run", "mode=755") }},
		{to: "/tmp", mount: tmp},
	}, nil
}

// takeBind is what is bound, by itself.
func (s setUp) takeBind(b Bind) (part, error) {
	fd, err := s.take(taking{Path: b.From, All: true, ReadOnly: b.ReadOnly, Theirs: b.Theirs})
	if err != nil {
		return part{}, err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	return part{to: b.To, mount: fd, file: st.Mode&unix.S_IFMT != unix.S_IFDIR}, err
}

// readOnly has a mount, and those in it, refuse writes.
func readOnly(fd int) error {
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// putAll has all of them at their places, in that order.
func putAll(parts []part) error {
	for _, p := range parts {
		if err := p.put(); err != nil {
			return errors.Annotatef(err, "cannot have %s inside", p.to)
		}
	}
	return nil
}

// put has the part at its place.
func (p part) put() error {
	path, err := place(p.to, p.file, new(int))
	if err == nil {
		if p.mount < 0 {
			err = p.do()
		} else {
			err = unix.MoveMount(p.mount, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
			unix.Close(p.mount)
		}
	}
	if p.maybe {
		return nil
	}
	return errors.Trace(err)
}

// maxLinks is how many links a path may lead through, as for the kernel.
const maxLinks = 40

// place has a file or a directory at a path, and is the path that it has without
// links, which may lead to what isn't there yet; links counts them.
func place(path string, file bool, links *int) (string, error) {
	if path == "/" {
		return path, nil
	}
	above, err := place(filepath.Dir(path), false, links)
	if err != nil {
		return "", err
	}
	path = filepath.Join(above, filepath.Base(path))
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, makePlace(path, file)
	case err != nil:
		return "", err
	case st.Mode()&os.ModeSymlink == 0 && st.IsDir() == file:
		return "", errors.Errorf("%s is in the way", path)
	case st.Mode()&os.ModeSymlink == 0:
		return path, nil
	case *links >= maxLinks:
		return "", unix.ELOOP
	}
	*links++
	to, err := os.Readlink(path)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(above, to)
	}
	return place(filepath.Clean(to), file, links)
}

// openToAll are directories that everybody may write to.
var openToAll = []string{"/tmp", "/var/tmp"}

func makePlace(path string, file bool) error {
	if file {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		return f.Close()
	}
	if err := os.Mkdir(path, 0o755); err != nil || !slices.Contains(openToAll, path) {
		return err
	}
	return os.Chmod(path, 0o777|os.ModeSticky)
}
