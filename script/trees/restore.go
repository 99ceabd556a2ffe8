package trees

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/durable"
)

// Restore makes the directory what it was at a moment; nobody may write to it meanwhile. What the moment doesn't have is
// removed. What is made is another file than the one that was there, as that may still be somebody's. After an error,
// that of the file system, the directory is neither the one nor the other, and can be restored again.
func (k *Keeper) Restore(m *Moment) error {
	wanted := make(map[string]*entry, len(m.entries))
	for _, e := range m.entries {
		wanted[e.path] = e
	}
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return errors.Trace(err)
	}
	if err := os.Chmod(k.dir, 0o700); err != nil {
		return errors.Trace(err)
	}
	stay, err := k.clear(wanted)
	if err != nil {
		return errors.Trace(err)
	}
	var made []*entry
	for _, e := range m.entries {
		if stay[e.path] {
			continue
		}
		if err := k.make(e); err != nil {
			return errors.Annotatef(err, "cannot restore %s", e.path)
		}
		if !e.mode.IsDir() {
			made = append(made, e)
		}
	}
	for _, e := range m.directories() { // whose times have changed with what is in them
		if k.unchanged(e) {
			continue
		}
		if err := e.finish(k.at(e)); err != nil {
			return errors.Annotatef(err, "cannot restore %s", e.path)
		}
		made = append(made, e)
	}
	return errors.Trace(k.look(made))
}

func (k *Keeper) at(e *entry) string { return filepath.Join(k.dir, e.path) }

// unchanged says whether what is at an entry's path is known to be it.
func (k *Keeper) unchanged(e *entry) bool {
	at := k.known[e.path]
	if at.entry != e {
		return false
	}
	info, err := os.Lstat(k.at(e))
	return err == nil && k.same(k.at(e), info.Mode(), stampOf(info), at)
}

// clear removes what isn't what is wanted. What stays is, but for what directories have beside what is in them.
func (k *Keeper) clear(wanted map[string]*entry) (stay map[string]bool, err error) {
	stay = make(map[string]bool, len(wanted))
	err = filepath.WalkDir(k.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == k.dir {
			return unlessGone(err)
		}
		e := wanted[path[len(k.dir)+1:]]
		switch {
		case e != nil && d.IsDir() && e.mode.IsDir():
			stay[e.path] = true
			return unlessGone(opened(path, d))
		case e != nil && !d.IsDir() && k.unchanged(e):
			stay[e.path] = true
			return nil
		}
		if err := charmdir.RemoveTree(durable.Disk{}, path); err != nil || !d.IsDir() {
			return err
		}
		return fs.SkipDir
	})
	return stay, err
}

// opened has this user read a directory and write to it, where only root could.
func opened(path string, d fs.DirEntry) error {
	if os.Geteuid() == 0 {
		return nil
	}
	info, err := d.Info()
	if err != nil || info.Mode().Perm()&0o700 == 0o700 {
		return err
	}
	return os.Chmod(path, info.Mode()|0o700)
}

// make makes what the entry is where nothing is. A directory is finished later.
func (k *Keeper) make(e *entry) (err error) {
	path := k.at(e)
	switch e.mode.Type() {
	case fs.ModeDir:
		return os.Mkdir(path, 0o700)
	case fs.ModeSymlink:
		if err := os.Symlink(e.target, path); err != nil {
			return err
		}
		return e.own(path)
	case fs.ModeDevice | fs.ModeCharDevice:
		if err := makeWhiteout(path); err != nil {
			return err
		}
		return e.own(path)
	case fs.ModeNamedPipe:
		err = unix.Mkfifo(path, 0o600)
	default:
		if e.first != "" {
			return os.Link(filepath.Join(k.dir, e.first), path)
		}
		err = CopyFile(k.file(e.content), path)
	}
	if err != nil {
		return err
	}
	return e.finish(path)
}

// finish gives a path the entry's owner, attributes, times and mode.
func (e *entry) finish(path string) error {
	if err := e.own(path); err != nil {
		return err
	}
	if err := os.Chtimes(path, e.modified, e.modified); err != nil {
		return err
	}
	return os.Chmod(path, e.mode)
}

// look notes what has been made, and waits until no change of it can be overlooked any more: for a tick.
func (k *Keeper) look(made []*entry) error {
	if k.known == nil {
		k.known = map[string]known{}
	}
	sure := exact(k.dir)
	var newest int64
	for _, e := range made {
		info, err := os.Lstat(k.at(e))
		if err != nil {
			return err
		}
		s := stampOf(info)
		its := !e.mode.IsRegular() || info.ModTime().Equal(e.modified) // nobody has written to it yet
		k.known[e.path] = known{s, e, sure && its && s.changed%int64(time.Second) != 0}
		newest = max(newest, s.changed)
	}
	for range 50 { // a clock that was set back isn't waited for
		if !sure || tick() > newest {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	for _, e := range made {
		at := k.known[e.path]
		at.sure = false
		k.known[e.path] = at
	}
	return nil
}
