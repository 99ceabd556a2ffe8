package isolate

import (
	"fmt"
	"net/url"
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
	layersDir = "layers" // a directory for each overlay, with what has changed
	rootDir   = "root"   // where the root is put together
	tmpDir    = "tmp"    // /tmp
	jujuDir   = "juju"   // Juju
)

// oldRoot is where the host's root is in the cell until all is made.
const oldRoot = "/run/host"

// makeRoot puts the cell's root together and goes there; without are the
// directories of the host that aren't in it.
func makeRoot(s setUp) (without []string, err error) {
	// What is mounted here stays here.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return nil, noRights("cannot part the mounts from the host's", err)
	}
	places, err := dataPlaces(s)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if err := s.bench(); err != nil {
		return nil, errors.Trace(err)
	}
	if without, err = enterRoot(s, places); err != nil {
		return nil, errors.Trace(err)
	}
	for _, step := range []func(setUp) error{mountSystem, mountDevices, mountOwn} {
		if err := step(s); err != nil {
			return nil, errors.Trace(err)
		}
	}
	if err := cover(places); err != nil {
		return nil, errors.Trace(err)
	}
	if err := mountJuju(s); err != nil {
		return nil, errors.Trace(err)
	}
	if err := furnish(s); err != nil {
		return nil, errors.Trace(err)
	}
	if err := maskKernel(s.User, s.OwnNet); err != nil {
		return nil, errors.Trace(err)
	}
	if err := unix.Unmount(oldRoot, unix.MNT_DETACH); err != nil {
		return nil, errors.Annotate(err, "cannot leave the host's root")
	}
	return without, errors.Trace(os.Remove(oldRoot))
}

// enterRoot makes the root what there is of the host in the cell, and leaves the
// host's at oldRoot. Nothing is taken that is mounted at, or in, one of the
// places, nor, by root, what else is there.
func enterRoot(s setUp, places []string) (without []string, err error) {
	root := s.root
	switch {
	case s.Root != "":
		err = overlayWithout(s, s.Root, root, "", places)
	case s.User && s.hands == nil:
		without, err = userRoot(s, root)
	default:
		without, err = hostRoot(s, root, places)
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	if err := tmpfs(filepath.Join(root, "run"), "mode=755"); err != nil {
		return nil, errors.Trace(err)
	}
	if err := os.Mkdir(filepath.Join(root, oldRoot), 0o700); err != nil {
		return nil, errors.Trace(err)
	}
	if err := unix.PivotRoot(root, filepath.Join(root, oldRoot)); err != nil {
		return nil, noRights("cannot change the root", err)
	}
	return without, errors.Trace(os.Chdir("/"))
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
	dir := filepath.Join(s.layers, "root"+url.PathEscape(layer))
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
		if st, err := os.Lstat(target); err != nil || !st.IsDir() {
			continue // a file, or under something that isn't there
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

// bind has a directory of the host inside, with what is mounted in it.
func (s setUp) bind(from, to string) error {
	if s.hands != nil {
		return s.takeTo(taking{Path: from, All: true}, to)
	}
	return errors.Annotatef(unix.Mount(filepath.Join(oldRoot, from), to, "", unix.MS_BIND|unix.MS_REC, ""), "cannot bind %s", to)
}

// mountSystem mounts what the kernel tells of itself.
func mountSystem(s setUp) error {
	if err := os.MkdirAll("/proc", 0o555); err != nil {
		return errors.Trace(err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return noRights("cannot mount /proc", err)
	}
	if err := os.MkdirAll("/sys", 0o555); err != nil {
		return errors.Trace(err)
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_RDONLY
	if err := unix.Mount("sysfs", "/sys", "sysfs", flags, ""); err != nil {
		if err := unix.Mount(filepath.Join(oldRoot, "sys"), "/sys", "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return errors.Annotate(err, "cannot bind /sys")
		}
	}
	return nil
}

// mountDevices makes a /dev with what every program may use.
func mountDevices(s setUp) error {
	if err := tmpfs("/dev", "mode=755"); err != nil {
		return errors.Trace(err)
	}
	_ = unix.Mount("", "/dev", "", unix.MS_REMOUNT|unix.MS_NOSUID, "mode=755") // with devices, where that may be
	for _, name := range hostDevices {
		path := filepath.Join("/dev", name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return errors.Trace(err)
		}
		if err := unix.Mount(filepath.Join(oldRoot, path), path, "", unix.MS_BIND, ""); err != nil {
			return errors.Annotatef(err, "cannot bind %s", path)
		}
	}
	return furnishDevices()
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

// mountOwn has inside what is the cell's own, and what is the host's for all.
func mountOwn(s setUp) error {
	binds := [][2]string{{filepath.Join(s.Dir, tmpDir), "/tmp"}}
	for _, d := range s.Shared {
		binds = append(binds, [2]string{d, d})
	}
	for _, b := range binds {
		if err := os.MkdirAll(b[1], 0o755); err != nil {
			return errors.Trace(err)
		}
		if err := s.bind(b[0], b[1]); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// mountJuju has Juju inside, with the program of the hook tools. What is in its
// agents comes by Attach.
func mountJuju(s setUp) error {
	if err := os.MkdirAll(Juju, 0o755); err != nil {
		return errors.Trace(err)
	}
	if err := s.bind(filepath.Join(s.Dir, jujuDir), Juju); err != nil {
		return errors.Trace(err)
	}
	if s.Client == "" {
		return nil
	}
	client := Juju + "/tools/client"
	if s.hands != nil {
		return s.takeTo(taking{Path: s.Client, ReadOnly: true, Theirs: true}, client)
	}
	if err := unix.Mount(filepath.Join(oldRoot, s.Client), client, "", unix.MS_BIND, ""); err != nil {
		return errors.Annotate(err, "cannot bind the hook tools' program")
	}
	// It is all units' program. Who isn't root may not mount it anew without what the
	// host's mount is besides, such as nosuid, but may add to that.
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if unix.MountSetattr(unix.AT_FDCWD, client, 0, attr) != nil { // a kernel before 5.12
		_ = unix.Mount("", client, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
	}
	return nil
}
