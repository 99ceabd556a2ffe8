package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// TestScripts runs unitd's own behaviour as scripts.
func TestScripts(t *testing.T) {
	t.Parallel()
	run(t, filepath.Join("testdata", "script"))
}

// TestOnEtcd runs the tests of the package, among them all scripts, with worlds
// whose stores are in etcd.
func TestOnEtcd(t *testing.T) {
	if os.Getenv("UNITD_TEST_LONG") == "" {
		t.Skip("only with UNITD_TEST_LONG=1")
	}
	etcdtest.Again(t, "etcd3")
}

// notOnEtcd are the scripts that don't run there: of a world in etcd there is no
// snapshot.
var notOnEtcd = []string{"snapshot-keeps-what-is-still-to-happen", "snapshot-serves-many-branches"}

// run runs the scripts in a directory as tests.
func run(t *testing.T, dir string) {
	t.Helper()
	files, err := script.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := script.Params{Files: files, Unitd: program(t), Isolate: model.IsolateOff}
	if etcdtest.OnEtcd() {
		p.Files = slices.DeleteFunc(files, func(file string) bool {
			return slices.Contains(notOnEtcd, strings.TrimSuffix(filepath.Base(file), ".txtar"))
		})
		p.Store = func(string) string { return etcdtest.URL(t) }
	}
	script.RunFiles(t, p)
}

// programs builds unitd and the hook tool client once for all tests.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "unitd-test-")
	if err != nil {
		return "", err
	}
	for name, pkg := range map[string]string{"unitd": "../cmd/unitd", "unitd-hooktool": "../cmd/hooktool"} {
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg).CombinedOutput()
		if err != nil {
			os.RemoveAll(dir)
			return "", &exec.Error{Name: string(out), Err: err}
		}
	}
	return dir, nil
})

// program is the unitd program under test.
func program(t *testing.T) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "unitd")
}

func TestMain(m *testing.M) {
	code := m.Run()
	etcdtest.Stop()
	if dir, err := programs(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}
