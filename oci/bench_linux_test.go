package oci

import (
	"archive/tar"
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// tree is a layer with so many files, of so many bytes in all, which compress about
// as programs do.
func tree(t testing.TB, seed uint64, files int, total int64) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	noise := make([]byte, 1<<20)
	for i := range noise {
		one, other := r.UintN(256), r.UintN(256)
		noise[i] = byte(one & other)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range files {
		if i%20 == 0 {
			must(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: fmt.Sprintf("usr/lib/%d-%d/", seed, i/20), Mode: 0o755, ModTime: when}))
		}
		size := total / int64(files)
		must(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("usr/lib/%d-%d/file-%d", seed, i/20, i), Mode: 0o644, Size: size, ModTime: when}))
		for left := size; left > 0; {
			from := r.IntN(len(noise) / 2)
			n := min(left, int64(len(noise)/2))
			_, err := w.Write(noise[from : int64(from)+n])
			must(t, err)
			left -= n
		}
	}
	must(t, w.Close())
	return b.Bytes()
}

// size is 300 MB in 10,000 files where figures are taken; and for those who only see to
// it that it runs, what does so in a moment.
func size(b *testing.B) (files int, total int64) {
	if os.Getenv("UNITD_TEST_LONG") == "" || testing.Short() {
		return 400, 12 << 20
	}
	return 10_000, 300 << 20
}

// prepared is a cache with the blob of an image, and a file that tar can unpack.
func prepared(t testing.TB, how format, content []byte) (c *Cache, digest, file string) {
	t.Helper()
	l := layerOf(t, content, how)
	c = &Cache{Dir: filepath.Join(t.TempDir(), "cache")}
	r, err := c.Resolve(t.Context(), source(t, layoutOf(t, imageOf(t, l))))
	must(t, err)
	r.Release()
	h, err := l.Digest()
	must(t, err)
	return c, r.Digest, c.path(blobsDir, h.Hex)
}

// byUs and byTar unpack the same, to the disk: what is in memory only isn't there
// after a loss of power, so Fetch syncs; and so has tar to be followed by sync.
func byUs(t testing.TB, c *Cache, digest string) time.Duration {
	t.Helper()
	must(t, os.RemoveAll(c.path(layersDir)))
	must(t, exec.Command("sync", "-f", c.Dir).Run())
	began := time.Now()
	i, err := c.Fetch(t.Context(), Source{}, digest)
	took := time.Since(began)
	must(t, err)
	i.Release()
	return took
}

func byTar(t testing.TB, file string, sync bool) time.Duration {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(file)))), "tar-")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, exec.Command("sync", "-f", dir).Run())
	began := time.Now()
	if out, err := exec.Command("tar", "-x", "-p", "-f", file, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	if sync {
		must(t, exec.Command("sync", "-f", dir).Run())
	}
	return time.Since(began)
}

// BenchmarkUnpack compares Fetch of an image that is in the cache, but isn't unpacked,
// with tar, in turn. x-tar is our speed as a multiple of tar's, x-tar-synced that of
// tar and sync. With UNITD_TEST_LONG=1 the image has 300 MB in 10,000 files.
func BenchmarkUnpack(b *testing.B) {
	files, total := size(b)
	content := tree(b, 1, files, total)
	for name, how := range map[string]format{"plain": plain, "gzip": gzipped} {
		b.Run(name, func(b *testing.B) {
			c, digest, file := prepared(b, how, content)
			var us, tar, synced time.Duration
			for b.Loop() {
				us += byUs(b, c, digest)
				tar += byTar(b, file, false)
				synced += byTar(b, file, true)
			}
			b.ReportMetric(float64(us.Milliseconds())/float64(b.N), "ms/unpack")
			b.ReportMetric(tar.Seconds()/us.Seconds(), "x-tar")
			b.ReportMetric(synced.Seconds()/us.Seconds(), "x-tar-synced")
		})
	}
}

// BenchmarkSecondImage has an image with the base of another one, which is there:
// share is what it takes of the time of the first.
func BenchmarkSecondImage(b *testing.B) {
	files, total := size(b)
	base := layerOf(b, tree(b, 1, files, total), gzipped)
	own := layerOf(b, tree(b, 2, files/50, total/50), gzipped)
	first, second := source(b, layoutOf(b, imageOf(b, base))), source(b, layoutOf(b, imageOf(b, base, own)))
	var took [2]time.Duration
	for b.Loop() {
		c := &Cache{Dir: filepath.Join(b.TempDir(), "cache")}
		for n, s := range []Source{first, second} {
			began := time.Now()
			r, err := c.Resolve(b.Context(), s)
			must(b, err)
			i, err := c.Fetch(b.Context(), s, r.Digest)
			must(b, err)
			took[n] += time.Since(began)
			r.Release()
			i.Release()
		}
		must(b, os.RemoveAll(c.Dir))
	}
	b.ReportMetric(float64(took[1].Milliseconds())/float64(b.N), "ms/second-image")
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "share-of-first")
}

// The bound is generous, as hosts are busy: the figure is the benchmark's. What the
// race detector looks at is many times as slow; tar isn't.
func TestUnpackingTakesNoMuchLongerThanTar(t *testing.T) {
	bound := 4.0
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		bound = 60
	}
	c, digest, file := prepared(t, gzipped, tree(t, 1, 300, 8<<20))
	best := math.Inf(1)
	for range 4 {
		us, tar := byUs(t, c, digest), byTar(t, file, true)
		t.Logf("%v, and tar %v", us, tar)
		best = min(best, us.Seconds()/tar.Seconds())
	}
	if best > bound {
		t.Errorf("unpacking takes %.1f times as long as tar does", best)
	}
}

// Of the second image only what is its own is read, written and unpacked.
func TestASecondImageOfTheSameBaseWritesItsOwnPartOnly(t *testing.T) {
	t.Parallel()
	var made atomic.Int32
	c := cacheIn(t)
	c.Disk = counting(&made)
	base := layerOf(t, tree(t, 1, 50, 1<<20), gzipped)
	fetched(t, c, source(t, layoutOf(t, imageOf(t, base))))
	before, err := c.List(t.Context())
	must(t, err)
	fetched(t, c, source(t, layoutOf(t, imageOf(t, []v1.Layer{base, layerOf(t, tarOf(t, file("own", "x")), plain)}...))))
	after, err := c.List(t.Context())
	must(t, err)
	if made.Load() != 2 || after[0].Size > before[0].Size/100 || after[0].Shared < before[0].Size/2 {
		t.Errorf("%d layers were made; it has %+v", made.Load(), after[0])
	}
}
