package script_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/testcharms"
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

// keepsWorlds is a line of a script that keeps a world; a world with its store in etcd can't be kept.
var keepsWorlds = regexp.MustCompile(`(?m)^(?:snapshot|keep-runs)\b`)

// thoseOnEtcd are the files that run there.
func thoseOnEtcd(t *testing.T, files []string) []string {
	return slices.DeleteFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return keepsWorlds.Match(text)
	})
}

// run runs the scripts in a directory as tests.
func run(t *testing.T, dir string) {
	t.Helper()
	files, err := script.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := script.Params{Files: files, Unitd: program(t), Isolate: model.IsolateOff}
	if etcdtest.OnEtcd() {
		p.Files = thoseOnEtcd(t, files)
		p.Store = func(string) string { return etcdtest.URL(t) }
	}
	script.RunFiles(t, p)
}

// program is the unitd program under test.
func program(t *testing.T) string {
	t.Helper()
	dir, err := testcharms.Programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "unitd")
}

func TestMain(m *testing.M) {
	code := m.Run()
	etcdtest.Stop()
	testcharms.RemovePrograms()
	os.Exit(code)
}
