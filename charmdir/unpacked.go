package charmdir

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// The names in the directory that a Store has for a digest.
const (
	treeDir  = "tree" // the charm's files
	listName = "list" // what they are
)

// Tree is a charm that a Store has unpacked. It is safe for use by many goroutines,
// until it is released.
type Tree struct {
	digest string
	dir    string
	list   []unpacked
}

// unpacked is a directory, file or link of such a tree, each after what it is in.
type unpacked struct {
	Name string `json:"name"`
	// Kind is what it is: dirKind, linkKind, or else a file.
	Kind   string `json:"kind,omitempty"`
	Target string `json:"target,omitempty"`
	// Mode is a file's; Size and Sum are of what is in it.
	Mode fs.FileMode `json:"mode,omitempty"`
	Size int64       `json:"size,omitempty"`
	Sum  uint32      `json:"sum,omitempty"`
}

const (
	dirKind  = "dir"
	linkKind = "link"
)

// listFormat is in each list: a version of this program that unpacks in another way
// has another one, and doesn't take over what former ones have unpacked.
const listFormat = "unitd-charm-1"

// castagnoli is what processors have an instruction for.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// writeList writes what is in a tree to a file beside it, with sums: what the disk, or
// somebody, changes later is noticed before a unit gets it.
func (s *Store) writeList(tree string) error {
	var list []unpacked
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == tree {
			return errors.Trace(err)
		}
		name, err := filepath.Rel(tree, path)
		if err != nil {
			return errors.Trace(err)
		}
		u := unpacked{Name: filepath.ToSlash(name)}
		switch {
		case d.IsDir():
			u.Kind = dirKind
		case d.Type()&fs.ModeSymlink != 0:
			u.Kind = linkKind
			u.Target, err = os.Readlink(path)
		default:
			err = u.measure(path)
		}
		list = append(list, u)
		return errors.Trace(err)
	})
	if err != nil {
		return errors.Trace(err)
	}
	b, err := json.Marshal(list)
	if err != nil {
		return errors.Trace(err)
	}
	text := append(listHead(b), b...)
	return s.step("list the tree", func() error { return s.disk.WriteFile(filepath.Join(filepath.Dir(tree), listName), text, 0o600) })
}

// listHead is the first line of a list.
func listHead(list []byte) []byte {
	return fmt.Appendf(nil, "%s %08x\n", listFormat, crc32.Checksum(list, castagnoli()))
}

// measure reads the mode, size and sum of a file.
func (u *unpacked) measure(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return errors.Trace(err)
	}
	sum := crc32.New(castagnoli())
	if u.Size, err = io.Copy(sum, f); err != nil {
		return errors.Trace(err)
	}
	u.Sum, u.Mode = sum.Sum32(), 0o644
	if st.Mode()&0o111 != 0 {
		u.Mode = 0o755
	}
	return nil
}

// open reads a tree of the store. The error is one that it can't be made a unit's by:
// it isn't there, or isn't what was unpacked.
func (s *Store) open(digest string) (*Tree, error) {
	b, err := durable.ReadRegular(s.path(digest), listName, maxMarker)
	if err != nil {
		return nil, errors.Trace(err)
	}
	_, list, _ := bytes.Cut(b, []byte("\n"))
	t := &Tree{digest: digest, dir: s.path(digest, treeDir)}
	if !bytes.HasPrefix(b, listHead(list)) || json.Unmarshal(list, &t.list) != nil {
		return nil, errors.NotValidf("list of the unpacked charm %s", digest)
	}
	for _, u := range t.list {
		if u.Kind != "" {
			continue
		}
		now := unpacked{Name: u.Name}
		if err := now.measure(filepath.Join(t.dir, filepath.FromSlash(u.Name))); err != nil {
			return nil, errors.Trace(err)
		}
		if now != u {
			return nil, errors.NotValidf("file %s of the unpacked charm %s", u.Name, digest)
		}
	}
	return t, nil
}

// fill makes the tree a unit's, in staging, and returns the names of its files and
// links, sorted.
func (t *Tree) fill(ctx context.Context, d *Deployer, staging string) (names []string, err error) {
	for _, u := range t.list {
		if err := ctx.Err(); err != nil {
			return nil, errors.Trace(err)
		}
		if u.Kind != dirKind {
			names = append(names, u.Name)
		}
		err := d.step("write "+u.Name, func() error { return t.put(d.disk, u, staging) })
		if err != nil {
			return nil, errors.Annotatef(err, "entry %q", u.Name)
		}
	}
	slices.Sort(names) // the list has what is in a directory right after it
	return names, nil
}

// put makes one of the tree's a unit's.
func (t *Tree) put(disk durable.Disk, u unpacked, staging string) error {
	from, to := filepath.Join(t.dir, filepath.FromSlash(u.Name)), filepath.Join(staging, filepath.FromSlash(u.Name))
	switch u.Kind {
	case dirKind:
		return errors.Trace(disk.Mkdir(to, 0o755))
	case linkKind:
		return errors.Trace(disk.Symlink(u.Target, to))
	}
	in, err := os.Open(from)
	if err != nil {
		return errors.Trace(err)
	}
	defer in.Close()
	out, err := disk.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, u.Mode)
	if err != nil {
		return errors.Trace(err)
	}
	done := u.Size == 0
	if !done {
		done, err = out.CloneFrom(in)
	}
	if err == nil && !done {
		_, err = io.Copy(out, in)
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return errors.Trace(err)
}
