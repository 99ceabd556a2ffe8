package backup

import (
	"archive/tar"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"
)

const (
	// atOnce is how large a file may be that is read in one piece, in bytes: such a one is as it
	// was at one moment, however often hooks write to it.
	atOnce = 8 << 20
	// patience is how often a file is read again that was written to meanwhile.
	patience = 20
)

// tree writes what is in the data directory.
type tree struct {
	*archive
	dir string
	// device is that of the data directory: what is mounted in it has another one.
	device uint64
	made   map[string]bool
	// leftOut is what couldn't be read.
	leftOut []string
}

func newTree(a *archive, dir string) (*tree, error) {
	st, err := os.Lstat(dir)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return &tree{archive: a, dir: dir, device: deviceOf(st), made: map[string]bool{".": true}}, nil
}

func deviceOf(st fs.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev)
	}
	return 0
}

// header is that of what is at a path below the data directory.
func header(name string, st fs.FileInfo) *tar.Header {
	h := &tar.Header{Name: dataName + name, Mode: int64(st.Mode().Perm()), ModTime: st.ModTime()}
	for bit, is := range map[fs.FileMode]int64{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if st.Mode()&bit != 0 {
			h.Mode |= is
		}
	}
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		h.Uid, h.Gid = int(s.Uid), int(s.Gid)
	}
	return h
}

// parents writes the directories that a path is in.
func (t *tree) parents(name string) error {
	dir := filepath.Dir(name)
	if t.made[dir] {
		return nil
	}
	if err := t.parents(dir); err != nil {
		return errors.Trace(err)
	}
	st, err := os.Lstat(filepath.Join(t.dir, dir))
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(t.directory(dir, st))
}

func (t *tree) directory(name string, st fs.FileInfo) error {
	if t.made[name] {
		return nil
	}
	t.made[name] = true
	h := header(name, st)
	h.Typeflag = tar.TypeDir
	return errors.Trace(t.head(h))
}

// add writes what is at a path below the data directory, with all that is in it, but for
// what skip says. What isn't there, or goes meanwhile, is no error; what may not be read is left out.
// Sockets, devices and what is mounted are left out too.
func (t *tree) add(name string, skip func(name string) bool) error {
	st, err := os.Lstat(filepath.Join(t.dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && skip != nil && skip(name):
		return nil
	case errors.Is(err, fs.ErrPermission):
		t.leftOut = append(t.leftOut, name)
		return nil
	case err != nil:
		return errors.Trace(err)
	}
	if err := t.parents(name); err != nil {
		return errors.Trace(err)
	}
	switch st.Mode().Type() {
	case 0:
		err = t.file(name, st)
	case fs.ModeSymlink:
		err = t.link(name, st)
	case fs.ModeDir:
		err = t.below(name, st, skip)
	}
	if errors.Is(err, fs.ErrPermission) {
		t.leftOut = append(t.leftOut, name)
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Trace(err)
}

func (t *tree) below(name string, st fs.FileInfo, skip func(string) bool) error {
	if deviceOf(st) != t.device {
		return nil
	}
	entries, err := os.ReadDir(filepath.Join(t.dir, name))
	if err != nil {
		return errors.Trace(err)
	}
	if err := t.directory(name, st); err != nil {
		return errors.Trace(err)
	}
	for _, e := range entries {
		if err := t.add(filepath.Join(name, e.Name()), skip); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

func (t *tree) link(name string, st fs.FileInfo) error {
	to, err := os.Readlink(filepath.Join(t.dir, name))
	if err != nil {
		return errors.Trace(err)
	}
	h := header(name, st)
	h.Typeflag, h.Linkname = tar.TypeSymlink, to
	return errors.Trace(t.head(h))
}

// file writes a file: a small one as it was at one moment; a large one as long as it was
// when it was begun, with zeros where it has become shorter.
func (t *tree) file(name string, st fs.FileInfo) error {
	f, err := os.OpenFile(filepath.Join(t.dir, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	if st.Size() <= atOnce {
		content, now, err := steady(f)
		if err != nil {
			return errors.Trace(err)
		}
		return errors.Trace(t.content(name, now, content))
	}
	h := header(name, st)
	h.Typeflag, h.Size = tar.TypeReg, st.Size()
	if err := t.head(h); err != nil {
		return errors.Trace(err)
	}
	n, err := io.Copy(t.archive, io.LimitReader(f, h.Size))
	if err != nil {
		return errors.Annotatef(err, "%s", name)
	}
	_, err = io.Copy(t.archive, io.LimitReader(zeros{}, h.Size-n))
	return errors.Trace(err)
}

// content writes a file of that content.
func (t *tree) content(name string, st fs.FileInfo, content []byte) error {
	if err := t.parents(name); err != nil {
		return errors.Trace(err)
	}
	h := header(name, st)
	h.Typeflag, h.Size = tar.TypeReg, int64(len(content))
	if err := t.head(h); err != nil {
		return errors.Trace(err)
	}
	_, err := t.Write(content)
	return errors.Trace(err)
}

// text writes a file that the data directory has otherwise, or doesn't have.
func (t *tree) text(name string, content []byte) error {
	if err := t.parents(name); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(t.whole(dataName+name, content))
}

// zeros are without end.
type zeros struct{}

// Read is part of io.Reader.
func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// steady reads a file that wasn't written to meanwhile, if it can be had within patience.
func steady(f *os.File) (content []byte, st fs.FileInfo, err error) {
	for range patience {
		before, err := f.Stat()
		if err != nil {
			return nil, nil, errors.Trace(err)
		}
		if content, err = io.ReadAll(io.NewSectionReader(f, 0, before.Size())); err != nil {
			return nil, nil, errors.Trace(err)
		}
		if st, err = f.Stat(); err != nil {
			return nil, nil, errors.Trace(err)
		}
		if st.Size() == before.Size() && st.ModTime().Equal(before.ModTime()) && time.Since(st.ModTime()) > grain {
			break
		}
	}
	return content, st, nil
}

// grain is how exactly file systems know when a file was written to.
const grain = 10 * time.Millisecond

// named skips entries with these names, and those whose names contain one of parts.
func named(names, parts []string) func(string) bool {
	return func(name string) bool {
		base := filepath.Base(name)
		return slices.Contains(names, base) || slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(base, p) })
	}
}
