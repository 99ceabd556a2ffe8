package charmdir

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/pattern"
)

// Store keeps charms unpacked, each once, for all units of a host: a unit's tree that
// DeployTree makes from one shares its bytes with it, where the file system has files
// that share blocks until one of them is written to (FICLONE: btrfs, XFS). What a charm
// does to its tree, be it in place and as root, reaches no other tree, and not the
// store. So nothing depends on the store either: a tree in it that is lost or damaged
// is unpacked anew, and the units that were made from it don't notice.
//
// Elsewhere no bytes are to be saved by it, and Shares says so: then a store has
// archives, while they are deployed. Hard links would share
// on any file system, but one file then is all of them: a write in place, or a chmod,
// would be everybody's. docs/performance.md, "Disk and time of many units", has
// what else was weighed.
//
// It is safe for use by many goroutines; nobody but one Store may use a directory.
type Store struct {
	disk durable.Disk
	dir  string
	// step does each thing that changes the disk. Tests "kill" with it.
	step stepper

	mu sync.Mutex
	// shares is what was found out; nil: nothing yet.
	shares *bool
	held   map[string]*held // by digest
	// recent are those that were held since Collect last asked who needs what.
	recent map[string]bool
	// asked: there may be trees that nobody needs.
	asked bool
}

// held is what deployments need that are in progress.
type held struct {
	holders int
	// turn has room for one: who looks what there is, or gets it.
	turn    chan struct{}
	tree    *Tree // nil: nobody has looked yet
	archive bool  // it is there, whole
}

// The names in a store's directory, beside those of trees, which are digests.
const (
	unpacking  = ".new"     // after a digest: a tree that isn't whole
	archived   = ".archive" // after a digest: what is being deployed
	probeNames = "probe-"
)

var digests = pattern.New(`^[0-9a-f]{64}$`)

// NewStore is the store in dir, which it makes when it has something to keep.
func NewStore(disk durable.Disk, dir string) *Store {
	return &Store{
		disk: disk, dir: dir, held: map[string]*held{}, recent: map[string]bool{}, asked: true,
		step: func(_ string, do func() error) error { return errors.Trace(do()) },
	}
}

func (s *Store) path(names ...string) string { return filepath.Join(s.dir, filepath.Join(names...)) }

// Shares says whether files on the store's file system can share their bytes, which
// is tried once. It is false for a nil Store.
func (s *Store) Shares() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shares == nil {
		shares := s.probe()
		s.shares = &shares
	}
	return *s.shares
}

// probe makes a file that shares another one's bytes. Where it can't, for whatever
// reason, deployments do without.
func (s *Store) probe() bool {
	if _, err := os.Lstat(s.dir); os.IsNotExist(err) {
		defer func() { _ = s.disk.Remove(s.dir) }() // but for what others have put there
	}
	if err := s.disk.MkdirAll(s.dir, 0o700); err != nil {
		return false
	}
	from, err := s.disk.CreateTemp(s.dir, probeNames+"*")
	if err != nil {
		return false
	}
	defer func() { _ = s.disk.Remove(from.Name()) }()
	defer from.Close()
	if _, err := from.Write(make([]byte, 1<<16)); err != nil {
		return false
	}
	to, err := s.disk.CreateTemp(s.dir, probeNames+"*")
	if err != nil {
		return false
	}
	defer func() { _ = s.disk.Remove(to.Name()) }()
	defer to.Close()
	in, err := os.Open(from.Name())
	if err != nil {
		return false
	}
	defer in.Close()
	done, err := to.CloneFrom(in)
	return done && err == nil
}

// Tree is the charm whose archive has that digest (SHA-256, hex), unpacked. What isn't
// in the store is unpacked from what fetch writes, once for all who ask meanwhile; an
// error of fetch, and one that is NotValid for the archive, is that of who has asked.
// release is to be called when the deployment is over; until then the tree stays.
func (s *Store) Tree(ctx context.Context, digest string, fetch Fetch) (t *Tree, release func(), err error) {
	release, err = s.with(ctx, digest, func(h *held) error {
		if h.tree != nil {
			t = h.tree
			return nil
		}
		if t, err = s.open(digest); err != nil {
			// It isn't there, or was damaged.
			if err := s.unpack(ctx, digest, fetch); err != nil {
				return errors.Annotate(err, "cannot unpack the charm for all units")
			}
			if t, err = s.open(digest); err != nil {
				return errors.Annotate(err, "cannot read the charm that was unpacked for all units")
			}
		}
		h.tree = t
		return nil
	})
	return t, release, errors.Trace(err)
}

// Archive is the path of the archive with that digest, for deployments that share
// nothing. It is got once, by fetch, for all who ask meanwhile, and gone when the last
// of them has called release.
func (s *Store) Archive(ctx context.Context, digest string, fetch Fetch) (path string, release func(), err error) {
	path = s.path(digest + archived)
	release, err = s.with(ctx, digest, func(h *held) error {
		if h.archive {
			return nil
		}
		if err := s.disk.MkdirAll(s.dir, 0o700); err != nil {
			return errors.Trace(err)
		}
		if err := s.get(ctx, path, fetch); err != nil {
			_ = s.disk.Remove(path) // else Collect does
			return errors.Trace(err)
		}
		h.archive = true
		return nil
	})
	return path, release, errors.Trace(err)
}

// Fetch writes a charm's archive.
type Fetch func(context.Context, io.Writer) error

// get writes an archive to a file.
func (s *Store) get(ctx context.Context, path string, fetch Fetch) error {
	f, err := s.disk.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Trace(err)
	}
	err = fetch(ctx, f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return errors.Trace(err)
}

// with calls look, for one at a time of those who want a digest, which it holds for them
// until they call release, or look fails.
func (s *Store) with(ctx context.Context, digest string, look func(*held) error) (release func(), err error) {
	if !digests.MatchString(digest) {
		return nil, errors.NotValidf("digest %q of a charm", digest)
	}
	h := s.hold(digest)
	release = sync.OnceFunc(func() { s.release(digest) })
	select {
	case h.turn <- struct{}{}:
		err = look(h)
		<-h.turn
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		release()
		return nil, errors.Trace(err)
	}
	return release, nil
}

func (s *Store) hold(digest string) *held {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[digest]
	if h == nil {
		h = &held{turn: make(chan struct{}, 1)}
		s.held[digest] = h
	}
	h.holders++
	return h
}

func (s *Store) release(digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = true // what the unit had before may be needed no more
	s.recent[digest] = true
	h := s.held[digest]
	if h.holders--; h.holders > 0 {
		return
	}
	if h.archive {
		_ = s.disk.Remove(s.path(digest + archived)) // else Collect does
	}
	delete(s.held, digest)
}

// unpack makes the tree, and makes it durable, before it has its name.
func (s *Store) unpack(ctx context.Context, digest string, fetch Fetch) error {
	staging := s.path(digest + unpacking)
	for _, path := range []string{staging, s.path(digest)} {
		if err := s.remove(path); err != nil {
			return errors.Trace(err)
		}
	}
	tree := filepath.Join(staging, treeDir)
	err := s.step("make the tree", func() error {
		if err := s.disk.MkdirAll(s.dir, 0o700); err != nil {
			return err
		}
		if err := s.disk.Mkdir(staging, 0o700); err != nil {
			return err
		}
		return s.disk.Mkdir(tree, 0o755)
	})
	if err != nil {
		return errors.Trace(err)
	}
	if err := s.fill(ctx, tree, fetch); err != nil {
		_ = s.remove(staging)
		return errors.Trace(err)
	}
	if err := s.step("sync the tree", func() error { return s.disk.SyncTree(staging) }); err != nil {
		return errors.Trace(err)
	}
	return s.step("name the tree", func() error { return s.disk.Rename(staging, s.path(digest)) })
}

// fill has in tree what is in the archive, and beside it the list.
func (s *Store) fill(ctx context.Context, tree string, fetch Fetch) error {
	archive := filepath.Join(filepath.Dir(tree), "archive")
	if err := s.get(ctx, archive, fetch); err != nil {
		return errors.Trace(err)
	}
	if _, err := unpack(ctx, s.disk, s.step, archive, tree); err != nil {
		return errors.Trace(err)
	}
	if err := s.step("remove the archive", func() error { return s.disk.Remove(archive) }); err != nil {
		return errors.Trace(err)
	}
	return s.writeList(tree)
}

// remove removes what is at path, if anything is, in such a way that no half of it
// has a tree's name.
func (s *Store) remove(path string) error {
	if _, err := os.Lstat(path); os.IsNotExist(err) {
		return nil
	}
	return s.step("remove "+filepath.Base(path), func() error {
		if !strings.Contains(filepath.Base(path), Aside) {
			aside, err := SetAside(s.disk, path)
			if err != nil {
				return err
			}
			path = aside
		}
		return RemoveTree(s.disk, path)
	})
}
