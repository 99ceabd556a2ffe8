package isolate

import (
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/juju/errors"
)

// A seed is a directory with what is on a new machine at first, in the form of a machine's
// layers: what its package managers would else fetch anew each time.

// SowFile puts a file on the machines that begin with a seed; to is its path there, below "/".
func SowFile(seed, to, text string) error {
	at := filepath.Join(seed, layerName(""), "upper")
	if err := makeDir(at, 0o755); err != nil {
		return errors.Trace(err)
	}
	for dir := range strings.SplitSeq(path.Dir(to), "/") { // each with this mode, whatever umask there is
		at = filepath.Join(at, dir)
		if err := makeDir(at, 0o755); err != nil {
			return errors.Trace(err)
		}
	}
	at = filepath.Join(at, path.Base(to))
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.Chmod(at, 0o644))
}

// makeDir makes a directory with that mode.
func makeDir(path string, mode os.FileMode) error {
	if err := os.MkdirAll(path, mode); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.Chmod(path, mode))
}

// maxGathered bounds what Gather takes of a layer, in bytes.
const maxGathered = 4 << 30

// layerName is what the directory of a layer is called that lies over a directory of the host;
// empty: over its root.
func layerName(over string) string { return "root" + url.PathEscape(over) }

// Gather adds to a seed what a cell, whose directory it is, has changed in some places on its
// machine: directories by their paths there. Links are left where they are, and so is what is gone
// or becomes something else meanwhile: programs of the cell may still run, and mean harm. It returns
// how many bytes there were; of more than 4 GiB the rest is left.
func Gather(dir, seed string, places []string) (bytes int64, err error) {
	layers, err := Layers(dir)
	if err != nil {
		return 0, errors.Trace(err)
	}
	for _, l := range layers {
		if filepath.Base(l.Dir) != "upper" {
			continue // /tmp
		}
		for _, place := range places {
			rel, below := strings.CutPrefix(place, strings.TrimSuffix(l.Path, "/")+"/")
			switch {
			case below:
			case l.Path == place || strings.HasPrefix(l.Path, place+"/"): // a file system of its own
				rel = "."
			default:
				continue
			}
			to := filepath.Join(seed, filepath.Base(filepath.Dir(l.Dir)), "upper")
			n, err := copyBelow(l.Dir, to, rel)
			if err != nil {
				return bytes, errors.Annotatef(err, "cannot keep what is in %s", place)
			}
			bytes += n
		}
	}
	return bytes, nil
}

// sow has the layers in a directory begin with a seed's.
func sow(seed, layers string) error {
	entries, err := os.ReadDir(seed)
	if err != nil {
		return errors.Annotate(err, "cannot read what new machines begin with")
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if _, err := copyBelow(filepath.Join(seed, e.Name(), "upper"), filepath.Join(layers, e.Name(), "upper"), "."); err != nil {
			return errors.Annotate(err, "cannot copy what new machines begin with")
		}
	}
	return nil
}

// copyBelow copies a directory below another one to the same place below a third, with the
// directories that lead there: directories and files, their owners, modes and times.
func copyBelow(from, to, rel string) (bytes int64, err error) {
	in, err := os.OpenRoot(from)
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer in.Close()
	for dir := rel; dir != "."; dir = path.Dir(dir) {
		if st, err := in.Lstat(dir); err != nil || !st.IsDir() {
			return 0, nil // nothing there, or behind a link
		}
	}
	if err := makeDir(to, 0o755); err != nil {
		return 0, errors.Trace(err)
	}
	out, err := os.OpenRoot(to)
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer out.Close()
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		defer func() { // once all that is in it has been made
			if lerr := like(in, out, dir); err == nil {
				err = lerr
			}
		}()
	}
	if err := out.MkdirAll(rel, 0o755); err != nil {
		return 0, errors.Trace(err)
	}
	var dirs []string
	err = fs.WalkDir(in.FS(), rel, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return gone(err)
		case d.IsDir():
			dirs = append(dirs, name)
			if err := out.Mkdir(name, 0o700); err != nil && !os.IsExist(err) {
				return errors.Trace(err)
			}
			return nil
		case d.Type().IsRegular() && bytes < maxGathered:
			n, err := copyFileBelow(in, out, name, maxGathered-bytes)
			bytes += n
			return errors.Trace(err)
		}
		return nil
	})
	for i := len(dirs) - 1; i >= 0 && err == nil; i-- {
		err = like(in, out, dirs[i])
	}
	return bytes, errors.Trace(err)
}

// gone is an error of reading, unless it says that something isn't there any more, or isn't what
// it was.
func gone(err error) error {
	if os.IsNotExist(err) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return nil
	}
	return errors.Trace(err)
}

// copyFileBelow copies a file, and no more than so many bytes of it. One that is larger, or is no
// file any more, isn't copied.
func copyFileBelow(in, out *os.Root, name string, most int64) (int64, error) {
	from, err := in.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, gone(err)
	}
	defer from.Close()
	if st, err := from.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() > most {
		return 0, nil
	}
	if err := out.Remove(name); err != nil && !os.IsNotExist(err) {
		return 0, errors.Trace(err)
	}
	to, err := out.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, errors.Trace(err)
	}
	n, err := io.Copy(to, io.LimitReader(from, most))
	if cerr := to.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return n, errors.Trace(err)
	}
	return n, errors.Trace(like(in, out, name))
}

// like gives what is at a path the owner, mode and times of what is there in the other root.
func like(in, out *os.Root, name string) error {
	info, err := in.Lstat(name)
	if err != nil {
		return gone(err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return nil
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		if err := out.Lchown(name, int(st.Uid), int(st.Gid)); err != nil {
			return errors.Trace(err)
		}
	}
	if err := out.Chmod(name, info.Mode().Perm()|info.Mode()&fs.ModeSticky); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(out.Chtimes(name, info.ModTime(), info.ModTime()))
}
