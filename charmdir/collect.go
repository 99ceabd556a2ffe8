package charmdir

import (
	"os"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// need notes, in the unit's directory, which tree of a Store the unit's charm is made
// from; empty: none. It goes with the directory, so that nothing of a unit that is
// gone needs a tree. A kill may leave a note of the tree that was to be next, or half
// of one, which needs nothing: that costs the bytes that later units could have shared.
func (d *Deployer) need(digest string) error {
	path := d.path(treeName)
	if digest != "" {
		return d.step("note the tree", func() error { return d.disk.WriteFile(path, []byte(digest), 0o600) })
	}
	if _, err := os.Lstat(path); os.IsNotExist(err) {
		return nil
	}
	return d.step("forget the tree", func() error { return d.disk.Remove(path) })
}

// Needed is the digest of the tree that the charm is made from of the unit whose
// directory that is; empty: it needs none.
func Needed(dir string) string {
	b, err := durable.ReadRegular(dir, treeName, 64)
	if err != nil || !digests.MatchString(string(b)) {
		return ""
	}
	return string(b)
}

// Ask has the next Collect look: a unit is gone, and may have needed a tree alone.
func (s *Store) Ask() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = true
}

// Collect removes what no unit and no deployment in progress needs. needed is asked
// for the digests that units need, once, and only if something may have to go since
// the last time. Nothing is removed where it fails.
func (s *Store) Collect(needed func() (map[string]bool, error)) error {
	if s == nil || !s.takeAsked() {
		return nil
	}
	entries, err := os.ReadDir(s.dir)
	if os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return nil
	}
	var there map[string]bool
	if err == nil {
		there, err = needed()
	}
	if err != nil {
		s.Ask()
		return errors.Annotate(err, "cannot tell which unpacked charms units need")
	}
	for _, e := range entries {
		if there[e.Name()] {
			continue
		}
		path, free, err := s.take(e.Name())
		if err == nil && free {
			err = s.remove(path)
		}
		if err != nil {
			s.Ask()
			return errors.Annotate(err, "cannot remove an unpacked charm that no unit has")
		}
	}
	return nil
}

func (s *Store) takeAsked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked, s.recent = false, map[string]bool{}
	return asked
}

// take sets something aside, unless a deployment needs it, or has since Collect was told
// who needs what: then it is not free, and looked at again once that is over.
func (s *Store) take(name string) (path string, free bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	digest, _, more := strings.Cut(name, ".")
	if s.held[digest] != nil || s.recent[digest] {
		return "", false, nil
	}
	path = s.path(name)
	if more || !digests.MatchString(digest) {
		return path, true, nil // what a killed agent has left
	}
	err = s.step("set aside "+name, func() error {
		path, err = SetAside(s.disk, path)
		return err
	})
	return path, path != "", errors.Trace(err)
}
