package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script"
)

// TestScripts runs unitd's own behaviour as scripts.
func TestScripts(t *testing.T) {
	t.Parallel()
	run(t, filepath.Join("testdata", "script"))
}

// run runs the scripts in a directory as tests.
func run(t *testing.T, dir string) {
	t.Helper()
	files, err := script.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	script.RunFiles(t, script.Params{Files: files, Unitd: program(t), Isolate: model.IsolateOff})
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
	if dir, err := programs(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}
