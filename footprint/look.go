package footprint

import (
	"io"
	"os"
	"path"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// Root is a directory whose files are looked at.
type Root struct {
	// Dir is where it is, and As what the paths of its files begin with: "/etc", or "" for
	// paths that are relative to it.
	Dir, As string
	// Skip says of a path, which is told with As, that it is left out, with all below it;
	// nil: nothing is.
	Skip func(path string) bool
}

// Limits bound a Look; 0: there is no limit.
type Limits struct {
	Files int
	Time  time.Duration
}

// maxDepth bounds how deep directories are followed: each takes a file descriptor meanwhile.
const maxDepth = 48

// File is what the kernel says of a file that isn't a directory.
type File struct {
	Size  int64
	Mode  uint32 // as the kernel has it
	Inode uint64
	Owner uint32
	Group uint32
	// Modified is when its content was changed, Changed when anything of it was: in ns of
	// Unix time, by the kernel's coarse clock.
	Modified, Changed int64
	device            bool // one without a number
}

// Removed says whether it stands for a file of the layer below that was removed.
func (f File) Removed() bool { return f.device }

// regular says whether it has content.
func (f File) regular() bool { return f.Mode&unix.S_IFMT == unix.S_IFREG }

// same says whether nothing of the file has changed. When it was changed doesn't count: that
// moves when others link to it.
func (f File) same(g File) bool {
	f.Changed, g.Changed = 0, 0
	return f == g
}

// Sight is what there is of files at one time, by their paths.
type Sight struct {
	Files map[string]File
	// dirs has when each directory was changed.
	dirs map[string]int64
	// Unread are directories that couldn't be read, or what else couldn't be looked at.
	Unread []string
	// Over says that there is more than the limits let be seen.
	Over bool
}

// Look looks at the files of directories. One that isn't there has none.
func Look(roots []Root, limits Limits) *Sight {
	l := &looker{sight: &Sight{Files: map[string]File{}, dirs: map[string]int64{}}, left: limits.Files, limited: limits.Files > 0}
	if limits.Time > 0 {
		l.until = time.Now().Add(limits.Time)
	}
	for _, r := range roots {
		l.root(r)
	}
	return l.sight
}

type looker struct {
	sight   *Sight
	skip    func(string) bool
	left    int // how many more files may be seen, if that is limited
	limited bool
	until   time.Time // zero: there is no limit
}

// directory is how a directory is opened: never by a link.
const directory = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func (l *looker) root(r Root) {
	at := r.As
	if at == "" {
		at = "."
	}
	fd, err := unix.Open(r.Dir, directory, 0)
	if err != nil {
		l.unread(at, err)
		return
	}
	l.skip = r.Skip
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil {
		l.sight.dirs[at] = st.Ctim.Nano()
	}
	l.walk(fd, at, r.As, 1)
}

// unread notes that a directory can't be read, unless it isn't there, or is no directory any
// more.
func (l *looker) unread(at string, err error) {
	if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
		l.sight.Unread = append(l.sight.Unread, at)
	}
}

// walk sees what is in a directory, whose descriptor it closes. at is its path, prefix what
// the paths of its files begin with.
func (l *looker) walk(fd int, at, prefix string, depth int) {
	dir := os.NewFile(uintptr(fd), at)
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(512)
		for _, name := range names {
			if l.over() {
				return
			}
			l.see(fd, name, path.Join(prefix, name), depth)
		}
		if err != nil && err != io.EOF {
			l.unread(at, err)
			return
		}
		if err == io.EOF || len(names) == 0 {
			return
		}
	}
}

// over says whether the limits are reached.
func (l *looker) over() bool {
	if l.limited {
		if l.left--; l.left < 0 {
			l.sight.Over = true
		}
	}
	if !l.until.IsZero() && len(l.sight.Files)%256 == 255 && time.Now().After(l.until) {
		l.sight.Over = true
	}
	return l.sight.Over
}

// see sees one name of a directory.
func (l *looker) see(fd int, name, at string, depth int) {
	if l.skip != nil && l.skip(at) {
		return
	}
	var st unix.Stat_t
	if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		l.unread(at, err)
		return
	}
	kind := uint32(st.Mode) & unix.S_IFMT
	if kind != unix.S_IFDIR {
		l.sight.Files[at] = File{
			Size: st.Size, Mode: uint32(st.Mode), Inode: st.Ino, Owner: st.Uid, Group: st.Gid,
			Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano(), device: kind == unix.S_IFCHR && st.Rdev == 0,
		}
		return
	}
	l.sight.dirs[at] = st.Ctim.Nano()
	if uint32(st.Mode)&0o777 == 0 && os.Geteuid() != 0 {
		return // nobody's, as overlays have them for themselves
	}
	if depth == maxDepth {
		l.sight.Unread = append(l.sight.Unread, at)
		return
	}
	below, err := unix.Openat(fd, name, directory, 0)
	if err != nil {
		l.unread(at, err)
		return
	}
	l.walk(below, at, at, depth+1)
}
