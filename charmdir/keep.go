package charmdir

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// Kept is a hook's file, or directory, that has given way to one of the charm's.
type Kept struct {
	Name string `json:"name"` // where it was, below the charm directory
	As   string `json:"as"`   // where it is now
}

// keep brings what hooks have made over from the old tree to the staged one,
// whose files are charmFiles, sorted. It returns what had to give way.
func (d *Deployer) keep(charmFiles []string) ([]Kept, error) {
	if _, err := os.Lstat(d.Path()); os.IsNotExist(err) {
		return nil, nil
	}
	old, err := d.marker()
	if err != nil {
		return nil, errors.Trace(err)
	}
	k := &keeper{deployer: d, charms: old.Files}
	if old.URL == "" {
		// It can't be told who made what. What the new charm has was the old
		// one's too, most likely; all else might be a hook's, and stays.
		k.charms = charmFiles
	}
	err = k.dir(d.Path(), d.path(stagingName), "")
	return k.gaveWay, errors.Trace(err)
}

// keeper copies what isn't the old charm's.
type keeper struct {
	deployer *Deployer
	charms   []string // the old charm's files, sorted
	gaveWay  []Kept
}

// note notes that a hook's had to give way, to a path beside it.
func (k *keeper) note(name, to string) {
	k.gaveWay = append(k.gaveWay, Kept{Name: name, As: path.Join(path.Dir(name), filepath.Base(to))})
}

// dir keeps what hooks have made below a directory. The directory itself comes
// along if there is anything of theirs in it, or nothing at all.
func (k *keeper) dir(from, to, name string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return errors.Trace(err)
	}
	st, err := os.Lstat(to)
	fresh := err != nil || !st.IsDir()
	if err == nil && fresh { // the new charm has a file of that name
		if len(entries) == 0 {
			return nil
		}
		to = beside(to)
		defer func() {
			if _, err := os.Lstat(to); err == nil { // there was something of a hook's in it
				k.note(name, to)
			}
		}()
	}
	if len(entries) == 0 && fresh {
		if err := k.deployer.step("keep "+name, func() error { return k.deployer.disk.MkdirAll(to, 0o755) }); err != nil {
			return errors.Trace(err)
		}
	}
	for _, e := range entries {
		if err := k.entry(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), path.Join(name, e.Name()), e); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(to); err != nil || !fresh {
		return nil // there was nothing of a hook's; or the charm's directory
	}
	return k.deployer.step("keep "+name, func() error { return likeDir(k.deployer.disk, from, to) })
}

func (k *keeper) entry(from, to, name string, e fs.DirEntry) error {
	if name == markerName {
		return nil
	}
	if e.IsDir() {
		return k.entryDir(from, to, name)
	}
	if _, charms := slices.BinarySearch(k.charms, name); charms {
		return nil
	}
	if _, err := os.Lstat(to); err == nil {
		to = beside(to)
		k.note(name, to)
	}
	return k.deployer.step("keep "+name, func() error { return keepFile(k.deployer.disk, from, to, e) })
}

// entryDir is dir for an entry of one: what runs in a unit's machine can put a link there
// meanwhile, which leads elsewhere.
func (k *keeper) entryDir(from, to, name string) error {
	entered, leave, err := k.deployer.disk.Enter(filepath.Dir(from), 0, filepath.Base(from))
	if err != nil {
		return errors.Trace(err)
	}
	defer leave()
	return k.dir(entered, to, name)
}

// beside is a path beside one that the new charm has, for a hook's of the same
// name.
func beside(path string) string {
	for {
		path += ".kept"
		if _, err := os.Lstat(path); err != nil {
			return path
		}
	}
}

func keepFile(disk durable.Disk, from, to string, e fs.DirEntry) error {
	if err := disk.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return errors.Trace(err)
	}
	switch e.Type() {
	case 0:
		return errors.Trace(disk.Link(from, to))
	case fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return errors.Trace(err)
		}
		return errors.Trace(disk.Symlink(target, to))
	}
	return nil // a socket or the like: whoever serves it makes it again
}

// likeDir gives a directory the mode and the owner of another: what a hook has
// hidden from other users stays hidden.
func likeDir(disk durable.Disk, from, to string) error {
	st, err := os.Lstat(from)
	if err != nil {
		return errors.Trace(err)
	}
	if own, ok := st.Sys().(*syscall.Stat_t); ok {
		if err := disk.Lchown(to, int(own.Uid), int(own.Gid)); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(disk.Chmod(to, st.Mode()))
}
