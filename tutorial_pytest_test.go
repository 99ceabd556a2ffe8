package unitd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/unitd/unitd/testcharms"
)

const pytestTutorial = "docs/tutorial-pytest.md"

// TestHostTheTutorialWithPytestIsTrue does what the tutorial says, beginning with an
// empty directory: uv gets unitd from a wheel that is made here, and all else from
// an index of packages. Where there is no charm, init says so in a line.
func TestHostTheTutorialWithPytestIsTrue(t *testing.T) {
	t.Parallel()
	steps, err := readTutorial(read(t, pytestTutorial))
	if err != nil {
		t.Fatal(err)
	}
	r := readerWithUV(t)
	r.run(tutorialStep{
		command: "uvx unitd init", exit: 1,
		printed: "…\nERROR this directory is no charm's repository, as it has neither charmcraft.yaml nor metadata.yaml: run this in one, or name its directory\n",
	})
	for _, s := range steps {
		r.follow(s)
	}
	r.leavesNothing()
}

// readerWithUV has uv, and no package of Python but a wheel of unitd.
func readerWithUV(t *testing.T) *reader {
	uv, err := filepath.Abs(".venv/python/bin")
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"the environment of the Python package": look(filepath.Join(uv, "uvx")), "Python 3.11": exec.Command("python3", "-c", "import tomllib").Run(),
	} {
		if err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI has to follow %s, for which %s isn't there: %v", pytestTutorial, what, err)
		}
		t.Skipf("skipped: there is no %s: %v", what, err)
	}
	programs, err := testcharms.Programs()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(testcharms.RemovePrograms)
	wheels := t.TempDir()
	// Its version is above any that an index may have.
	cmd := exec.Command("python3", "python/wheel.py", "--platform", runtime.GOOS+"/"+runtime.GOARCH, "--version", "999.0.0", "--programs", programs, "--out", wheels)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := emptyHanded(t, pytestTutorial)
	for _, name := range []string{"uv", "uvx"} {
		if err := os.Symlink(filepath.Join(uv, name), filepath.Join(r.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.env = append(r.env, "UV_FIND_LINKS="+wheels, "UV_PYTHON_DOWNLOADS=never", "COLUMNS=80", "PYTHONPATH=", "PYTEST_ADDOPTS=", "PYTEST_PLUGINS=")
	if index := os.Getenv("PIP_INDEX_URL"); index != "" && !strings.Contains(strings.Join(r.env, "\n"), "\nUV_DEFAULT_INDEX=") {
		r.env = append(r.env, "UV_DEFAULT_INDEX="+index)
	}
	return r
}

func look(path string) error {
	_, err := os.Stat(path)
	return err
}
