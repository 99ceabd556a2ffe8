// Package durable does what is to outlive an agent: every file that the agents'
// packages make, write, rename or remove goes through a Disk, step by step.
//
//	journal, charmdir, history, debuglog, recording, machine ──▶ Disk ──▶ files
//	                                                              └──▶ Around, in tests
//
// In production a Disk is its zero value, and a step is nothing but the call of
// the operating system. A test gives one with Around: it is told of each step,
// and may end its process before, after or in the middle of it. So the list of
// moments at which an agent can be killed is made by the code itself; a test of
// the module's walls sees to it that no step goes past.
//
// A hook's commit and the start of a process are steps too: their packages say
// so by Disk.Do.
package durable

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/juju/errors"
)

// Verb says what a step does.
type Verb string

// The verbs. Other packages have their own for what they do by Disk.Do.
const (
	Create   Verb = "create" // a file that isn't there
	Write    Verb = "write"  // to a file, at its end or anywhere
	Sync     Verb = "sync"   // a file, a directory, or all below one
	Rename   Verb = "rename"
	Exchange Verb = "exchange" // two paths swap what they name
	Remove   Verb = "remove"   // a file or a whole tree
	Mkdir    Verb = "mkdir"
	Link     Verb = "link" // hard or symbolic
	Own      Verb = "own"  // owner and mode
	Over     Verb = "over" // a descriptor becomes that of a file
)

// Step is one thing that is done to what lasts.
type Step struct {
	Do   Verb
	Path string
}

// Disk does steps. The zero value does them straight away, and is what
// production has; a copy is the same disk. It is safe for use by many
// goroutines, if Around is.
type Disk struct {
	// Around, where it is set, is called for each step, which is not done but by
	// whole; half does it in part, as a machine does that stops in it: it is nil
	// for a step that can't be torn. What Around returns is the step's error.
	Around func(s Step, half, whole func() error) error
	// Beyond, where it is set, is asked to do what this process was refused for lack
	// of rights: what belongs to the subordinate ids of its user is out of its own
	// reach. The file is what an OpenFile opens.
	Beyond func(Call) (*os.File, error)
}

// Do does a step that can't be torn and that this package knows nothing of.
func (d Disk) Do(s Step, whole func() error) error { return d.step(s.Do, s.Path, nil, whole) }

func (d Disk) step(do Verb, path string, half, whole func() error) error {
	if d.Around == nil {
		return whole()
	}
	return d.Around(Step{do, path}, half, whole)
}

// Mkdir makes a directory, as os.Mkdir does.
func (d Disk) Mkdir(path string, perm fs.FileMode) error {
	return d.step(Mkdir, path, nil, func() error { return d.call(Call{Do: Mkdir, Path: path, Mode: perm}) })
}

// MkdirAll makes a directory and those above it, as os.MkdirAll does; it is no
// step where the directory is there.
func (d Disk) MkdirAll(path string, perm fs.FileMode) error {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil
	}
	return d.step(Mkdir, path, nil, func() error { return d.call(Call{Do: Mkdir, All: true, Path: path, Mode: perm}) })
}

// Rename is os.Rename.
func (d Disk) Rename(from, to string) error {
	return d.step(Rename, to, nil, func() error { return d.call(Call{Do: Rename, Path: from, To: to}) })
}

// Exchange swaps two paths in one step; false, and no error, where the file
// system can't.
func (d Disk) Exchange(a, b string) (done bool, err error) {
	err = d.step(Exchange, b, nil, func() (err error) {
		done, err = exchange(a, b)
		if d.Beyond == nil || !errors.Is(err, fs.ErrPermission) {
			return err
		}
		_, err = d.Beyond(Call{Do: Exchange, Path: a, To: b})
		done = err == nil
		return err
	})
	return done, err
}

// Remove is os.Remove.
func (d Disk) Remove(path string) error {
	return d.step(Remove, path, nil, func() error { return d.call(Call{Do: Remove, Path: path}) })
}

// RemoveAll is os.RemoveAll; it is no step where nothing is there.
func (d Disk) RemoveAll(path string) error {
	if _, err := os.Lstat(path); os.IsNotExist(err) {
		return nil
	}
	half := func() error {
		entries, err := os.ReadDir(path)
		for _, e := range entries[:(len(entries)+1)/2] {
			_ = os.RemoveAll(filepath.Join(path, e.Name()))
		}
		return err
	}
	return d.step(Remove, path, half, func() error { return d.call(Call{Do: Remove, All: true, Path: path}) })
}

// Link makes a hard link.
func (d Disk) Link(from, to string) error {
	return d.step(Link, to, nil, func() error { return d.call(Call{Do: Link, Path: from, To: to}) })
}

// Symlink makes a symbolic link.
func (d Disk) Symlink(target, path string) error {
	return d.step(Link, path, nil, func() error { return d.call(Call{Do: symlink, Path: target, To: path}) })
}

// Chmod is os.Chmod.
func (d Disk) Chmod(path string, mode fs.FileMode) error {
	return d.step(Own, path, nil, func() error { return d.call(Call{Do: chmod, Path: path, Mode: mode}) })
}

// Lchown is os.Lchown.
func (d Disk) Lchown(path string, uid, gid int) error {
	return d.step(Own, path, nil, func() error { return d.call(Call{Do: Own, Path: path, UID: uid, GID: gid}) })
}

// SyncDir makes durable which names a directory has.
func (d Disk) SyncDir(path string) error {
	return d.step(Sync, path, nil, func() error {
		f, err := os.Open(path)
		if err != nil {
			return errors.Trace(err)
		}
		defer f.Close()
		return errors.Trace(f.Sync())
	})
}

// SyncTree makes all that is below a directory durable.
func (d Disk) SyncTree(path string) error {
	return d.step(Sync, path, nil, func() error { return syncTree(path) })
}
