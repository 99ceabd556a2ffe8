package oci

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
)

// Cached is an image of the cache.
type Cached struct {
	Digest string
	// References are those by which it was resolved or fetched.
	References []string
	// Size is what its removal would free, in bytes; Shared what other images of the
	// cache have as well.
	Size, Shared int64
	// Used is when it was resolved or fetched last.
	Used time.Time
	// Held says that a process holds it; see Image.Release.
	Held bool
}

// Pruned is what Prune has done.
type Pruned struct {
	Removed []Cached
	// Freed and Left are bytes: of what was removed, and of what is still there.
	Freed, Left int64
}

// List has the images of the cache, the one that was used last first. There are none
// where there is no cache.
func (c *Cache) List(ctx context.Context) ([]Cached, error) {
	all, _, err := c.Stock(ctx)
	return all, errors.Trace(err)
}

// Stock is List, with what all images take together, in bytes.
func (c *Cache) Stock(ctx context.Context) (all []Cached, size int64, err error) {
	if _, err := os.Stat(c.path(imagesDir)); os.IsNotExist(err) {
		return nil, 0, nil
	}
	busy, err := c.begin(ctx)
	if err != nil {
		return nil, 0, errors.Trace(err)
	}
	defer busy.release()
	s, err := c.take()
	if err != nil {
		return nil, 0, errors.Trace(err)
	}
	return s.list(), s.total(), nil
}

// Prune removes images, those first that were used longest ago, until what is left
// takes no more than so many bytes; and everything that belongs to no image. It
// waits until nobody fetches any more. What a process holds stays, and so does
// what inUse names by their digests: it is asked once nobody can fetch any more, and
// it is known who holds what.
func (c *Cache) Prune(ctx context.Context, limit int64, inUse func(context.Context) ([]string, error)) (Pruned, error) {
	if _, err := os.Stat(c.path(imagesDir)); os.IsNotExist(err) {
		return Pruned{}, nil
	}
	alone, err := c.takeLock(ctx, cacheLock, true)
	if err != nil {
		return Pruned{}, errors.Trace(err)
	}
	return c.pruneAlone(ctx, alone, limit, inUse)
}

// PruneIdle is Prune where nobody fetches; else it removes nothing, and idle is false.
func (c *Cache) PruneIdle(ctx context.Context, limit int64, inUse func(context.Context) ([]string, error)) (p Pruned, idle bool, err error) {
	if _, err := os.Stat(c.path(imagesDir)); os.IsNotExist(err) {
		return Pruned{}, true, nil
	}
	alone, err := c.tryLock(cacheLock, true)
	if errors.Is(err, errHeld) {
		return Pruned{}, false, nil
	}
	if err != nil {
		return Pruned{}, false, errors.Trace(err)
	}
	p, err = c.pruneAlone(ctx, alone, limit, inUse)
	return p, true, errors.Trace(err)
}

// pruneAlone is Prune for who has the cache alone, by a lock that it releases.
func (c *Cache) pruneAlone(ctx context.Context, alone *lock, limit int64, inUse func(context.Context) ([]string, error)) (Pruned, error) {
	defer alone.release()
	// Who holds one lets it go once a model has it: so that is asked afterwards.
	s, err := c.take()
	if err != nil {
		return Pruned{}, errors.Trace(err)
	}
	used, err := inUse(ctx)
	if err != nil {
		return Pruned{}, errors.Trace(err)
	}
	p := Pruned{}
	for _, image := range slices.Backward(s.list()) {
		if s.total() <= limit {
			break
		}
		if image.Held || slices.Contains(used, image.Digest) {
			continue
		}
		// Its record first: without one it is nobody's.
		if err := c.Disk.Remove(c.path(imagesDir, hexOf(image.Digest)+".json")); err != nil {
			return p, errors.Trace(err)
		}
		before := s.total()
		s.forget(image.Digest)
		image.Size, image.Shared = before-s.total(), 0
		p.Removed = append(p.Removed, image)
	}
	p.Freed, err = s.sweep()
	p.Left = s.total()
	if err == nil {
		err = c.clearWork()
	}
	return p, errors.Trace(err)
}

// stock is what there is in a cache: images, and files and directories by their
// paths below it, with their sizes.
type stock struct {
	cache  *Cache
	images map[string]Cached
	parts  map[string][]string // of each image
	sizes  map[string]int64
	users  map[string]int // how many images a part belongs to
	forms  []string       // of layers, as the cache has them
}

func (c *Cache) take() (*stock, error) {
	s := &stock{cache: c, images: map[string]Cached{}, parts: map[string][]string{}, sizes: map[string]int64{}, users: map[string]int{}}
	if err := s.measure(); err != nil {
		return nil, errors.Trace(err)
	}
	entries, err := os.ReadDir(c.path(imagesDir))
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, e := range entries {
		digest := "sha256:" + strings.TrimSuffix(e.Name(), ".json")
		st, statErr := e.Info()
		b, err := os.ReadFile(c.path(imagesDir, e.Name()))
		var r record
		if statErr != nil || err != nil || !digestForm.MatchString(digest) || json.Unmarshal(b, &r) != nil {
			continue // it is none
		}
		hold, err := c.tryLock(holdName(digest), true)
		held := errors.Is(err, errHeld)
		if err != nil && !held {
			return nil, errors.Trace(err)
		}
		hold.release()
		s.images[digest] = Cached{Digest: digest, References: r.References, Used: st.ModTime(), Held: held}
		s.parts[digest] = s.partsOf(digest, r)
		for _, p := range s.parts[digest] {
			s.users[p]++
		}
	}
	return s, nil
}

// measure finds all blobs and layers.
func (s *stock) measure() error {
	blobs, err := os.ReadDir(s.cache.path(blobsDir))
	if err != nil {
		return errors.Trace(err)
	}
	for _, e := range blobs {
		if st, err := e.Info(); err == nil {
			s.sizes[filepath.Join(blobsDir, e.Name())] = st.Size()
		}
	}
	forms, err := os.ReadDir(s.cache.path(layersDir))
	if err != nil {
		return errors.Trace(err)
	}
	for _, form := range forms {
		s.forms = append(s.forms, form.Name())
		all, err := os.ReadDir(s.cache.path(layersDir, form.Name()))
		if err != nil {
			return errors.Trace(err)
		}
		for _, e := range all {
			path := filepath.Join(layersDir, form.Name(), e.Name())
			var l layer
			if b, err := os.ReadFile(s.cache.path(path, layerFile)); err == nil {
				_ = json.Unmarshal(b, &l) // one that is damaged has no size, and may be removed
			}
			s.sizes[path] = l.Bytes + perEntry*int64(l.Entries)
		}
	}
	return nil
}

// perEntry is what a file takes on a disk beside its content, about.
const perEntry = 512

// partsOf are those of an image's parts that there are.
func (s *stock) partsOf(digest string, r record) []string {
	all := []string{filepath.Join(blobsDir, hexOf(digest)), filepath.Join(blobsDir, hexOf(r.Config))}
	ids := []string{r.topID()}
	for _, l := range r.Layers {
		all = append(all, filepath.Join(blobsDir, hexOf(l.Digest)))
		ids = append(ids, l.DiffID)
	}
	for _, id := range ids {
		for _, form := range s.forms {
			if digestForm.MatchString(id) {
				all = append(all, filepath.Join(layersDir, form, keyOf(id)))
			}
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(p string) bool { _, ok := s.sizes[p]; return !ok })
}

func (s *stock) list() []Cached {
	var out []Cached
	for digest, image := range s.images {
		for _, p := range s.parts[digest] {
			if s.users[p] > 1 {
				image.Shared += s.sizes[p]
			} else {
				image.Size += s.sizes[p]
			}
		}
		out = append(out, image)
	}
	slices.SortFunc(out, func(a, b Cached) int { return cmp.Or(b.Used.Compare(a.Used), strings.Compare(a.Digest, b.Digest)) })
	return out
}

// total is what all images take.
func (s *stock) total() int64 {
	var sum int64
	for p, n := range s.users {
		if n > 0 {
			sum += s.sizes[p]
		}
	}
	return sum
}

func (s *stock) forget(digest string) {
	for _, p := range s.parts[digest] {
		s.users[p]--
	}
	delete(s.images, digest)
	delete(s.parts, digest)
}

// sweep removes what belongs to no image.
func (s *stock) sweep() (freed int64, err error) {
	for p, size := range s.sizes {
		if s.users[p] > 0 {
			continue
		}
		if err := s.cache.discard(s.cache.path(p)); err != nil {
			return freed, errors.Trace(err)
		}
		freed += size
	}
	locks, err := os.ReadDir(s.cache.path(locksDir))
	if err != nil {
		return freed, errors.Trace(err)
	}
	for _, e := range locks {
		// Nobody but those who hold images has any, as this one is alone; and nobody can
		// come meanwhile.
		if e.Name() == cacheLock {
			continue
		}
		l, err := s.cache.tryLock(e.Name(), true)
		if err != nil {
			continue
		}
		err = s.cache.Disk.Remove(s.cache.path(locksDir, e.Name()))
		l.release()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return freed, errors.Trace(err)
		}
	}
	return freed, nil
}

// clearWork removes what isn't whole, and nobody makes any more.
func (c *Cache) clearWork() error {
	left, err := os.ReadDir(c.path(workDir))
	if err != nil {
		return errors.Trace(err)
	}
	for _, e := range left {
		if err := c.removeTree(c.path(workDir, e.Name())); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}
