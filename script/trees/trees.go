// Package trees keeps what a directory is at several moments, and restores it. Only what has changed is copied or
// touched; every path is looked at, and files are read where stat doesn't tell enough.
//
//	directory ──Keep──▶ Moment: all that there is, by its path ──Restore──▶ directory, as it was
//	                      └─ content of files: in a pool, once for all moments that have it
//
// A path is taken for what it was as long as all that stat tells of it is what it was when it was last looked at, with
// the time of change (ctime), which no program can set. But that isn't always enough for the content of a file or of a
// symbolic link:
//
//   - The time is that of a tick of the kernel's clock. Who changes a file twice in one tick changes its time once.
//   - Some file systems have coarse times, or those of another host, or keep no time of what is written to memory that a
//     file is mapped to.
//   - A process that runs may have begun to write, or have the file mapped.
//
// Where one of these may be so, the content is compared.
package trees

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/juju/errors"
)

// Keeper keeps the moments of one directory. It isn't for several goroutines.
type Keeper struct {
	dir, pool string
	known     map[string]known // by path
	files     int              // that were put into the pool
	buffers   [2][]byte        // for sameContent
}

// known is what a path was when it was looked at, and by what that look can be told from another one.
type known struct {
	stamp
	*entry
	sure bool // the stamp tells whether the content is the same, too
}

// stamp is what is told of a path without a look at its content.
type stamp struct {
	device, inode, links uint64
	size                 int64
	modified, changed    int64 // nanoseconds since 1970
	mode, uid, gid       uint32
}

// entry is what is at a path: a directory, a file, a symbolic link, a named pipe, or an overlay's mark that
// something is gone.
type entry struct {
	path       string // below the directory
	mode       fs.FileMode
	uid, gid   int
	modified   time.Time
	attributes []attribute
	target     string // of a symbolic link
	first      string // the path before this one that is the same file; empty: none is
	content    int    // of a file that isn't such another path: its number in the pool
	moments    int    // that have it; 0: its content is gone
}

// attribute is an extended one.
type attribute struct {
	name  string
	value []byte
}

// Moment is what a directory was when it was kept.
type Moment struct{ entries []*entry } // directories before what is in them

// New is the keeper of a directory. The pool is a directory of the keeper's own, on any file system; it is made when it is
// needed, and who made the keeper removes it.
func New(dir, pool string) *Keeper {
	return &Keeper{dir: dir, pool: pool}
}

// Keep keeps the directory as it is, with modes and times, as languages' caches go by these, with owners
// where this user may set them, and with what overlays note of their changes. What but names, by
// its path below the directory, is left out, and so are sockets and devices, which are somebody's that
// runs, and what goes meanwhile. changing: others may write to the directory meanwhile. The error is that of the
// file system.
func (k *Keeper) Keep(changing bool, but func(path string) bool) (*Moment, error) {
	if err := os.MkdirAll(k.pool, 0o700); err != nil {
		return nil, errors.Trace(err)
	}
	w := walk{Keeper: k, m: &Moment{}, now: map[string]known{}, firsts: map[inode]string{}, sure: !changing && exact(k.dir), began: tick()}
	err := filepath.WalkDir(k.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case closed(d, err):
			return fs.SkipDir
		case err != nil && path != k.dir && os.IsNotExist(err):
			return nil
		case err != nil || path == k.dir || but(path[len(k.dir)+1:]):
			return err
		}
		kept, err := w.visit(path, d)
		if err == nil && !kept && d.IsDir() {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		_ = k.Forget(w.m) // the first error says more
		return nil, errors.Trace(err)
	}
	k.known = w.now
	return w.m, nil
}

// closed says whether an error is that of a directory that nobody may read, as overlays have them for
// themselves; it stays empty.
func closed(d fs.DirEntry, err error) bool {
	if d == nil || !errors.Is(err, fs.ErrPermission) {
		return false
	}
	info, err := d.Info()
	return err == nil && info.IsDir() && info.Mode().Perm() == 0
}

// walk is a look at all of a directory.
type walk struct {
	*Keeper
	m      *Moment
	now    map[string]known
	firsts map[inode]string
	sure   bool  // stamps tell all, but for what has changed since
	began  int64 // the tick in which it did
}

// inode is a file, whatever its paths are.
type inode struct{ device, number uint64 }

// visit adds a path to the moment. kept: it's there, and is something that is kept.
func (w *walk) visit(path string, d fs.DirEntry) (kept bool, err error) {
	info, err := d.Info()
	if err != nil || info.IsDir() != d.IsDir() { // it has gone, or is another one already
		return false, unlessGone(err)
	}
	name := path[len(w.dir)+1:]
	s := stampOf(info)
	first := ""
	if s.links > 1 && info.Mode().IsRegular() {
		first = w.firsts[inode{s.device, s.inode}]
	}
	at := w.known[name]
	sure := w.sure && s.changed < w.began && s.changed%int64(time.Second) != 0
	if at.entry == nil || at.first != first || !w.same(path, info.Mode(), s, at) {
		at.entry, err = w.read(name, path, first, info)
		if err != nil || at.entry == nil {
			return false, unlessGone(err)
		}
	} else {
		sure = sure || at.sure
	}
	if s.links > 1 && first == "" {
		w.firsts[inode{s.device, s.inode}] = name
	}
	at.moments++
	w.m.entries = append(w.m.entries, at.entry)
	w.now[at.path] = known{s, at.entry, sure}
	return true, nil
}

// unlessGone is err, or nil where it says that something isn't there any more.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// same says whether what is at a path now is what was there when it was known.
func (k *Keeper) same(path string, mode fs.FileMode, s stamp, at known) bool {
	if at.entry == nil || at.moments == 0 || at.stamp != s {
		return false
	}
	switch {
	case at.sure || at.first != "":
		return true
	case mode.IsRegular():
		return k.sameContent(path, k.file(at.content))
	case mode.Type() == fs.ModeSymlink:
		target, err := os.Readlink(path)
		return err == nil && target == at.target
	}
	return true
}

// read is what is at a path; nil: something that isn't kept.
func (k *Keeper) read(name, path, first string, info fs.FileInfo) (e *entry, err error) {
	e = &entry{path: name, mode: info.Mode(), modified: info.ModTime(), first: first}
	switch e.mode.Type() {
	case fs.ModeDir, fs.ModeNamedPipe:
	case fs.ModeSymlink:
		e.target, err = os.Readlink(path)
	case fs.ModeDevice | fs.ModeCharDevice:
		if !whiteout(info) {
			return nil, nil
		}
	case 0:
		if first != "" {
			return e, nil
		}
		k.files++
		e.content = k.files
		err = CopyFile(path, k.file(e.content))
	default:
		return nil, nil
	}
	if err == nil {
		e.uid, e.gid = owners(info)
		e.attributes, err = attributes(path)
	}
	if err != nil && e.content > 0 {
		_ = os.Remove(k.file(e.content))
	}
	return e, errors.Trace(err)
}

// file is the path of a content in the pool.
func (k *Keeper) file(content int) string { return filepath.Join(k.pool, strconv.Itoa(content)) }

// Forget drops a moment, with the content of files that no other one has. It can be restored no more.
func (k *Keeper) Forget(m *Moment) (err error) {
	for _, e := range m.entries {
		if e.moments--; e.moments > 0 || e.content == 0 {
			continue
		}
		if rerr := os.Remove(k.file(e.content)); err == nil {
			err = errors.Trace(rerr)
		}
	}
	m.entries = nil
	return err
}

// directories are those of a moment, each after what is in it.
func (m *Moment) directories() []*entry {
	dirs := slices.DeleteFunc(slices.Clone(m.entries), func(e *entry) bool { return !e.mode.IsDir() })
	slices.Reverse(dirs)
	return dirs
}
