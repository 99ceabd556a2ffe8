package tools

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// Own makes the directories of hook tools that units have for themselves. What all of
// them have in common it has once: a host may have thousands of units.
type Own struct {
	client string
	files  []own // as a directory has them that isn't made yet
	links  Links
}

// NewOwn has the tools of each unit lead to a copy of the client in the unit's directory
// itself, so a hook that writes through one of them harms its own unit, until the next
// Mend. outside is the directory of the programs of Outside; empty: the client stands
// for them, too.
//
// It is a copy, as a hard link would be the same file. It shares its blocks with
// the client where the file system can do that. Where it can't, a unit takes 10 KB
// of the client in C, or 1.4 MB of the one in Go, which is less than the libraries
// of most charms. Only if the client is this very program, of more than 30 MB, do
// the tools lead to that: it runs, and so Linux has nobody write to it.
func NewOwn(client, outside string) *Own {
	o := &Own{client: client}
	if !isThis(client) {
		o.client = filepath.Base(client)
		o.files = append(o.files, own{name: o.client, from: client})
	}
	first := Outside()[0]
	lead := o.client
	if outside != "" {
		lead = first
		o.files = append(o.files, own{name: first, text: caller(outside)})
	}
	o.links = LinksTo(o.client).And(func(string) string { return lead })
	if outside != "" {
		delete(o.links, first)
	}
	return o
}

// Dir is the directory of one unit, at path, which Mend makes.
func (o *Own) Dir(path string) *Dir {
	return &Dir{path: path, client: o.client, own: slices.Clone(o.files), links: o.links}
}

// Client is where the tools of a directory lead that Own has made.
func (d *Dir) Client() string { return d.client }

// isThis says whether a program is the one that runs.
func isThis(program string) bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	a, err := os.Stat(self)
	if err != nil {
		return false
	}
	b, err := os.Stat(program)
	return err == nil && os.SameFile(a, b)
}

// caller is a script that becomes the program of its own name in a directory: in
// the place of a link to it, whose target hooks could write to.
func caller(dir string) string {
	return "#!/bin/sh\nexec '" + strings.ReplaceAll(dir, "'", `'\''`) + "/'\"${0##*/}\" \"$@\"\n"
}

// own is a file that a directory of hook tools has to itself.
type own struct {
	name string
	from string // what it is a copy of; empty: it has the text
	text string
	// known is the file as it was when it was last found right, and had been for long
	// enough to be known by its times; see settled.
	known seen
	// made: it was right once, so that who changes it damages it. Before, it may be of
	// an agent that had another client.
	made bool
}

// seen is what one look at a file shows that changes with it; the zero value is
// no file's.
type seen struct {
	dev, ino         uint64
	size             int64
	mode             uint32
	changed, written unix.Timespec
}

// ownMode is that of a program that is a unit's own.
const ownMode = 0o755

// look looks at a file.
func look(path string) (seen, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	return seen{uint64(st.Dev), uint64(st.Ino), st.Size, uint32(st.Mode), st.Ctim, st.Mtim}, err
}

// untouched says whether nothing has changed since it was found right.
func (f *own) untouched(dir string) bool {
	now, err := look(filepath.Join(dir, f.name))
	return err == nil && f.known == now
}

// mend makes the file what it is to be, in one step, as programs may run from it.
// at is the look at the directory. damaged: it was right before.
func (f *own) mend(dir string, at sight) (damaged bool, err error) {
	if f.untouched(dir) {
		return false, nil
	}
	path := filepath.Join(dir, f.name)
	now, err := look(path)
	if err != nil || !f.right(path, now) {
		damaged = f.made
		if err := f.write(path, at); err != nil {
			return damaged, errors.Trace(err)
		}
		if now, err = look(path); err != nil {
			return damaged, errors.Trace(err)
		}
	}
	f.made, f.known = true, seen{}
	if at.fresh || settled(time.Unix(now.changed.Unix()), at.began) {
		f.known = now
	}
	return damaged, nil
}

// right says whether the file at path, which is seen as now, has what it is to
// have.
func (f *own) right(path string, now seen) bool {
	if now.mode != unix.S_IFREG|ownMode {
		return false
	}
	want := []byte(f.text)
	if f.from != "" {
		var err error
		if want, err = clients.read(f.from); err != nil {
			return false
		}
	}
	if now.size != int64(len(want)) {
		return false
	}
	has, err := os.ReadFile(path)
	return err == nil && bytes.Equal(has, want)
}

// clients has the program that all units have copies of, as it was read last.
var clients contents

// contents remembers a file.
type contents struct {
	mu   sync.Mutex
	path string
	was  seen
	has  []byte
}

// read is os.ReadFile of a file that is most often the one that was read last.
func (c *contents) read(path string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := time.Now()
	now, err := look(path)
	if err != nil {
		return nil, err
	}
	if path == c.path && now == c.was {
		return c.has, nil
	}
	has, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if c.path = ""; settled(time.Unix(now.changed.Unix()), began) {
		c.path, c.was, c.has = path, now, has
	}
	return has, nil
}

// write makes the file anew: in its place where the directory is new, as nobody can run it
// yet.
func (f *own) write(path string, at sight) error {
	temporary := path + ".new"
	if at.fresh {
		temporary = path
	} else if err := os.RemoveAll(temporary); err != nil {
		return errors.Trace(err)
	}
	if err := f.fill(temporary); err != nil {
		return errors.Trace(err)
	}
	if at.fresh {
		return errors.Trace(os.Chtimes(path, time.Time{}, at.unlike()))
	}
	return errors.Trace(replace(temporary, path))
}

// fill makes a program at path. No process may be started meanwhile: for a moment
// it would have the file open, and the kernel runs nothing that is being written.
func (f *own) fill(path string) error {
	var in io.Reader = strings.NewReader(f.text)
	if f.from != "" {
		file, err := os.Open(f.from)
		if err != nil {
			return errors.Trace(err)
		}
		defer file.Close()
		in = file
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, ownMode)
	if err != nil {
		return errors.Trace(err)
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(ownMode)
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return errors.Trace(err)
}
