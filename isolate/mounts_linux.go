package isolate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/mounts"
)

// The parts of a cell's directory on the host.
const (
	rootDir = "root" // where the root is put together
	jujuDir = "juju" // Juju
)

// makeRoot puts the cell's root together and goes there; without are the
// directories of the host that aren't in it. What it has of the host is taken first, as
// mounts that are nowhere, and the host is left before the first of them has its place:
// so no link that the unit has made in its root leads there.
func makeRoot(s setUp) (without []string, err error) {
	// What is mounted here stays here.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return nil, noRights("cannot part the mounts from the host's", err)
	}
	places, err := dataPlaces(s)
	if err != nil {
		return nil, errors.Trace(err)
	}
	parts, juju, err := takeMachine(s)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if text, known := Resolvers(s.OwnNet); known {
		s.resolvers = &text
	}
	if err := s.bench(); err != nil {
		return nil, errors.Trace(err)
	}
	if without, err = layMachine(s, places); err != nil {
		return nil, errors.Trace(err)
	}
	if err := changeRoot(s.root); err != nil {
		return nil, errors.Trace(err)
	}
	for _, step := range []func() error{
		ownDirs,
		func() error { return putAll(parts) },
		func() error { return cover(places) },
		func() error { return putAll(juju) },
		func() error { return furnish(s) },
		func() error { return furnishSystem(s) },
		func() error { return maskKernel(s.User, s.OwnNet) },
		func() error { return shareMounts(s) },
	} {
		if err := step(); err != nil {
			return nil, errors.Trace(err)
		}
	}
	return without, nil
}

// layMachine mounts what there is of the host in the cell, with its changes. Nothing is
// taken that is mounted at, or in, one of the places, nor, by root, what else is there.
func layMachine(s setUp, places []string) (without []string, err error) {
	switch {
	case s.Root != "":
		return nil, errors.Trace(overlayWithout(s, s.Root, s.root, "", places))
	case s.User && s.hands == nil:
		without, err = userRoot(s, s.root)
	default:
		without, err = hostRoot(s, s.root, places)
	}
	return without, errors.Trace(err)
}

// ownDirs has the places that a cell has of its own be directories, whatever the unit has
// made of them.
func ownDirs() error {
	for _, dir := range ownPlaces {
		st, err := os.Lstat(dir)
		if err == nil && !st.IsDir() {
			err = os.Remove(dir)
		} else if err == nil {
			continue
		}
		if err != nil && !os.IsNotExist(err) {
			return errors.Trace(err)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// noRights is an error that is ErrNoRights where the kernel has refused.
func noRights(what string, err error) error {
	// An overlay that isn't allowed is "no such device" or "invalid", too, and no
	// more name spaces than there are may be "no space".
	if slices.ContainsFunc([]error{unix.EPERM, unix.EACCES, unix.ENODEV, unix.EINVAL, unix.ENOSPC, unix.ENOSYS, unix.EOPNOTSUPP}, func(no error) bool { return errors.Is(err, no) }) {
		return errors.WithType(errors.Annotate(err, what), ErrNoRights)
	}
	return errors.Annotate(err, what)
}

// overlay mounts at target what is in lower, with its changes in the cell's
// layer of that name. Between them may be more.
func overlay(s setUp, lower, target, layer string, between ...string) error {
	dir := filepath.Join(s.layers, layerName(layer))
	upper, work := filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return errors.Trace(err)
	}
	if err := likeIt(s, lower, upper); err != nil {
		return errors.Trace(err)
	}
	lowers := make([]string, 0, len(between)+1)
	for _, l := range append(slices.Clone(between), lower) {
		lowers = append(lowers, escapeOption(l))
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", strings.Join(lowers, ":"), escapeOption(upper), escapeOption(work))
	options += s.userOption()
	err := unix.Mount("unitd", target, "overlay", unix.MS_NODEV, options)
	if err != nil && onOverlay(upper) {
		return errOnOverlay
	}
	return noRights("cannot mount an overlay over "+lower, err)
}

// userOption is the option of an overlay whose own attributes who isn't the host's root
// may write.
func (s setUp) userOption() string {
	if s.User {
		return ",userxattr"
	}
	return ""
}

// errOnOverlay is the refusal where changes can't be kept.
var errOnOverlay = errors.WithType(errors.New("the directory for what units change is on an overlay itself, as a container's files are: it has to be on a volume, or a tmpfs"), ErrNoRights)

// onOverlay says whether a directory is on an overlay: it can't have the changes
// of another one.
func onOverlay(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC
}

// likeIt makes an upper directory, with the mode of the one below and, where root
// may say so, its owner: an overlay's root shows those of the upper one. What the
// unit has made of it since stays.
func likeIt(s setUp, lower, upper string) error {
	err := os.Mkdir(upper, 0o755)
	switch {
	case os.IsExist(err) && !s.Fresh:
		return nil
	case err != nil && !os.IsExist(err):
		return errors.Trace(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(lower, &st); err != nil {
		return errors.Trace(err)
	}
	if !s.User || s.hands != nil {
		if err := os.Chown(upper, int(st.Uid), int(st.Gid)); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(unix.Chmod(upper, uint32(st.Mode)&(0o777|unix.S_ISVTX|unix.S_ISGID)))
}

// escapeOption is a path as a mount option can have it.
var escapeOption = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `:`, `\:`).Replace

// hostRoot puts overlays over the host's root and all file systems that are
// mounted in it, but for those of the system and those that nobody can put one
// over. Above the root may be more.
func hostRoot(s setUp, root string, places []string, above ...string) (without []string, err error) {
	mounts, err := mountsBelow(s, places)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if err := overlayWithout(s, "/", root, "", seenIn(places, "/", mounts), above...); err != nil {
		return nil, errors.Trace(err)
	}
	for _, m := range mounts {
		target := filepath.Join(root, m)
		fd, err := plain(target)
		if err != nil {
			continue // under something that isn't there, or a link that the unit has made
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		unix.Close(fd)
		if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			continue // a file
		}
		if err := overlayWithout(s, m, target, m, seenIn(places, m, mounts)); err != nil {
			without = append(without, m)
		}
	}
	return without, nil
}

// noLayer are file systems that have no part in a cell: those of the kernel,
// and what belongs to other containers and packages.
var noLayer = []string{
	"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl", "hugetlbfs",
	"mqueue", "nsfs", "overlay", "proc", "pstore", "rpc_pipefs", "securityfs", "squashfs", "sysfs", "tracefs",
}

// ownPlaces are directories that a cell has of its own.
var ownPlaces = []string{"/proc", "/sys", "/dev", "/run", "/tmp"}

// mountsBelow are the places in the host's root at which file systems are
// mounted that are to be in the cell, in order.
func mountsBelow(s setUp, places []string) ([]string, error) {
	all, err := mounts.Own()
	if err != nil {
		return nil, errors.Trace(err)
	}
	leave := slices.Concat(ownPlaces, s.Shared, places, []string{s.Dir})
	var out []string
	for _, m := range all {
		if slices.Contains(noLayer, m.Kind) || m.At == "/" || slices.Contains(out, m.At) {
			continue
		}
		if !slices.ContainsFunc(leave, func(d string) bool { return isBelow(m.At, d) }) {
			out = append(out, m.At)
		}
	}
	slices.Sort(out)
	return out, nil
}

func isBelow(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func tmpfs(at, options string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return errors.Trace(err)
	}
	return errors.Annotatef(unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options), "cannot mount %s", at)
}

// hostDevices are those that every program may use.
var hostDevices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// furnishDevices has the rest of a /dev there.
func furnishDevices() error {
	for _, dir := range []string{"/dev/pts", "/dev/shm", "/dev/mqueue"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return errors.Trace(err)
		}
	}
	if err := unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return errors.Annotate(err, "cannot mount /dev/pts")
	}
	if err := tmpfs("/dev/shm", "mode=1777"); err != nil {
		return errors.Trace(err)
	}
	_ = unix.Mount("mqueue", "/dev/mqueue", "mqueue", 0, "") // not every kernel has it
	for name, to := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(to, filepath.Join("/dev", name)); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}
