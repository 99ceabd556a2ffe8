package oci

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/juju/errors"
)

// stocked is a cache with three images, a, b and c, which were used in that order;
// a and b share a layer.
func stocked(t *testing.T) (*Cache, map[string]string) {
	t.Helper()
	c := cacheIn(t)
	c.Form = Single
	base := layerOf(t, tarOf(t, file("base", strings.Repeat("b", 50_000))), plain)
	digests := map[string]string{}
	for i, name := range []string{"a", "b", "c"} {
		layers := []v1.Layer{base, layerOf(t, tarOf(t, file(name, strings.Repeat(name, 10_000))), plain)}
		if name == "c" {
			layers = layers[1:]
		}
		s := source(t, layoutOf(t, imageOf(t, layers...)))
		r, err := c.Resolve(t.Context(), s)
		must(t, err)
		r.Release()
		fetched, err := c.Fetch(t.Context(), s, r.Digest)
		must(t, err)
		fetched.Release()
		digests[name] = r.Digest
		at := time.Unix(int64(1_700_000_000+i), 0)
		must(t, os.Chtimes(c.path(imagesDir, hexOf(r.Digest)+".json"), at, at))
	}
	return c, digests
}

func names(all []Cached, digests map[string]string) string {
	var out []string
	for _, image := range all {
		for name, digest := range digests {
			if digest == image.Digest {
				out = append(out, name)
			}
		}
	}
	return strings.Join(out, " ")
}

func nobody(context.Context) ([]string, error) { return nil, nil }

func TestTheCacheIsListed(t *testing.T) {
	t.Parallel()
	c, digests := stocked(t)
	all, err := c.List(t.Context())
	must(t, err)
	if names(all, digests) != "c b a" {
		t.Fatalf("got %+v", all)
	}
	// Each has its own layer twice, as a blob and as a directory; a and b have the base.
	for i, row := range all {
		shared := int64(0)
		if i > 0 {
			shared = 100_000
		}
		if row.Size < 20_000 || row.Size > 30_000 || row.Shared < shared || row.Shared > shared+10_000 || row.Held || len(row.References) != 1 {
			t.Errorf("got %+v", row)
		}
	}
	if none, err := cacheIn(t).List(t.Context()); err != nil || len(none) != 0 {
		t.Errorf("got %v, %v", none, err)
	}
}

func TestWhatWasUsedLongestAgoIsRemovedFirst(t *testing.T) {
	t.Parallel()
	c, digests := stocked(t)
	all, err := c.List(t.Context())
	must(t, err)
	total := all[0].Size + all[1].Size + all[2].Size + all[1].Shared
	for _, step := range []struct {
		limit int64
		want  string
		left  string
	}{{total, "", "c b a"}, {total - 1, "a", "c b"}, {all[0].Size, "b", "c"}, {0, "c", ""}} {
		p, err := c.Prune(t.Context(), step.limit, nobody)
		must(t, err)
		left, err := c.List(t.Context())
		must(t, err)
		if names(p.Removed, digests) != step.want || names(left, digests) != step.left || p.Left > step.limit {
			t.Fatalf("at %d: removed %s, left %s: %+v", step.limit, names(p.Removed, digests), names(left, digests), p)
		}
		total -= p.Freed
		if p.Left != total {
			t.Errorf("at %d: %d bytes are left, and should be %d", step.limit, p.Left, total)
		}
	}
	// Nothing is left of them but the lock of those who work.
	must(t, filepath.WalkDir(c.Dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != cacheLock {
			t.Errorf("there is still %s", path)
		}
		return err
	}))
}

func TestWhatIsInUseIsKept(t *testing.T) {
	t.Parallel()
	c, digests := stocked(t)
	held, err := c.Fetch(t.Context(), Source{}, digests["a"])
	must(t, err)
	all, err := c.List(t.Context())
	must(t, err)
	if !all[0].Held || all[1].Held {
		t.Errorf("got %+v", all)
	}
	p, err := c.Prune(t.Context(), 0, func(context.Context) ([]string, error) { return []string{digests["c"]}, nil })
	must(t, err)
	if names(p.Removed, digests) != "b" {
		t.Errorf("removed are %s", names(p.Removed, digests))
	}
	if got := shown(t, held.Layers[1]); !strings.HasPrefix(got, "base") {
		t.Errorf("the layer is %.20s", got)
	}
	held.Release()
	if p, err = c.Prune(t.Context(), 0, nobody); err != nil || len(p.Removed) != 2 || p.Left != 0 {
		t.Errorf("got %+v, %v", p, err)
	}
	stop := errors.New("the model can't be read")
	if _, err := c.Prune(t.Context(), 0, func(context.Context) ([]string, error) { return nil, stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestPruneWaitsForThoseWhoFetch(t *testing.T) {
	t.Parallel()
	c, _ := stocked(t)
	busy, err := c.begin(t.Context())
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Prune(ctx, 0, nobody); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	busy.release()
	if p, err := c.Prune(t.Context(), 0, nobody); err != nil || len(p.Removed) != 3 {
		t.Errorf("got %+v, %v", p, err)
	}
}

// What a process has left that was killed belongs to nobody.
func TestWhatBelongsToNoImageIsRemoved(t *testing.T) {
	t.Parallel()
	c, _ := stocked(t)
	must(t, os.WriteFile(c.path(blobsDir, strings.Repeat("a", 64)), make([]byte, 1000), 0o600))
	must(t, os.MkdirAll(c.path(layersDir, "single", "half", "fs"), 0o700))
	must(t, os.MkdirAll(c.path(workDir, "layer-1", "fs"), 0o700))
	must(t, os.WriteFile(c.path(imagesDir, "junk"), nil, 0o600))
	p, err := c.Prune(t.Context(), 1<<40, nobody)
	must(t, err)
	if len(p.Removed) != 0 || p.Freed != 1000 {
		t.Errorf("got %+v", p)
	}
	for _, path := range []string{c.path(blobsDir, strings.Repeat("a", 64)), c.path(layersDir, "single", "half"), c.path(workDir, "layer-1")} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("there is still %s", path)
		}
	}
}

func TestPruneOfAnIdleCacheDoesntWait(t *testing.T) {
	t.Parallel()
	c, _ := stocked(t)
	busy, err := c.begin(t.Context())
	must(t, err)
	if p, idle, err := c.PruneIdle(t.Context(), 0, nobody); err != nil || idle || len(p.Removed) != 0 {
		t.Errorf("got %+v, %v, %v", p, idle, err)
	}
	busy.release()
	_, size, err := c.Stock(t.Context())
	must(t, err)
	if p, idle, err := c.PruneIdle(t.Context(), 0, nobody); err != nil || !idle || len(p.Removed) != 3 || p.Freed != size {
		t.Errorf("got %+v, %v, %v, of %d", p, idle, err, size)
	}
	if _, idle, err := cacheIn(t).PruneIdle(t.Context(), 0, nobody); err != nil || !idle {
		t.Errorf("got %v, %v", idle, err)
	}
}

// What an image says of its process is known before it is unpacked.
func TestTheConfigurationOfAnImageIsThereOnceItIsResolved(t *testing.T) {
	t.Parallel()
	c, digests := stocked(t)
	if _, err := c.ConfigOf(digests["a"]); err != nil {
		t.Error(err)
	}
	if _, err := c.ConfigOf("sha256:" + strings.Repeat("0", 64)); !errors.Is(err, errors.NotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := c.ConfigOf("a"); !errors.Is(err, errors.NotValid) {
		t.Errorf("got %v", err)
	}
}
