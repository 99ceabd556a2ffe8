package charmdir

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// digestOf is the digest of a file, which is there.
func digestOf(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// fetching writes a file's content, as a model does that of an archive.
func fetching(path string) Fetch {
	return func(_ context.Context, w io.Writer) error {
		b, err := os.ReadFile(path)
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	}
}

// kept are the names in the store's directory.
func (s *Store) kept(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(s.dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// collect has the store keep what the places need.
func (s *Store) collect(t *testing.T, places ...place) {
	t.Helper()
	must(t, s.Collect(func() (map[string]bool, error) {
		need := map[string]bool{}
		for _, p := range places {
			need[Needed(p.dir)] = true
		}
		return need, nil
	}))
}

func TestACharmIsUnpackedOnceForAllUnits(t *testing.T) {
	t.Parallel()
	from := archives(t)
	s := NewStore(durable.Disk{}, t.TempDir())
	var fetched atomic.Int64
	fetch := func(ctx context.Context, w io.Writer) error {
		fetched.Add(1)
		return fetching(from[newURL])(ctx, w)
	}
	var wait sync.WaitGroup
	for range 8 {
		p := newPlace(t, from, way{exchanges: true})
		wait.Go(func() {
			tree, release, err := s.Tree(t.Context(), digestOf(from[newURL]), fetch)
			if err == nil {
				defer release()
				err = p.DeployTree(t.Context(), tree, newURL)
			}
			if err != nil {
				t.Error(err)
			}
			p.check(t, "deployed")
		})
	}
	wait.Wait()
	if n := fetched.Load(); n != 1 {
		t.Errorf("it was fetched %d times", n)
	}
	if got := s.kept(t); !slices.Equal(got, []string{digestOf(from[newURL])}) {
		t.Errorf("the store has %v", got)
	}
}

// TestWhatACharmDoesToItsTreeReachesNobody tries all that can be done to a file in
// place: neither the store nor another unit has any of it.
func TestWhatACharmDoesToItsTreeReachesNobody(t *testing.T) {
	t.Parallel()
	from := archives(t)
	a := newPlace(t, from, way{exchanges: true, shared: true})
	b := a
	b.Deployer = NewDeployer(durable.Disk{}, t.TempDir())
	must(t, a.put(from, newURL))
	must(t, b.put(from, newURL))
	in := func(name string) string { return filepath.Join(a.Path(), name) }
	for _, do := range []struct {
		what string
		err  error
	}{
		{"overwrite", writeAt(in("version"), "9")},
		{"truncate", os.Truncate(in("dispatch"), 3)},
		{"append", appendTo(in("both"), "more")},
		{"chmod", os.Chmod(in("was-dir"), 0o777)},
		{"link and append", errors.Trace(cmp.Or(os.Link(in("was-file/x"), in("linked")), appendTo(in("linked"), "more")))},
		{"remove", os.Remove(in("state/z"))},
		{"rename", os.Rename(in("added"), in("moved"))},
		{"add", os.WriteFile(in("was-file/mine"), nil, 0o644)},
	} {
		must(t, errors.Annotate(do.err, do.what))
	}
	b.check(t, "after what the other has done")
	if st, err := os.Stat(filepath.Join(b.Path(), "was-dir")); err != nil || st.Mode().Perm()&0o022 != 0 {
		t.Errorf("a mode has changed: %v, %v", st.Mode(), err)
	}
	c := a.again()
	c.Deployer = NewDeployer(durable.Disk{}, t.TempDir())
	c.store.step = func(name string, _ func() error) error {
		return errors.Errorf("the store's tree was damaged: %s", name)
	}
	must(t, c.put(from, newURL))
	c.check(t, "after what the first has done")
}

func writeAt(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	_, err = f.WriteAt([]byte(text), 0)
	return errors.Trace(err)
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return errors.Trace(err)
}

// TestADamagedTreeOfAStoreIsUnpackedAnew: no unit gets what the disk, or somebody, has
// made of it.
func TestADamagedTreeOfAStoreIsUnpackedAnew(t *testing.T) {
	t.Parallel()
	from := archives(t)
	for what, damage := range map[string]func(dir string) error{
		"a byte":         func(d string) error { return os.WriteFile(filepath.Join(d, treeDir, "version"), []byte("9"), 0o644) },
		"a mode":         func(d string) error { return os.Chmod(filepath.Join(d, treeDir, "dispatch"), 0o644) },
		"a file is gone": func(d string) error { return os.Remove(filepath.Join(d, treeDir, "added/y")) },
		"the list":       func(d string) error { return os.Remove(filepath.Join(d, listName)) },
		"a link's target": func(d string) error {
			return replaceIn(filepath.Join(d, listName), `"target":"added"`, `"target":"/etc/x"`)
		},
		"another format":   func(d string) error { return replaceIn(filepath.Join(d, listName), listFormat, "unitd-charm-0") },
		"the list is half": func(d string) error { return os.Truncate(filepath.Join(d, listName), 50) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, from, way{exchanges: true, shared: true})
			must(t, p.put(from, newURL))
			must(t, damage(p.store.path(digestOf(from[newURL]))))
			q := p.again()
			q.Deployer = NewDeployer(durable.Disk{}, t.TempDir())
			must(t, q.put(from, newURL))
			q.check(t, what)
			p.check(t, "the unit that had it before")
			q.store.collect(t, q)
			if got := q.store.kept(t); len(got) != 1 {
				t.Errorf("the store has %v", got)
			}
		})
	}
}

func replaceIn(path, old, by string) error {
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(b), old, by, 1)), 0o600)
	}
	return errors.Trace(err)
}

// TestAStoreKeepsWhatIsNeeded: by units, and by deployments in progress.
func TestAStoreKeepsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	from := archives(t)
	before, after := digestOf(from[oldURL]), digestOf(from[newURL])
	p := newPlace(t, from, way{exchanges: true, shared: true})
	s := p.store
	must(t, p.put(from, oldURL))
	s.collect(t, p)
	if got := s.kept(t); !slices.Equal(got, []string{before}) {
		t.Errorf("the store has %v", got)
	}
	tree, release, err := s.Tree(t.Context(), after, fetching(from[newURL]))
	must(t, err)
	s.collect(t, p)
	must(t, p.DeployTree(t.Context(), tree, newURL))
	s.Ask()
	// It is asked who needs what before the deployment is over, and removes after it.
	must(t, s.Collect(func() (map[string]bool, error) { release(); return nil, nil }))
	if got := s.kept(t); !slices.Equal(got, []string{after}) {
		t.Errorf("when the charm is upgraded the store has %v", got)
	}
	s.Ask()
	if err := s.Collect(func() (map[string]bool, error) { return nil, errors.New("unreadable") }); err == nil || len(s.kept(t)) != 1 {
		t.Errorf("when nobody can say who needs what: %v, and the store has %v", err, s.kept(t))
	}
	must(t, os.RemoveAll(p.dir))
	s.collect(t, p)
	if got := s.kept(t); len(got) > 0 {
		t.Errorf("when the unit is gone the store has %v", got)
	}
	must(t, s.Collect(func() (map[string]bool, error) { return nil, errors.New("it was asked though nothing has changed") }))
}

// TestAnErrorOfTheArchiveLeavesNothing in the store, and the next one tries anew.
func TestAnErrorOfTheArchiveLeavesNothing(t *testing.T) {
	t.Parallel()
	from := archives(t)
	s := NewStore(durable.Disk{}, t.TempDir())
	digest := digestOf(from[newURL])
	gone := errors.New("the store is out of reach")
	for range 2 {
		_, _, err := s.Tree(t.Context(), digest, func(context.Context, io.Writer) error { return gone })
		if !errors.Is(err, gone) || len(s.kept(t)) > 0 {
			t.Errorf("got %v, and the store has %v", err, s.kept(t))
		}
	}
	if _, _, err := s.Tree(t.Context(), "../"+digest[3:], fetching(from[newURL])); !errors.Is(err, errors.NotValid) {
		t.Errorf("of a digest that leads out of it: %v", err)
	}
	_, release, err := s.Tree(t.Context(), digest, fetching(from[newURL]))
	must(t, err)
	release()
}

// TestAnArchiveIsGotOnceAndGoesWithTheLastDeployment in progress.
func TestAnArchiveIsGotOnceAndGoesWithTheLastDeployment(t *testing.T) {
	t.Parallel()
	from := archives(t)
	s := NewStore(durable.Disk{}, t.TempDir())
	digest := digestOf(from[newURL])
	fetched := 0
	fetch := func(ctx context.Context, w io.Writer) error {
		if fetched++; fetched == 1 {
			_, _ = w.Write([]byte("half"))
			return errors.New("the store is out of reach")
		}
		return fetching(from[newURL])(ctx, w)
	}
	if _, _, err := s.Archive(t.Context(), digest, fetch); err == nil || len(s.kept(t)) > 0 {
		t.Errorf("got %v, and the store has %v", err, s.kept(t))
	}
	var all []func()
	for range 3 {
		path, release, err := s.Archive(t.Context(), digest, fetch)
		must(t, err)
		if digestOf(path) != digest {
			t.Errorf("%s has something else", path)
		}
		all = append(all, release)
	}
	if fetched != 2 {
		t.Errorf("it was fetched %d times", fetched)
	}
	for _, release := range all {
		s.Ask()
		s.collect(t)
		if len(s.kept(t)) != 1 {
			t.Errorf("while it is being deployed the store has %v", s.kept(t))
		}
		release()
		release() // once more does nothing
	}
	if got := s.kept(t); len(got) > 0 {
		t.Errorf("when all are over the store has %v", got)
	}
	// A killed agent leaves what it has got of one.
	for _, name := range []string{digest + archived, digest + unpacking, digest + Aside + "0", probeNames + "1"} {
		must(t, os.WriteFile(s.path(name), []byte("half"), 0o600))
	}
	s = NewStore(durable.Disk{}, s.dir)
	s.collect(t)
	if got := s.kept(t); len(got) > 0 {
		t.Errorf("after a kill the store has %v", got)
	}
}

// TestSharesSaysWhatTheFileSystemCan: and leaves nothing behind.
func TestSharesSaysWhatTheFileSystemCan(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	s := NewStore(durable.Disk{}, filepath.Join(above, "charms"))
	t.Logf("shares: %v", s.Shares())
	entries, err := os.ReadDir(above)
	if err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
	var none *Store
	if none.Shares() {
		t.Error("no store shares")
	}
}
