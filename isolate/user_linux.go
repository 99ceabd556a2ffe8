package isolate

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// skeletonDir is a layer between the host's directories and the cell's changes,
// in a cell's directory, for one who isn't root.
const skeletonDir = "skeleton"

// What of the host's root can be written to by who isn't root: all directories
// in grown, and the files in copied. Others are as the host has them, and can
// be replaced but not written to.
var (
	grown  = []string{"/etc", "/opt", "/srv", "/usr", "/var"}
	copied = []string{"/etc", "/var/cache/debconf", "/var/cache/ldconfig", "/var/lib/apt", "/var/lib/dpkg", "/var/lib/pam", "/var/lib/systemd", "/var/lib/ucf"}
	// emptied have files that are the host's alone: a cell begins with empty ones.
	emptied = []string{"/var/log"}
	// hidden have files for which a cell begins with none, as whoever reads them
	// would take empty ones for damaged: apt does.
	hidden = []string{"/var/lib/apt/lists", "/var/cache/apt"}
)

// userRoot puts the root together of what the host's root has, for who isn't
// root: nobody may mount an overlay over a directory in which something is
// mounted, nor write to what belongs to somebody who isn't known in the name
// space. So each of the root's directories gets an overlay of its own, above a
// skeleton of directories that belong to the user.
func userRoot(s setUp, root string) (without []string, err error) {
	if err := mayHold(s.Dir); err != nil {
		return nil, errors.Trace(err)
	}
	if err := tmpfs(root, "mode=755"); err != nil {
		return nil, noRights("cannot make a root", err)
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, e := range entries {
		path, target := "/"+e.Name(), filepath.Join(root, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err == nil {
				err = os.Symlink(to, target)
			}
			if err != nil {
				return nil, errors.Trace(err)
			}
			continue
		case !e.IsDir():
			continue
		}
		if err := os.Mkdir(target, 0o755); err != nil {
			return nil, errors.Trace(err)
		}
		if slices.Contains(ownPlaces, path) || path == "/lost+found" {
			continue
		}
		if err := userOverlay(s, path, target); err != nil {
			if slices.Contains(required, path) {
				return nil, errors.Trace(err)
			}
			without = append(without, path)
		}
	}
	return without, nil
}

// required are the directories of the host without which a root is none.
var required = []string{"/etc", "/usr", "/var"}

// mayHold says whether what cells change may be in a directory, for who isn't root:
// a skeleton can't be in what it is a layer over. The error is ErrNoRights.
func mayHold(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return errors.Trace(err)
	}
	for _, top := range required {
		if isBelow(real, top) {
			return errors.WithType(errors.Errorf("the directory for what units change is in %s, and only root can have it there", top), ErrNoRights)
		}
	}
	return nil
}

func userOverlay(s setUp, path, target string) error {
	skeleton := filepath.Join(s.Dir, skeletonDir, path)
	if s.Fresh {
		if err := grow(path, skeleton, s.Data); err != nil {
			return errors.Annotatef(err, "cannot make a place for changes of %s", path)
		}
	}
	if unix.Access(path, unix.R_OK) != nil { // another one's home, say
		return overlay(s, skeleton, target, path)
	}
	return overlay(s, path, target, path, skeleton)
}

// grow makes the skeleton of a directory, but for what is in data, which isn't
// seen: the skeleton itself is in there.
func grow(dir, skeleton, data string) error {
	if !slices.Contains(grown, dir) {
		return os.MkdirAll(skeleton, 0o755)
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		to := filepath.Join(skeleton, strings.TrimPrefix(path, dir))
		switch {
		case errors.Is(err, fs.ErrPermission):
			// Its directory was made before: of those below it nothing is known.
			hide(to)
			return fs.SkipDir
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone meanwhile
		case err != nil:
			return err
		case path == data:
			return fs.SkipDir
		case d.IsDir() && isIn(path, hidden):
			defer hide(to)
			return growDir(path, to)
		case d.IsDir():
			return growDir(path, to)
		case isIn(path, hidden):
			return nil
		case !d.Type().IsRegular() || !isIn(path, copied) && !isIn(path, emptied):
			return nil
		}
		return growFile(path, to)
	})
}

// hide has a directory of the skeleton hide what the host's has.
func hide(dir string) { _ = unix.Setxattr(dir, "user.overlay.opaque", []byte("y"), 0) }

func isIn(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return isBelow(path, d) })
}

func growDir(path, to string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	return os.Chmod(to, st.Mode().Perm()|0o700|st.Mode()&os.ModeSticky)
}

// growFile copies a file, or makes an empty one of what is nobody else's matter,
// or can't be read.
func growFile(path, to string) error {
	st, err := os.Stat(path)
	if err != nil {
		return nil // gone meanwhile
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, st.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if !isIn(path, emptied) {
		if in, err := os.Open(path); err == nil {
			defer in.Close()
			if _, err := io.Copy(out, in); err != nil {
				return err
			}
		}
	}
	return out.Close()
}
