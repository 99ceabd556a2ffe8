package tools

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/juju/errors"
)

// Links are the links that a directory of hook tools has: what each name leads to.
type Links map[string]string

// LinksTo are those of all hook tools to the client's program.
func LinksTo(client string) Links {
	to := Links{}
	for _, t := range Table() {
		to[t.Name] = client
	}
	return to
}

// And are the links with those of Outside too, each to what program says.
func (l Links) And(program func(name string) string) Links {
	out := maps.Clone(l)
	for _, name := range Outside() {
		out[name] = program(name)
	}
	return out
}

// Dir is a directory of hook tools. It is for one goroutine.
type Dir struct {
	path   string
	links  Links // not to be written to: other directories have the same
	own    []own
	client string
	// known is the directory as it was when all of it was last found right; nil:
	// it may be anything.
	known os.FileInfo
	made  bool // by Mend
}

// NewDir is the directory at path, which Mend makes.
func NewDir(path string, links Links) *Dir { return &Dir{path: path, links: links} }

// Path is where it is.
func (d *Dir) Path() string { return d.path }

// settled says whether a directory or a file, which has a time, has been as it was
// at another one for long enough to be known by its time: the times of file systems
// go by steps, of up to two seconds on some, and a change within the same one doesn't
// show. Where a time isn't of whole seconds its steps are of a tick of the kernel.
func settled(since, at time.Time) bool {
	step := 2 * time.Second
	if since.Nanosecond() != 0 {
		step = 20 * time.Millisecond
	}
	return at.Sub(since) > step
}

// Mend makes the directory what it is to be. Where nothing has touched it since
// the last time that is one look at it, and at each file of its own; else all of
// the links are looked at, and what isn't right is replaced. mended are the
// names, in order, that were gone, no links, or changed files, where there had been
// a directory of tools before: somebody has damaged it.
func (d *Dir) Mend() (mended []string, err error) {
	began := time.Now()
	now, err := os.Lstat(d.path)
	if err == nil && same(d.known, now) && !slices.ContainsFunc(d.own, func(f own) bool { return !f.untouched(d.path) }) {
		return nil, nil
	}
	d.known = nil
	look := sight{began: began, fresh: os.IsNotExist(err) && !d.made}
	if err := d.makePath(now); err != nil {
		return nil, errors.Annotate(err, "cannot make the directory of the hook tools")
	}
	if mended, err = d.makeAll(look); err != nil {
		return nil, errors.Trace(err)
	}
	if look.fresh {
		err = os.Chtimes(d.path, time.Time{}, look.unlike())
	}
	if err == nil {
		now, err = os.Lstat(d.path)
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot look at the hook tools")
	}
	if look.fresh || settled(now.ModTime(), began) {
		d.known = now
	}
	if look.fresh || !d.made && len(mended) == len(d.links) {
		mended = nil // it is new
	}
	d.made = true
	return mended, nil
}

// sight is one look at the directory by Mend.
type sight struct {
	began time.Time
	// fresh: nothing was there ever, so no hook can have touched what is made now.
	fresh bool
}

// unlike is a time of change that nothing gets that is changed from now on: what has it
// is known by it at once, where it would have to settle else.
func (s sight) unlike() time.Time { return s.began.Add(-time.Hour) }

// makeAll makes the files, and then what leads to them.
func (d *Dir) makeAll(look sight) (wrong []string, err error) {
	for i := range d.own {
		f := &d.own[i]
		damaged, err := f.mend(d.path, look)
		if err != nil {
			return nil, errors.Annotatef(err, "cannot give the unit its own %s", f.name)
		}
		if damaged {
			wrong = append(wrong, f.name)
		}
	}
	links, err := d.linkAll(look.fresh)
	wrong = append(wrong, links...)
	slices.Sort(wrong)
	return wrong, errors.Trace(err)
}

// makePath makes the directory, in the place of whatever is there; now is what
// was found, nil if nothing.
func (d *Dir) makePath(now os.FileInfo) error {
	if now != nil && !now.IsDir() {
		if err := os.Remove(d.path); err != nil {
			return errors.Trace(err)
		}
	}
	if err := os.MkdirAll(d.path, dirMode); err != nil {
		return errors.Trace(err)
	}
	if now == nil || !now.IsDir() || now.Mode().Perm() != dirMode {
		return errors.Trace(os.Chmod(d.path, dirMode))
	}
	return nil
}

// dirMode lets the processes of other users find the tools, who only get as far
// as the directories above allow.
const dirMode fs.FileMode = 0o755

// linkAll makes all links, and says which of them were gone or none. Links that lead
// to the same are names of one file of the directory, where the system can: making a
// file is what costs most in it, and what a link leads to can't be changed in place.
// fresh: there are none yet.
func (d *Dir) linkAll(fresh bool) (wrong []string, err error) {
	first := map[string]string{} // a link that is right, by what it leads to
	for _, name := range slices.Sorted(maps.Keys(d.links)) {
		path, to := filepath.Join(d.path, name), d.links[name]
		now, err := "", error(fs.ErrNotExist)
		if !fresh {
			now, err = os.Readlink(path)
		}
		if err != nil {
			wrong = append(wrong, name)
		}
		if err != nil || now != to {
			if err := link(path, to, first[to]); err != nil {
				return nil, errors.Annotatef(err, "cannot link hook tool %q", name)
			}
		}
		if first[to] == "" {
			first[to] = path
		}
	}
	return wrong, nil
}

// same says whether a directory is as it was, as far as one look shows it.
func same(was, now os.FileInfo) bool {
	return was != nil && os.SameFile(was, now) && was.ModTime().Equal(now.ModTime()) && was.Mode() == now.Mode()
}

// link makes a link where there may be something else; like is one to the same target,
// empty where there is none yet.
func link(name, target, like string) error {
	err := makeLink(target, name, like)
	if !os.IsExist(err) {
		return errors.Trace(err)
	}
	temporary := name + ".new"
	if err := os.RemoveAll(temporary); err != nil {
		return errors.Trace(err)
	}
	if err := makeLink(target, temporary, like); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(replace(temporary, name))
}

// makeLink makes a link where nothing is.
func makeLink(target, name, like string) error {
	// Elsewhere another name of a link may be one of what it leads to.
	if like != "" && runtime.GOOS == "linux" {
		if err := os.Link(like, name); err == nil || os.IsExist(err) {
			return err
		}
	}
	return os.Symlink(target, name)
}

// replace renames what has a temporary name, whatever has the name.
func replace(temporary, name string) error {
	if err := os.Rename(temporary, name); err == nil {
		return nil
	}
	if err := os.RemoveAll(name); err != nil { // a directory
		return errors.Trace(err)
	}
	return errors.Trace(os.Rename(temporary, name))
}
