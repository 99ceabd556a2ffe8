package oci

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// unpacks says whether this host can unpack layers.
const unpacks = true

// unpacker writes one layer. It holds the directories open that lead to where it
// writes; each step from one to the next is a name in a directory, which isn't a
// link.
type unpacker struct {
	form Form
	left limits
	buf  []byte
	// way begins with the layer's root.
	way []*directory
	// dirs are the directories that there are, with what they are to be in the end:
	// files in them change their times, and who isn't root couldn't write to some.
	// Nothing else of their headers is kept, which may be large.
	dirs    map[string]folderEnd
	skipped map[string]bool
	out     contents
}

// directory is an open one, once more as a file for what os.Root doesn't have:
// devices, attributes, and the times of links.
type directory struct {
	name string // in its parent
	root *os.Root
	file *os.File
}

func (d *directory) fd() int { return int(d.file.Fd()) }

func (d *directory) close() {
	d.file.Close()
	d.root.Close()
}

// unpack writes the layer that r has into a directory, which is empty. The errors of
// what a layer may not have are NotValid, or QuotaLimitExceeded.
func unpack(ctx context.Context, dir string, r io.Reader, form Form, most limits) (contents, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return contents{}, errors.Trace(err)
	}
	top, err := asDirectory("", root)
	if err != nil {
		return contents{}, errors.Trace(err)
	}
	u := &unpacker{form: form, left: most, buf: make([]byte, 256<<10), way: []*directory{top},
		dirs: map[string]folderEnd{"": {implied: true}}, skipped: map[string]bool{}}
	defer func() {
		for _, d := range u.way {
			d.close()
		}
	}()
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		switch {
		case err == io.EOF:
			return u.out, errors.Trace(u.finish())
		case errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF):
			return u.out, errors.NewNotValid(nil, "not a layer: "+oneLine(err))
		case err != nil:
			return u.out, errors.Trace(err)
		}
		if err := ctx.Err(); err != nil {
			return u.out, errors.Trace(err)
		}
		if err := u.entry(h, t); err != nil {
			return u.out, errors.Annotatef(err, "%s", visibleText(h.Name))
		}
	}
}

func asDirectory(name string, root *os.Root) (*directory, error) {
	f, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, errors.Trace(err)
	}
	return &directory{name: name, root: root, file: f}, nil
}

// entry writes one.
func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := cleanName(h.Name)
	if err != nil {
		return errors.Trace(err)
	}
	if err := u.pay(h.Size); err != nil {
		return errors.Trace(err)
	}
	if err := u.checkOwner(h); err != nil {
		return errors.Trace(err)
	}
	if name == "" {
		if h.Typeflag != tar.TypeDir {
			return errors.NewNotValid(nil, "the root isn't a directory")
		}
		return u.keep("", u.way[0], ".", h)
	}
	parent, base := path.Split(name)
	if strings.HasPrefix(base, whiteout) {
		return u.whiteout(strings.TrimSuffix(parent, "/"), base)
	}
	if h.Typeflag == tar.TypeChar || h.Typeflag == tar.TypeBlock {
		return u.skip(name)
	}
	in, err := u.enter(strings.TrimSuffix(parent, "/"), true)
	if err != nil {
		return errors.Trace(err)
	}
	if h.Typeflag == tar.TypeDir {
		return u.directory(in, name, base, h)
	}
	if err := u.makeWay(in, name, base); err != nil {
		return errors.Trace(err)
	}
	return u.file(in, name, base, h, content)
}

// cleanName is an entry's path without a slash at either end; empty is the root.
func cleanName(name string) (string, error) {
	clean := path.Clean("/" + name)[1:]
	parts := strings.Split(clean, "/")
	switch {
	case slices.Contains(strings.Split(name, "/"), ".."):
		return "", errors.NewNotValid(nil, "the path leads out")
	case len(clean) > maxPath || len(parts) > maxDepth:
		return "", errors.NewNotValid(nil, "the path is too long")
	case slices.ContainsFunc(parts[:len(parts)-1], func(p string) bool { return strings.HasPrefix(p, whiteout) }):
		return "", errors.NewNotValid(nil, "something is in what is removed")
	}
	return clean, nil
}

func (u *unpacker) pay(size int64) error {
	u.left.entries--
	u.left.bytes -= size
	u.out.Entries++
	u.out.Bytes += size
	switch {
	case u.left.entries < 0:
		return tooLarge("has more than %d files in a layer", u.out.Entries-1)
	case size < 0 || u.left.bytes < 0:
		return tooLarge("has more than %d bytes in a layer", u.out.Bytes-size)
	}
	return nil
}

// payName is for a name that is kept in memory until the end.
func (u *unpacker) payName(name string) error {
	if u.left.names -= len(name) + 100; u.left.names < 0 {
		return tooLarge("has more directories in a layer than fit into memory")
	}
	return nil
}

// checkOwner refuses ids that would mean others than they say: -1 is "as it is".
func (u *unpacker) checkOwner(h *tar.Header) error {
	const last = 1<<32 - 2
	if h.Uid < 0 || h.Uid > last || h.Gid < 0 || h.Gid > last {
		return errors.NewNotValid(nil, fmt.Sprintf("the owner %d:%d is no id", h.Uid, h.Gid))
	}
	return nil
}

// enter is a directory of the layer, open until another is entered that isn't in it.
// One that isn't there is made, if that is wanted.
func (u *unpacker) enter(dir string, make bool) (*directory, error) {
	var parts []string
	if dir != "" {
		parts = strings.Split(dir, "/")
	}
	same := 0
	for same < len(parts) && same+1 < len(u.way) && u.way[same+1].name == parts[same] {
		same++
	}
	for _, d := range u.way[same+1:] {
		d.close()
	}
	u.way = u.way[:same+1]
	for i := same; i < len(parts); i++ {
		in := u.way[i]
		at := strings.Join(parts[:i+1], "/")
		if err := u.step(in, parts[i], at, make); err != nil {
			return nil, errors.Trace(err)
		}
		root, err := in.root.OpenRoot(parts[i])
		if err != nil {
			return nil, errors.Trace(err)
		}
		next, err := asDirectory(parts[i], root)
		if err != nil {
			return nil, errors.Trace(err)
		}
		u.way = append(u.way, next)
	}
	return u.way[len(u.way)-1], nil
}

// step sees to it that a name in a directory is a directory. Nobody else writes
// here: what it sees stays.
func (u *unpacker) step(in *directory, name, at string, make bool) error {
	st, err := in.root.Lstat(name)
	switch {
	case err == nil && st.IsDir():
		return nil
	case err == nil && isWhiteout(st), os.IsNotExist(err):
		if !make {
			return errors.NewNotFound(nil, visibleText(at)+" isn't in the layer")
		}
		if err := u.pay(0); err != nil {
			return errors.Trace(err)
		}
		if err := u.payName(at); err != nil {
			return errors.Trace(err)
		}
		u.dirs[at] = folderEnd{implied: true}
		return u.mkdir(in, name, st)
	case err != nil:
		return errors.Trace(err)
	}
	return errors.NewNotValid(nil, visibleText(at)+" is in the way, which isn't a directory")
}

// mkdir makes a directory, in the place of what removes the one below: then it
// hides that.
func (u *unpacker) mkdir(in *directory, name string, was fs.FileInfo) error {
	if was != nil {
		if err := in.root.Remove(name); err != nil {
			return errors.Trace(err)
		}
	}
	if err := in.root.Mkdir(name, 0o700); err != nil {
		return errors.Trace(err)
	}
	if was == nil {
		return nil
	}
	return u.hide(in, name)
}

// hide makes a directory opaque.
func (u *unpacker) hide(in *directory, name string) error {
	f, err := in.root.Open(name)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	return u.setOpaque(f)
}

func (u *unpacker) setOpaque(f *os.File) error {
	err := unix.Fsetxattr(int(f.Fd()), u.form.opaque(), []byte("y"), 0)
	return errors.Annotatef(err, "the cache's file system can't have the attribute %s", u.form.opaque())
}

// directory makes one, or gives one that is there what it is to have.
func (u *unpacker) directory(in *directory, name, base string, h *tar.Header) error {
	st, err := in.root.Lstat(base)
	switch {
	case err == nil && st.IsDir():
	case err == nil && isWhiteout(st):
		err = u.mkdir(in, base, st)
	case err == nil:
		if err = in.root.Remove(base); err == nil {
			err = in.root.Mkdir(base, 0o700)
		}
	case os.IsNotExist(err):
		err = in.root.Mkdir(base, 0o700)
	}
	if err != nil {
		return errors.Trace(err)
	}
	return u.keep(name, in, base, h)
}

// folderEnd is what a directory is to have in the end.
type folderEnd struct {
	implied  bool
	uid, gid int
	mode     int64
	modified time.Time
}

// keep remembers that for a directory, which is that of a name in another, and gives
// it its attributes.
func (u *unpacker) keep(name string, in *directory, base string, h *tar.Header) error {
	if err := u.payName(name); err != nil {
		return errors.Trace(err)
	}
	u.dirs[name] = folderEnd{uid: h.Uid, gid: h.Gid, mode: h.Mode, modified: h.ModTime}
	if !hasXattrs(h) {
		return nil
	}
	f, err := in.root.Open(base)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	return u.attributes(f, h)
}

// makeWay removes what has an entry's name: a later one replaces a former one.
func (u *unpacker) makeWay(in *directory, name, base string) error {
	st, err := in.root.Lstat(base)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	if st.IsDir() {
		delete(u.dirs, name)
	}
	if err := in.root.Remove(base); err != nil {
		return errors.NewNotValid(nil, "it would replace a directory that isn't empty")
	}
	return nil
}

// finish gives directories their owners, modes and times, those in others first.
func (u *unpacker) finish() error {
	names := slices.SortedFunc(maps.Keys(u.dirs), func(a, b string) int {
		return slices.Compare(strings.Split(b, "/"), strings.Split(a, "/"))
	})
	for _, name := range names {
		end := u.dirs[name]
		h := &tar.Header{Typeflag: tar.TypeDir, Uid: end.uid, Gid: end.gid, Mode: end.mode, ModTime: end.modified}
		if end.implied {
			h.Mode, h.ModTime = 0o755, time.Unix(0, 0)
			u.out.Implied = append(u.out.Implied, name)
		}
		d, err := u.enter(name, false)
		if err != nil {
			return errors.Trace(err)
		}
		if err := u.own(d.file, d.fd(), ".", h); err != nil {
			return errors.Annotatef(err, "%s", visibleText(name))
		}
	}
	slices.Sort(u.out.Implied)
	return nil
}
