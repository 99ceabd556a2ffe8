package bases

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Remove takes a base away in all its versions. Machines that run on it must not: that is
// the caller's matter. The error is NotFound where there is none.
func (s Store) Remove(name string) error {
	if _, err := model.ParseBase(name); err != nil {
		return errors.Trace(err)
	}
	unlock, err := s.lock()
	if err != nil {
		return errors.Trace(err)
	}
	defer unlock()
	if _, err := os.Lstat(filepath.Join(s.Dir, name)); os.IsNotExist(err) {
		return errors.NewNotFound(nil, fmt.Sprintf("there is no base %s on this host", name))
	}
	all, err := s.Versions(name)
	if err != nil {
		return errors.Trace(err)
	}
	for _, b := range all {
		free, err := hold(b.Root)
		if err != nil {
			return errors.Trace(err)
		}
		if free == nil {
			return errors.Errorf("base %s is used by a running machine", name)
		}
		defer free()
	}
	return errors.Annotatef(s.away(filepath.Join(s.Dir, name), name), "cannot remove base %s", name)
}

// Prune removes the versions of bases that are neither the newest nor used, and says which:
// used says whether something is on a root. A machine that runs on one keeps it in any case.
func (s Store) Prune(used func(root string) bool) ([]Base, error) {
	if _, err := os.Lstat(s.Dir); os.IsNotExist(err) {
		return nil, nil
	}
	unlock, err := s.lock()
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer unlock()
	names, err := s.names()
	if err != nil {
		return nil, errors.Trace(err)
	}
	var gone []Base
	for _, name := range names {
		all, err := s.Versions(name)
		if err != nil {
			return gone, errors.Trace(err)
		}
		for i, b := range all {
			if i == len(all)-1 || used(b.Root) {
				continue
			}
			went, err := s.drop(b)
			if err != nil {
				return gone, errors.Annotatef(err, "cannot remove version %d of base %s", b.Version, b.Name)
			}
			if went {
				gone = append(gone, b)
			}
		}
	}
	return gone, nil
}

// drop removes a version that is not the newest, unless a machine runs on it.
func (s Store) drop(b Base) (bool, error) {
	free, err := hold(b.Root)
	if free == nil || err != nil {
		return false, errors.Trace(err)
	}
	defer free()
	dir := s.place(b.Name, b.Version)
	if b.Version > 0 {
		return true, errors.Trace(s.away(dir, b.Name))
	}
	// Its directory has the others, too.
	if err := s.awayInto(b.Root, b.Name, rootName); err != nil {
		return false, errors.Trace(err)
	}
	err = os.Remove(filepath.Join(dir, recordName))
	if os.IsNotExist(err) {
		err = nil
	}
	return true, errors.Trace(err)
}

// away removes a directory, which is gone at once.
func (s Store) away(dir, name string) error {
	return errors.Trace(s.awayInto(dir, name, ""))
}

// awayInto is away by way of a place within the directory of what is being made or removed,
// where a root isn't taken for that directory itself.
func (s Store) awayInto(dir, name, place string) error {
	gone := filepath.Join(s.Dir, newPrefix+name)
	if place != "" {
		if err := os.Mkdir(gone, 0o755); err != nil && !os.IsExist(err) {
			return errors.Trace(err)
		}
	}
	if err := os.Rename(dir, filepath.Join(gone, place)); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.RemoveAll(gone))
}

// hold keeps machines off a root until free is called; nil: one is on it, as package
// isolate says by a lock.
func hold(root string) (free func(), err error) {
	f, err := os.Open(root)
	if os.IsNotExist(err) {
		return func() {}, nil
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		f.Close()
		if err == syscall.EWOULDBLOCK {
			return nil, nil
		}
		return nil, errors.Trace(err)
	}
	return func() { f.Close() }, nil
}
