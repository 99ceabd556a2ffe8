package script

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// copyTree copies what is below the directory from into the directory to, with
// modes and times, as a language's caches go by these, with owners where this
// user may set them, and with what overlays note of their changes. What but
// names, by its path below from, is left out, and so are sockets and devices,
// which are somebody's that runs, and what goes meanwhile: changing says that directories may, too.
func copyTree(from, to string, changing bool, but func(name string) bool) error {
	// A directory's mode and time are set once all is in it.
	var dirs []func() error
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if closed(d, err) {
			return fs.SkipDir
		}
		if err != nil && path != from && os.IsNotExist(err) {
			return nil
		}
		if err != nil || path == from {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil || but(name) {
			return err
		}
		info, err := d.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if !d.IsDir() {
			if err := copyEntry(path, target, info); !os.IsNotExist(err) {
				return err
			}
			return nil
		}
		dirs = append(dirs, func() error { return likeInfo(path, target, info) })
		return os.Mkdir(target, 0o700)
	})
	if err != nil {
		return errors.Trace(err)
	}
	for _, finish := range slices.Backward(dirs) {
		if err := finish(); err != nil && !(changing && errors.Is(err, fs.ErrNotExist)) {
			return errors.Trace(err)
		}
	}
	return nil
}

// closed says whether an error is that of a directory that nobody may read, as
// overlays have them for themselves; it stays empty.
func closed(d fs.DirEntry, err error) bool {
	if d == nil || !errors.Is(err, fs.ErrPermission) {
		return false
	}
	info, err := d.Info()
	return err == nil && info.IsDir() && info.Mode().Perm() == 0
}

func copyEntry(from, to string, info fs.FileInfo) error {
	switch info.Mode().Type() {
	case fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		if err := os.Symlink(target, to); err != nil {
			return err
		}
		return likeOwner(from, to, info)
	case fs.ModeNamedPipe:
		if err := unix.Mkfifo(to, 0o600); err != nil {
			return err
		}
		return likeInfo(from, to, info)
	case fs.ModeDevice | fs.ModeCharDevice:
		return copyWhiteout(from, to, info)
	case 0:
		if err := copyFile(from, to); err != nil {
			return err
		}
		return likeInfo(from, to, info)
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// likeInfo gives a path the owner, the mode and the time of another one.
func likeInfo(from, path string, info fs.FileInfo) error {
	if err := likeOwner(from, path, info); err != nil {
		return err
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	return os.Chmod(path, info.Mode())
}
