// Package bases keeps the systems that machines with systemd are on: each is a directory
// with a root, by the name of a base, "debian@12", made once and shared by all units on it.
//
// A base is made in a directory of its own and put in its place whole, so one that is there
// is complete. One command at a time makes or removes bases; what a killed one has left goes
// with the next.
package bases

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Store has the bases of a host.
type Store struct {
	// Dir has a directory for each. It needn't be there.
	Dir string
}

// Of is the store of the agent whose directory is dir.
func Of(dir string) Store { return Store{Dir: filepath.Join(dir, "bases")} }

// Base is what people are told of one.
type Base struct {
	// Name is that of a model.Base, Root its directory.
	Name string `json:"name" yaml:"name"`
	Root string `json:"root" yaml:"root"`
	// Source says where it is from, Made when it was made, in RFC 3339.
	Source string `json:"source" yaml:"source"`
	Made   string `json:"made" yaml:"made"`
}

// The parts of a base's directory, and the beginning of one that is being made.
const (
	rootName   = "root"
	recordName = "base.json"
	newPrefix  = ".new-"
)

// List are all that there are, by name.
func (s Store) List() ([]Base, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, errors.Trace(err)
	}
	all := []Base{}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), newPrefix) {
			continue
		}
		b, err := s.Find(e.Name())
		if err != nil {
			return nil, errors.Trace(err)
		}
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b Base) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Find is the base of that name. The error is NotFound, with what to do, where there is
// none; NotValid for what is no name of a base.
func (s Store) Find(name string) (Base, error) {
	if _, err := model.ParseBase(name); err != nil {
		return Base{}, errors.Trace(err)
	}
	dir := filepath.Join(s.Dir, name)
	text, err := os.ReadFile(filepath.Join(dir, recordName))
	if os.IsNotExist(err) {
		return Base{}, errors.NewNotFound(nil, fmt.Sprintf("there is no base %s on this host: unitd base fetch %s", name, name))
	}
	if err != nil {
		return Base{}, errors.Trace(err)
	}
	var b Base
	if err := json.Unmarshal(text, &b); err != nil {
		return Base{}, errors.Annotatef(err, "the record of base %s is damaged: unitd base remove %s", name, name)
	}
	b.Name, b.Root = name, filepath.Join(dir, rootName)
	return b, nil
}

// make makes a base by a function that fills an empty directory.
func (s Store) make(ctx context.Context, name, source string, fill func(root string) error) (Base, error) {
	base, err := model.ParseBase(name)
	if err != nil {
		return Base{}, errors.Trace(err)
	}
	name = base.String()
	if os.Geteuid() != 0 {
		return Base{}, errors.NewForbidden(nil, "only root can make a base, whose files belong to users of its own")
	}
	unlock, err := s.lock()
	if err != nil {
		return Base{}, errors.Trace(err)
	}
	defer unlock()
	if _, err := s.Find(name); err == nil {
		return Base{}, errors.NewAlreadyExists(nil, fmt.Sprintf("there is a base %s already: unitd base remove %s", name, name))
	}
	dir := filepath.Join(s.Dir, newPrefix+name)
	defer os.RemoveAll(dir)
	root := filepath.Join(dir, rootName)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return Base{}, errors.Trace(err)
	}
	if err := fill(root); err != nil {
		return Base{}, errors.Annotatef(err, "cannot make base %s", name)
	}
	if err := normalise(root); err != nil {
		return Base{}, errors.Annotatef(err, "cannot make base %s", name)
	}
	if err := ctx.Err(); err != nil {
		return Base{}, errors.Trace(err)
	}
	text, err := json.Marshal(Base{Name: name, Source: source, Made: time.Now().UTC().Format(time.RFC3339)})
	if err != nil {
		return Base{}, errors.Trace(err)
	}
	if err := os.WriteFile(filepath.Join(dir, recordName), append(text, '\n'), 0o644); err != nil {
		return Base{}, errors.Trace(err)
	}
	// A damaged one that was there has to give way.
	if err := os.RemoveAll(filepath.Join(s.Dir, name)); err != nil {
		return Base{}, errors.Trace(err)
	}
	if err := os.Rename(dir, filepath.Join(s.Dir, name)); err != nil {
		return Base{}, errors.Trace(err)
	}
	return s.Find(name)
}

// Remove takes a base away. Machines that run on it must not: that is the caller's matter.
// The error is NotFound where there is none.
func (s Store) Remove(name string) error {
	if _, err := model.ParseBase(name); err != nil {
		return errors.Trace(err)
	}
	unlock, err := s.lock()
	if err != nil {
		return errors.Trace(err)
	}
	defer unlock()
	dir, gone := filepath.Join(s.Dir, name), filepath.Join(s.Dir, newPrefix+name)
	if err := os.Rename(dir, gone); err != nil {
		if os.IsNotExist(err) {
			return errors.NewNotFound(nil, fmt.Sprintf("there is no base %s on this host", name))
		}
		return errors.Trace(err)
	}
	return errors.Annotatef(os.RemoveAll(gone), "cannot remove base %s", name)
}

// lock waits until nobody else makes or removes bases, and clears away what was left.
func (s Store) lock() (unlock func(), err error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, errors.Trace(err)
	}
	f, err := os.Open(s.Dir)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		f.Close()
		return nil, errors.Annotate(err, "cannot lock the bases")
	}
	left, _ := filepath.Glob(filepath.Join(s.Dir, newPrefix+"*"))
	for _, path := range left {
		if err := os.RemoveAll(path); err != nil {
			f.Close()
			return nil, errors.Trace(err)
		}
	}
	return func() { f.Close() }, nil
}
