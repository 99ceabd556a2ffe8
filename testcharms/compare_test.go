package testcharms_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/testcharms"
)

// BenchmarkAuthorsTest is what an author waits for who tests that the Ops charm
// finds a database: with ops.testing, which calls the charm with events and data
// that the author has made up, in the test's process; and with unitd, where the
// agents of two real charms choose the hooks and run them as processes.
func BenchmarkAuthorsTest(b *testing.B) {
	venv, err := filepath.Abs(venvOfOps(b))
	if err != nil {
		b.Fatal(err)
	}
	dir, err := testcharms.Programs()
	if err != nil {
		b.Fatal(err)
	}
	script := filepath.Join(b.TempDir(), "opsy-finds-a-database.txtar")
	text, err := os.ReadFile(filepath.Join("testdata", "compare", filepath.Base(script)))
	if err != nil {
		b.Fatal(err)
	}
	charms := strings.NewReplacer("@OPSY@", testcharms.CopyOps(b, venv), "@LEDGER@", testcharms.Copy(b, "ledger"))
	if err := os.WriteFile(script, []byte(charms.Replace(string(text))), 0o600); err != nil {
		b.Fatal(err)
	}
	python := exec.Command(filepath.Join(venv, "bin", "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", filepath.Join("testdata", "compare"))
	python.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(venv, "opstesting"), "PYTHONDONTWRITEBYTECODE=1")
	for name, cmd := range map[string]*exec.Cmd{
		"ops.testing": python,
		"unitd":       exec.Command(filepath.Join(dir, "unitd"), "test", "--isolate=off", script),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				again := *cmd
				if out, err := again.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
			}
		})
	}
}
