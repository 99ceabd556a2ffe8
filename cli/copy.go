package cli

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// Files are those of a place, by absolute paths as its own programs see them.
type Files interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Mkdir(name string, perm fs.FileMode) error
}

// Host are the files of this host.
type Host struct{}

// OpenFile is os.OpenFile.
func (Host) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// Mkdir is os.Mkdir.
func (Host) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }

// Place is where files are copied from, or to.
type Place struct {
	Files
	// Dir is where relative paths begin.
	Dir string
	// UID and GID own what is made there, where this process may give it away; -1 is
	// whoever this process is.
	UID, GID int
	// Chown gives a file away; nil: only root may.
	Chown func(f *os.File, uid, gid int) error
}

// gives says whether what is made there can be given to somebody.
func (p Place) gives() bool { return p.UID >= 0 && (p.Chown != nil || os.Geteuid() == 0) }

// path is a path of the place. Links are followed by whoever opens it.
func (p Place) path(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(p.Dir, name)
}

// looking is how files are opened that may be anything: one that nobody writes to,
// or reads, isn't waited for.
const looking = os.O_RDONLY | syscall.O_NONBLOCK

func (p Place) stat(name string) (fs.FileInfo, error) {
	f, err := p.OpenFile(name, looking, 0)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer f.Close()
	return f.Stat()
}

// list are the names in a directory, in order.
func (p Place) list(dir string) ([]string, error) {
	f, err := p.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, errors.Trace(err)
}

// as is the place as one of its users has it. A user that it doesn't have is
// nobody, as those of machines that tests were written for.
func (p Place) as(user string) Place {
	if who, ok := p.person(user); ok {
		p.UID, p.GID, p.Dir = who.UID, who.GID, who.Home
	}
	return p
}

// glob are the files that a path stands for: what has its name, or else what
// matches its patterns. The error is that there are none.
func (p Place) glob(name string) ([]string, error) {
	at := p.path(name)
	_, err := p.stat(at)
	if err == nil || !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(name, "*?[") {
		if err != nil {
			var of *fs.PathError
			if errors.As(err, &of) {
				err = of.Err
			}
			return nil, err
		}
		if strings.HasSuffix(name, "/.") || name == "." || name == "" {
			at += "/." // what is in it
		}
		return []string{at}, nil
	}
	found := []string{"/"}
	for element := range strings.SplitSeq(strings.Trim(at, "/"), "/") {
		var next []string
		for _, dir := range found {
			names := []string{element}
			if strings.ContainsAny(element, "*?[") {
				names, _ = p.list(dir) // what is no directory has no names
			}
			for _, n := range names {
				if ok, err := path.Match(element, n); err != nil {
					return nil, errors.Errorf("%q is no pattern", element)
				} else if (ok || n == element) && (n[0] != '.' || element[0] == '.') {
					next = append(next, path.Join(dir, n))
				}
			}
		}
		found = next
	}
	found = slices.DeleteFunc(found, func(name string) bool {
		_, err := p.stat(name)
		return err != nil
	})
	if len(found) == 0 {
		return nil, syscall.ENOENT
	}
	return found, nil
}

// copying is one run of scp.
type copying struct {
	ctx                 context.Context
	recursive, preserve bool
	// made is the directory that the present source is copied to: it is no part of
	// the source, even if it is in it.
	made fs.FileInfo
}

// copy copies a file, or a directory with all that is in it, to a path that isn't
// there, or that has something of the same kind.
func (c *copying) copy(from Place, source string, to Place, name string) error {
	c.made = nil
	return c.one(from, source, to, name)
}

func (c *copying) one(from Place, source string, to Place, name string) error {
	f, err := from.OpenFile(source, looking, 0)
	if err != nil {
		return cannot(source, err)
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return cannot(source, err)
	case st.IsDir() && !c.recursive:
		return errors.Errorf("cannot copy %s: it is a directory, which -r copies", source)
	case st.IsDir() && c.made != nil && os.SameFile(st, c.made):
		return nil
	case st.IsDir():
		return c.dir(from, source, st, to, name)
	case !st.Mode().IsRegular():
		return errors.Errorf("cannot copy %s: it is no regular file", source)
	}
	return c.file(f, st, to, name)
}

// dir copies a directory. What can't be copied leaves out nothing else.
func (c *copying) dir(from Place, source string, st fs.FileInfo, to Place, name string) error {
	names, err := from.list(source)
	if err != nil {
		return cannot(source, err)
	}
	made, err := to.makeDir(name, st.Mode())
	if err != nil {
		return cannot(name, err)
	}
	defer made.Close()
	if c.made == nil {
		if c.made, err = made.Stat(); err != nil {
			return cannot(name, err)
		}
	}
	var failed []error
	for _, n := range names {
		if err := c.one(from, path.Join(source, n), to, path.Join(name, n)); err != nil {
			failed = append(failed, err)
		}
		if c.ctx.Err() != nil {
			return errors.Trace(c.ctx.Err())
		}
	}
	if c.preserve {
		if err := keep(made, st); err != nil {
			return cannot(name, err)
		}
	}
	switch len(failed) {
	case 0:
		return nil
	case 1:
		return errors.Trace(failed[0])
	}
	return errors.Errorf("%v, nor %d more in %s", failed[0], len(failed)-1, source)
}

// makeDir has a directory there, and opens it. A new one has the permissions, and
// can be written to.
func (p Place) makeDir(name string, perm fs.FileMode) (*os.File, error) {
	err := p.Mkdir(name, perm.Perm()|0o700)
	isNew := err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, errors.Trace(err)
	}
	f, err := p.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err == nil && isNew {
		err = p.give(f)
	}
	return f, errors.Trace(err)
}

// give makes a new file that of whose place it is.
func (p Place) give(f *os.File) error {
	switch {
	case !p.gives():
		return nil
	case p.Chown != nil:
		return errors.Trace(p.Chown(f, p.UID, p.GID))
	}
	return errors.Trace(f.Chown(p.UID, p.GID))
}

// file copies a regular file's content. One that is there keeps its owner and its
// permissions.
func (c *copying) file(in *os.File, st fs.FileInfo, to Place, name string) error {
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NONBLOCK, st.Mode().Perm())
	isNew := err == nil
	if errors.Is(err, fs.ErrExist) {
		out, err = to.OpenFile(name, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, st.Mode().Perm())
	}
	if err != nil {
		return cannot(name, err)
	}
	err = c.fill(in, st, to, out, isNew)
	if err == nil && c.preserve {
		err = keep(out, st)
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil && c.ctx.Err() == nil {
		return cannot(name, err)
	}
	return errors.Trace(err)
}

func (c *copying) fill(in *os.File, st fs.FileInfo, to Place, out *os.File, isNew bool) error {
	was, err := out.Stat()
	switch {
	case err != nil:
		return errors.Trace(err)
	case os.SameFile(st, was):
		return errors.New("it would be copied onto itself")
	case isNew:
		if err := to.give(out); err != nil {
			return errors.Trace(err)
		}
	case was.Mode().IsRegular():
		if err := out.Truncate(0); err != nil {
			return errors.Trace(err)
		}
	}
	const piece = 16 << 20 // between two looks whether Ctrl-C was typed
	for c.ctx.Err() == nil {
		n, err := io.CopyN(out, in, piece)
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(c.ctx.Err())
}

// keep gives a file the permissions and the time of another one.
func keep(f *os.File, like fs.FileInfo) error {
	if err := f.Chmod(like.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)); err != nil {
		return errors.Trace(err)
	}
	t := unix.NsecToTimeval(like.ModTime().UnixNano())
	return errors.Trace(unix.Futimes(int(f.Fd()), []unix.Timeval{t, t}))
}
