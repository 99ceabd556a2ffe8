package script_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pebble/pebbletest"
	"github.com/unitd/unitd/script"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// TestHostScriptsWithContainers: what scripts can do to workload containers, which
// have real Pebbles.
func TestHostScriptsWithContainers(t *testing.T) {
	t.Parallel()
	withContainers(t, etcdtest.OnEtcd(), func(files []string) []string { return files })
}

// TestHostAScriptWithContainersOnEtcd runs one of them, by chance, in a world whose
// store is in etcd. TestOnEtcd runs all.
func TestHostAScriptWithContainersOnEtcd(t *testing.T) {
	t.Parallel()
	if etcdtest.OnEtcd() || os.Getenv("UNITD_TEST_LONG") != "" {
		t.Skip("all of them run there")
	}
	withContainers(t, true, func(files []string) []string {
		i := rand.IntN(len(files))
		return files[i : i+1]
	})
}

// withContainers runs those scripts that are chosen of all with containers.
func withContainers(t *testing.T, etcd bool, choose func([]string) []string) {
	t.Helper()
	mayIsolate(t)
	files, err := script.Find(filepath.Join("testdata", "containers"))
	if err != nil {
		t.Fatal(err)
	}
	p := script.Params{Files: files, Unitd: program(t), Isolate: model.IsolateOn, Pebble: pebbletest.Program(t)}
	if etcd {
		p.Files = thoseOnEtcd(t, files)
		p.Store = func(string) string { return etcdtest.URL(t) }
	}
	p.Files = choose(p.Files)
	script.RunFiles(t, p)
}
