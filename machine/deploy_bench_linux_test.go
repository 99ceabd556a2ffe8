package machine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// BenchmarkDeployUnits measures the deployment of many units of one charm on one host,
// from nothing until all have settled: a charm of a few small files, and one of 36 MB
// in 400 files, as charms with Python packages are. The charms have no hooks, so it is
// the deployment that is measured. "ms/unit" is the time, "MB" the disk that the
// agent's directory takes by the file system's own count, without the store. TMPDIR
// says on which file system. Units: 10; 100 and 1,000 as well with UNITD_TEST_LONG.
func BenchmarkDeployUnits(b *testing.B) {
	if etcdtest.OnEtcd() {
		b.Skip("the disk of another store isn't asked about")
	}
	counts := []int{10}
	if os.Getenv("UNITD_TEST_LONG") != "" {
		counts = append(counts, 100, 1000)
	}
	for _, size := range []string{"small", "36MB"} {
		for _, units := range counts {
			b.Run(fmt.Sprintf("%s/%d", size, units), func(b *testing.B) {
				for b.Loop() {
					deployMany(b, size != "small", units)
				}
			})
		}
	}
}

func deployMany(b *testing.B, large bool, units int) {
	w := newWorldWith(b, nil)
	charm := b.TempDir()
	writeTo(b, charm, "metadata.yaml", []byte("name: many\nsummary: s\n"))
	writeTo(b, charm, "src/charm.py", []byte("print()\n"))
	writeTo(b, charm, "lib/charms/x/v0/x.py", []byte("X = 1\n"))
	if large {
		text := noise(36_000_000)
		for n := range 400 {
			writeTo(b, charm, fmt.Sprintf("venv/package%d/module%d.so", n/10, n), text[n*90_000:][:90_000])
		}
	}
	url := w.add(charm)
	w.configure = func(*machine.Config) {}
	before := used(b, w.dir)
	start := time.Now()
	w.deploy("many", url, units)
	w.restart()
	w.settle()
	took := time.Since(start)
	w.stop()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took.Milliseconds())/float64(units), "ms/unit")
	b.ReportMetric(float64(used(b, w.dir)-before)/1e6, "MB")
}

// noise are bytes that can't be packed.
func noise(size int) []byte {
	text := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(text)
	return text
}

func writeTo(t testing.TB, dir, name string, text []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// used is what is taken of a file system, in bytes: what files share counts once.
func used(t testing.TB, dir string) int64 {
	t.Helper()
	if err := (durable.Disk{}).SyncTree(dir); err != nil { // what isn't written isn't counted
		t.Fatal(err)
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return int64(st.Blocks-st.Bfree) * st.Bsize
}
