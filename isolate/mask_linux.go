package isolate

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// maskDir is a layer in a cell's directory, for as long as an overlay is mounted
// for which it is made.
const maskDir = "mask"

// overlayWithout is overlay, of whose lower directory nothing is there that is
// below the places, whatever is unmounted inside: the layer right above it has
// directories there that hide what they are over. What is above goes further up.
func overlayWithout(s setUp, dir, target, layer string, places []string, above ...string) error {
	lower, err := s.reach(dir)
	if err != nil {
		return errors.Trace(err)
	}
	if len(places) == 0 {
		return errors.Trace(overlay(s, lower, target, layer, above...))
	}
	// It isn't on the disk, as layers may not be in what other layers are over.
	mask := filepath.Join(s.layers, maskDir)
	if err := tmpfs(mask, "mode=755"); err != nil {
		return errors.Trace(err)
	}
	defer func() {
		_ = unix.Unmount(mask, unix.MNT_DETACH) // the overlay has it
		_ = os.Remove(mask)
	}()
	for _, p := range places {
		if err := s.hideIn(mask, lower, below(dir, p)); err != nil {
			return errors.Annotate(err, "cannot hide the agent's files")
		}
	}
	return errors.Trace(overlay(s, lower, target, layer, append(slices.Clone(above), mask)...))
}

// hideIn has the mask hide what is in a directory, below lower, where there is one.
// The directories above it are as they are in lower, as it is the mask's that are
// seen. Where the mask can't hide, cover does alone.
func (s setUp) hideIn(mask, lower, path string) error {
	var dirs []string
	for dir := path; len(dir) > 1; dir = filepath.Dir(dir) {
		if st, err := os.Lstat(filepath.Join(lower, dir)); err != nil || !st.IsDir() {
			return nil // or a link, which leads to another place
		}
		dirs = append(dirs, dir)
	}
	for _, dir := range slices.Backward(dirs) {
		if err := likeDir(filepath.Join(lower, dir), filepath.Join(mask, dir)); err != nil {
			return errors.Trace(err)
		}
	}
	hides := filepath.Join(mask, path)
	if s.User {
		if unix.Setxattr(hides, "user.overlay.opaque", []byte("y"), 0) == nil {
			return nil
		}
		// A kernel before 6.6 has no such attributes in memory: then nothing is there.
		if err := os.Remove(hides); err != nil {
			return errors.Trace(err)
		}
		return errors.Trace(unix.Mknod(hides, unix.S_IFCHR, 0))
	}
	err := unix.Setxattr(hides, "trusted.overlay.opaque", []byte("y"), 0)
	if err == unix.EOPNOTSUPP {
		return errors.Trace(os.Remove(hides))
	}
	return errors.Trace(err)
}

// likeDir makes a directory that looks as another one.
func likeDir(as, dir string) error {
	if err := os.Mkdir(dir, 0o700); os.IsExist(err) {
		return nil
	} else if err != nil {
		return errors.Trace(err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(as, &st); err != nil {
		return errors.Trace(err)
	}
	if err := os.Lchown(dir, int(st.Uid), int(st.Gid)); err != nil {
		return errors.Trace(err)
	}
	if err := unix.Chmod(dir, st.Mode&^unix.S_IFMT); err != nil {
		return errors.Trace(err)
	}
	likeAttributes(as, dir)
	return errors.Trace(unix.UtimesNanoAt(unix.AT_FDCWD, dir, []unix.Timespec{st.Atim, st.Mtim}, 0))
}

// likeAttributes copies what rights a directory gives to others, and its label, as
// far as a file system in memory has such.
func likeAttributes(as, dir string) {
	for _, name := range []string{"system.posix_acl_access", "system.posix_acl_default", "security.selinux"} {
		value := make([]byte, 1<<16) // the most that there can be
		if n, err := unix.Getxattr(as, name, value); err == nil {
			_ = unix.Setxattr(dir, name, value[:n], 0)
		}
	}
}

// seenIn are those of the places that are in the file system at one of the mounts,
// and not at another one that is below it.
func seenIn(places []string, at string, mounts []string) []string {
	return slices.DeleteFunc(slices.Clone(places), func(p string) bool {
		return !isBelow(p, at) || slices.ContainsFunc(mounts, func(m string) bool { return len(m) > len(at) && isBelow(p, m) })
	})
}
