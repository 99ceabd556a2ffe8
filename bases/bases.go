// Package bases keeps the systems that machines with systemd are on: each is a directory
// with a root, by the name of a base, "debian@12", made once and shared by all units on it.
//
//	NAME/N/root       the N-th version of a base; the newest is the one with the highest number
//	NAME/N/base.json  its record: where it is from, and how it was made
//	NAME/root, NAME/base.json  the only version, of a base that an earlier unitd has made
//	.new-NAME         what is being made, or removed
//
// A version is made in a directory of its own and put in its place whole, by one rename: so
// one that is there is complete, and a kill leaves the former one or the new one. It never
// changes, as machines have it as the lower layer of their roots: an update makes another
// one, and the former stays until nobody uses it. One command at a time makes or removes
// bases; what a killed one has left goes with the next.
package bases

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
)

// Store has the bases of a host.
type Store struct {
	// Dir has a directory for each. It needn't be there.
	Dir string
	// Images has the images that bases are made of; nil: none can be.
	Images *oci.Cache
	// Program is unitd, which runs others in a base that is being made; empty: nothing
	// can be run there.
	Program string
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
	// Digest tells what it is made of, as "sha256:…": the manifest of an image, the file
	// of a tarball, else the list of its packages. Empty: nobody knows.
	Digest string `json:"digest,omitempty" yaml:"digest,omitempty"`
	// Version is its number, from 1; 0: an earlier unitd has made it. Former is how many
	// versions before it are still there.
	Version int `json:"version" yaml:"version"`
	Former  int `json:"former,omitempty" yaml:"former,omitempty"`
}

// The parts of a version's directory, and the beginning of one that is being made.
const (
	rootName   = "root"
	recordName = "base.json"
	newPrefix  = ".new-"
)

// record is what is kept of a version.
type record struct {
	Base
	Recipe Recipe `json:"recipe,omitzero"`
}

// List are all that there are, in their newest versions, by name.
func (s Store) List() ([]Base, error) {
	names, err := s.names()
	if err != nil {
		return nil, errors.Trace(err)
	}
	all := []Base{}
	for _, name := range names {
		b, err := s.Find(name)
		if errors.Is(err, errors.NotFound) {
			continue // a command was killed between making its place and filling it
		}
		if err != nil {
			return nil, errors.Trace(err)
		}
		all = append(all, b)
	}
	return all, nil
}

// names are those that have a directory, in order.
func (s Store) names() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, errors.Trace(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), newPrefix) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Find is the newest version of the base of that name. The error is NotFound, with what to
// do, where there is none; NotValid for what is no name of a base.
func (s Store) Find(name string) (Base, error) {
	r, err := s.newest(name)
	return r.Base, errors.Trace(err)
}

// newest is the record of the newest version.
func (s Store) newest(name string) (record, error) {
	if _, err := model.ParseBase(name); err != nil {
		return record{}, errors.Trace(err)
	}
	versions, err := s.versions(name)
	if err != nil {
		return record{}, errors.Trace(err)
	}
	if len(versions) == 0 {
		return record{}, errors.NewNotFound(nil, fmt.Sprintf("there is no base %s on this host: unitd base fetch %s", name, name))
	}
	r, err := s.read(name, versions[len(versions)-1])
	r.Former = len(versions) - 1
	return r, errors.Trace(err)
}

// Versions are all that there are of a base, the newest last. There are none of one that
// isn't there.
func (s Store) Versions(name string) ([]Base, error) {
	if _, err := model.ParseBase(name); err != nil {
		return nil, errors.Trace(err)
	}
	versions, err := s.versions(name)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var all []Base
	for _, v := range versions {
		r, err := s.read(name, v)
		if err != nil { // its root is what matters to who looks whether it is used
			r.Base = Base{Name: name, Version: v, Root: filepath.Join(s.place(name, v), rootName)}
		}
		all = append(all, r.Base)
	}
	return all, nil
}

// versions are the numbers of a base's versions, in order.
func (s Store) versions(name string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Join(s.Dir, name))
	if err != nil && !os.IsNotExist(err) {
		return nil, errors.Trace(err)
	}
	var all []int
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		switch {
		case err == nil && n > 0:
			all = append(all, n)
		case e.Name() == rootName:
			all = append(all, 0)
		}
	}
	slices.Sort(all)
	return all, nil
}

// place is the directory of a version.
func (s Store) place(name string, version int) string {
	if version == 0 {
		return filepath.Join(s.Dir, name)
	}
	return filepath.Join(s.Dir, name, strconv.Itoa(version))
}

// read is the record of a version.
func (s Store) read(name string, version int) (record, error) {
	dir := s.place(name, version)
	var r record
	text, err := os.ReadFile(filepath.Join(dir, recordName))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return record{}, errors.Annotatef(err, "the record of base %s is damaged: unitd base remove %s", name, name)
	}
	r.Name, r.Root, r.Version, r.Former = name, filepath.Join(dir, rootName), version, 0
	if r.Recipe.Kind == "" {
		r.Recipe = recipeOf(r.Source)
	}
	return r, nil
}
