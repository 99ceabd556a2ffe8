package python_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/unitd/unitd/testcharms"
)

// clients is the environment of the package's tests, made by "make venv": its
// interpreter, and the folder with what requirements.txt names.
func clients(t *testing.T) (python, packages string) {
	t.Helper()
	venv, err := filepath.Abs("../.venv")
	if err != nil {
		t.Fatal(err)
	}
	python, packages = filepath.Join(venv, "bin", "python"), filepath.Join(venv, "python")
	for _, path := range []string{python, packages} {
		if _, err := os.Stat(path); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("CI has to run the tests of the Python package: %v", err)
			}
			t.Skip(`skipped: the environment of the Python package isn't there; "make venv" makes it`)
		}
	}
	return python, packages
}

// environment is what the package's sources need to be found and to run.
func environment(t *testing.T, packages string) []string {
	t.Helper()
	programs, err := testcharms.Programs()
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"PYTHONPATH=" + here + string(os.PathListSeparator) + packages, "PYTHONDONTWRITEBYTECODE=1", "PYTEST_PLUGINS=unitd.plugin",
		"UNITD_BIN=" + filepath.Join(programs, "unitd"), "UNITD_ISOLATE=off", "PYTEST_ADDOPTS=",
	}
}

// TestHostThePackageInPython: its own tests, in tests, which drive the plugin by
// pytest's own pytester, with the clients from PyPI that requirements.txt pins.
func TestHostThePackageInPython(t *testing.T) {
	t.Parallel()
	python, packages := clients(t)
	t.Logf("%s", run(t, environment(t, packages), python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "tests", "--basetemp", filepath.Join(t.TempDir(), "pytest")))
}

// TestHostThePackageIsTyped as mypy --strict has it.
func TestHostThePackageIsTyped(t *testing.T) {
	t.Parallel()
	python, packages := clients(t)
	run(t, []string{"PYTHONPATH=" + packages}, python, "-m", "mypy", "--cache-dir", t.TempDir())
}
