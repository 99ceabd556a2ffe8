package charmdir

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/durable"
)

// BenchmarkDeployTrees measures what the trees of many units of one charm cost, of a few
// small files, and of 36 MB in 400 files: "ms/unit", and "MB" of the file system that
// TMPDIR is on, by its own count. From a store, which shares where the file system can,
// and from an archive, which copies. Units: 10; 100 and 1,000 as well with
// UNITD_TEST_LONG, from a store.
func BenchmarkDeployTrees(b *testing.B) {
	small := files{"metadata.yaml": leastMetadata, "src/charm.py": "print()\n", "lib/x.py": "X = 1\n"}
	large := small
	noise := make([]byte, 36_000_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	for n := range 400 {
		large = large.with(fmt.Sprintf("venv/package%d/module%d.so", n/10, n), string(noise[n*90_000:][:90_000]))
	}
	counts := []int{10}
	if os.Getenv("UNITD_TEST_LONG") != "" {
		counts = append(counts, 100, 1000)
	}
	for name, charm := range map[string]string{"small": small.archive(b), "36MB": large.archive(b)} {
		for _, units := range counts {
			b.Run(fmt.Sprintf("store/%s/%d", name, units), func(b *testing.B) { deployMany(b, charm, units, true) })
			if units <= 100 {
				b.Run(fmt.Sprintf("archive/%s/%d", name, units), func(b *testing.B) { deployMany(b, charm, units, false) })
			}
		}
	}
}

func deployMany(b *testing.B, charm string, units int, shared bool) {
	for b.Loop() {
		dir := b.TempDir()
		before, start := onDisk(b, dir), time.Now()
		s := NewStore(durable.Disk{}, filepath.Join(dir, "charms"))
		put := func(d *Deployer) error { return d.Deploy(b.Context(), charm, newURL) }
		if shared { // held as by units that are deployed at the same time
			tree, release, err := s.Tree(b.Context(), digestOf(charm), fetching(charm))
			must(b, err)
			defer release()
			put = func(d *Deployer) error { return d.DeployTree(b.Context(), tree, newURL) }
		}
		for n := range units {
			unit := filepath.Join(dir, fmt.Sprint(n))
			must(b, os.Mkdir(unit, 0o755))
			must(b, put(NewDeployer(durable.Disk{}, unit)))
		}
		took := time.Since(start)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(took.Microseconds())/1000/float64(units), "ms/unit")
		b.ReportMetric(float64(onDisk(b, dir)-before)/1e6, "MB")
		must(b, os.RemoveAll(dir))
	}
}

// onDisk are the bytes that a file system has given to files: what they share counts once.
func onDisk(b *testing.B, dir string) int64 {
	b.Helper()
	must(b, durable.Disk{}.SyncTree(dir)) // what isn't written isn't counted
	var st syscall.Statfs_t
	must(b, syscall.Statfs(dir, &st))
	return int64(st.Blocks-st.Bfree) * st.Bsize
}
