package charmdir

import (
	"context"
	"encoding/json"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// The names in a unit's directory. The charm is always at charmName, a real
// directory; charm.new and charm.old are there only while a deployment is on its way.
const (
	charmName   = "charm"
	stagingName = "charm.new"
	formerName  = "charm.old"
	// markerName is the file in a charm's tree that says which charm it is: it
	// is switched with the tree, so the two can't differ.
	markerName = ".unitd-charm"
	// treeName says which tree of a Store the charm is made from; it isn't there for
	// one that was made from an archive.
	treeName = "charm.tree"
)

// Deployer owns the charm directory of one unit. Nobody else may write to the
// directory while Deploy or Recover runs; in particular no hook may.
//
// A kill or power cut at any moment leaves the old tree or the new one, after
// Recover.
type Deployer struct {
	dir  string
	disk durable.Disk
	// before is called before each step that changes the disk; an error stops
	// the deployment there. Tests "kill" with it.
	before func(step string) error
	// owner is whose the charm's files are; nil: the agent's.
	owner *owner
	// exchange swaps two paths in one step; false where it can't. Tests do
	// without it.
	exchange func(a, b string) (bool, error)
}

// marker says which charm a tree has, which of its files are the charm's, and
// which of hooks had to give way to them.
type marker struct {
	URL   string   `json:"url"`
	Files []string `json:"files"`
	Kept  []Kept   `json:"kept,omitempty"`
	// Sum tells a marker that is as it was written from one that was damaged;
	// those of former versions have none.
	Sum *uint32 `json:"sum,omitempty"`
}

func (m marker) checksum() uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Checksum([]byte(m.URL), table)
	for _, name := range m.Files {
		sum = crc32.Update(sum, table, []byte("\n"+name))
	}
	return sum
}

// NewDeployer is the deployer of the charm in dir, the unit's directory, which
// has to exist when Deploy is called.
func NewDeployer(disk durable.Disk, dir string) *Deployer {
	return &Deployer{disk: disk, dir: dir, before: func(string) error { return nil }, exchange: disk.Exchange}
}

type owner struct{ uid, gid int }

// Give has the files of the charms that are deployed from now on, and their
// directory, belong to a user: who isn't the agent's has to write there, too. What
// hooks have made stays theirs.
func (d *Deployer) Give(uid, gid int) { d.owner = &owner{uid, gid} }

// Path is the charm directory.
func (d *Deployer) Path() string { return filepath.Join(d.dir, charmName) }

func (d *Deployer) path(name string) string { return filepath.Join(d.dir, name) }

// Deployed is the URL of the charm that is in place; empty if there is none.
func (d *Deployer) Deployed() (string, error) {
	m, err := d.marker()
	if err == nil && d.bare(m) {
		return "", nil
	}
	return m.URL, errors.Trace(err)
}

// Kept is what had to give way to the charm that is in place: see Deploy.
func (d *Deployer) Kept() ([]Kept, error) {
	m, err := d.marker()
	return m.Kept, errors.Trace(err)
}

// Missing says whether the charm directory, the marker in it or the charm's
// metadata has been removed, as by a hook. It is Deployed without reading anything,
// mostly. The error is that of a directory that can't be read.
//
// Source: docs/spec/uniter-facts.md §1.6.
func (d *Deployer) Missing() (bool, error) {
	_, err := os.Lstat(filepath.Join(d.Path(), markerName))
	if os.IsNotExist(err) {
		return true, nil
	}
	if err != nil {
		return false, errors.Annotate(err, "cannot read the charm directory")
	}
	if _, err := os.Lstat(filepath.Join(d.Path(), metadataFiles[0])); err == nil {
		return false, nil
	}
	m, err := d.marker()
	return err == nil && d.bare(m), errors.Trace(err)
}

// metadataFiles are the files that a charm's metadata can be in; the first of them
// that a charm has says that it is one.
var metadataFiles = []string{"metadata.yaml", "charmcraft.yaml"}

// bare says whether a charm's metadata is gone that it came with.
func (d *Deployer) bare(m marker) bool {
	for _, name := range metadataFiles {
		if !slices.Contains(m.Files, name) {
			continue
		}
		_, err := os.Lstat(filepath.Join(d.Path(), name))
		return os.IsNotExist(err)
	}
	return false
}

// maxMarker bounds what is read of a marker, in bytes: each file of a charm has a line.
const maxMarker = 64 << 20

func (d *Deployer) marker() (marker, error) {
	var m marker
	b, err := durable.ReadRegular(d.Path(), markerName, maxMarker)
	if os.IsNotExist(err) {
		return m, nil
	}
	if err != nil {
		return m, errors.Annotate(err, "cannot tell which charm is deployed")
	}
	// A marker that a hook, or the disk, has damaged: the charm is taken as
	// missing and will be deployed again over what is there.
	if json.Unmarshal(b, &m) != nil || m.Sum != nil && *m.Sum != m.checksum() {
		return marker{}, nil
	}
	return m, nil
}

// Recover puts in order what a killed Deploy has left: the old tree is back in
// its place if it was being switched, and what was staged is gone.
func (d *Deployer) Recover() error {
	if _, err := os.Lstat(d.Path()); os.IsNotExist(err) {
		if _, err := os.Lstat(d.path(formerName)); err == nil {
			if err := d.step("put back", func() error { return d.disk.Rename(d.path(formerName), d.Path()) }); err != nil {
				return errors.Annotate(err, "cannot put the charm directory back in place")
			}
		}
	}
	return errors.Annotate(d.clear(), "cannot clear away a deployment that was not finished")
}

// clear removes what isn't in place. The switch, or its undoing, is made
// durable first: else a power cut could undo it and leave half a tree.
func (d *Deployer) clear() error {
	left := false
	for _, name := range []string{stagingName, formerName} {
		_, err := os.Lstat(d.path(name))
		left = left || err == nil
	}
	if !left {
		return nil
	}
	if err := d.step("sync", func() error { return d.disk.SyncDir(d.dir) }); err != nil {
		return errors.Trace(err)
	}
	for _, name := range []string{stagingName, formerName} {
		if err := d.remove(name); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// remove removes one of the trees that aren't in place. What can't be removed
// is no reason to keep a unit from its new charm: it is set aside, and goes
// with the unit's directory or not at all.
func (d *Deployer) remove(name string) error {
	if _, err := os.Lstat(d.path(name)); os.IsNotExist(err) {
		return nil
	}
	return d.step("remove "+name, func() error {
		if RemoveTree(d.disk, d.path(name)) == nil {
			return nil
		}
		_, err := SetAside(d.disk, d.path(name))
		return errors.Trace(err)
	})
}

// Remove takes the charm away with all that hooks have made beside it: nothing is in
// place then, at once. It can be called again where it was cut off.
func (d *Deployer) Remove() error {
	if err := d.clear(); err != nil {
		return errors.Annotate(err, "cannot clear away a deployment that was not finished")
	}
	err := d.step("set aside", func() error {
		_, err := SetAside(d.disk, d.Path())
		return err
	})
	if err == nil {
		err = d.step("sync", func() error { return d.disk.SyncDir(d.dir) })
	}
	if err != nil {
		return errors.Annotate(err, "cannot take the charm directory away")
	}
	if err := d.need(""); err != nil {
		return errors.Trace(err)
	}
	aside, err := filepath.Glob(d.Path() + Aside + "*")
	if err != nil {
		return errors.Trace(err)
	}
	for _, path := range aside {
		if err := d.step("remove "+filepath.Base(path), func() error { return RemoveTree(d.disk, path) }); err != nil {
			return errors.Annotate(err, "cannot remove the former charm directory")
		}
	}
	return nil
}

func (d *Deployer) step(name string, do func() error) error {
	if err := d.before(name); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(do())
}

// Deploy puts the charm in the archive, with that URL, in place of what is
// there: files of the former charm that the new one lacks are gone, files that
// hooks have made stay. Where a hook has made a file that the new charm has
// too, the charm's is taken, and the hook's kept beside it as "<name>.kept",
// which Kept tells of from then on.
//
// When it fails the old tree is in place, untouched; or the new one, as
// Deployed says, if it was only the old one that couldn't be cleared away.
func (d *Deployer) Deploy(ctx context.Context, archive, url string) error {
	return d.deploy(ctx, url, "", func(staging string) ([]string, error) {
		return unpack(ctx, d.disk, d.step, archive, staging)
	})
}

// DeployTree is Deploy of a charm that a Store has unpacked: the unit's files share
// their bytes with the store's where the file system can do that, and are copies
// elsewhere. Whatever is done to the one never reaches the other.
func (d *Deployer) DeployTree(ctx context.Context, t *Tree, url string) error {
	return d.deploy(ctx, url, t.digest, func(staging string) ([]string, error) {
		return t.fill(ctx, d, staging)
	})
}

// deploy is Deploy of a charm whose tree fill makes, and returns the names of its
// files. tree is which one of a Store's it is made from; empty: none.
func (d *Deployer) deploy(ctx context.Context, url, tree string, fill func(staging string) ([]string, error)) error {
	if err := d.Recover(); err != nil {
		return errors.Trace(err)
	}
	if err := d.stage(url, tree, fill); err != nil {
		_ = d.remove(stagingName)
		return errors.Annotatef(err, "cannot unpack charm %s", url)
	}
	if err := d.switchTrees(); err != nil {
		return errors.Annotatef(err, "cannot put charm %s in place", url)
	}
	return nil
}

// stage makes the whole new tree beside the old one, and makes it durable.
func (d *Deployer) stage(url, tree string, fill func(staging string) ([]string, error)) error {
	staging := d.path(stagingName)
	if err := d.step("make staging", func() error { return d.disk.Mkdir(staging, 0o755) }); err != nil {
		return errors.Trace(err)
	}
	names, err := fill(staging)
	if err != nil {
		return errors.Trace(err)
	}
	if err := d.give(staging); err != nil {
		return errors.Annotate(err, "cannot give the charm to the user whom its hooks run as")
	}
	kept, err := d.keep(names)
	if err != nil {
		return errors.Annotate(err, "cannot keep what hooks have made")
	}
	made := marker{URL: url, Files: names, Kept: kept}
	sum := made.checksum()
	made.Sum = &sum
	m, err := json.Marshal(made)
	if err != nil {
		return errors.Trace(err)
	}
	err = d.step("write marker", func() error { return d.disk.WriteFile(filepath.Join(staging, markerName), m, 0o600) })
	if err != nil {
		return errors.Trace(err)
	}
	if err := d.need(tree); err != nil {
		return errors.Annotate(err, "cannot note which tree the charm is made from")
	}
	return d.step("sync staging", func() error { return d.disk.SyncTree(staging) })
}

// give has a tree belong to the owner.
func (d *Deployer) give(tree string) error {
	if d.owner == nil || d.owner.uid == os.Geteuid() && d.owner.gid == os.Getegid() {
		return nil
	}
	return filepath.WalkDir(tree, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return errors.Trace(err)
		}
		return d.step("give "+path, func() error { return d.disk.Lchown(path, d.owner.uid, d.owner.gid) })
	})
}

// switchTrees puts the staged tree in place of the old one.
func (d *Deployer) switchTrees() error {
	staging, charm := d.path(stagingName), d.Path()
	if _, err := os.Lstat(charm); os.IsNotExist(err) {
		if err := d.step("rename", func() error { return d.disk.Rename(staging, charm) }); err != nil {
			return errors.Trace(err)
		}
		return d.step("sync", func() error { return d.disk.SyncDir(d.dir) })
	}
	done := false
	err := d.step("exchange", func() error {
		var err error
		done, err = d.exchange(staging, charm)
		return err
	})
	if err != nil {
		return errors.Trace(err)
	}
	if !done {
		// Not in one step here: Recover puts back the old tree in between.
		if err := d.step("set aside", func() error { return d.disk.Rename(charm, d.path(formerName)) }); err != nil {
			return errors.Trace(err)
		}
		if err := d.step("rename", func() error { return d.disk.Rename(staging, charm) }); err != nil {
			return errors.Trace(err)
		}
	}
	return d.clear()
}
