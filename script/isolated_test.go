package script_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script"
)

// notIsolated are the scripts that can't pass with isolated units, with what
// they look at.
var notIsolated = map[string]string{
	"U-CFG-4-addresses-and-trust-are-told":                        "the host's address as the units'",
	"U-ERR-10-a-hook-that-cannot-be-started-says-why":             "an error that the host's kernel has for a hook that is being written",
	"U-INT-7-what-a-killed-agent-left-is-ended-first":             "processes of hooks, by their ids on the host",
	"U-PRC-3-a-hook-that-times-out-is-ended-with-its-tree":        "processes of hooks, by their ids on the host",
	"U-RBT-2-juju-reboot-is-kept-until-the-hook-succeeds":         "the charm's directory at its path on the host",
	"config-get-repeats-its-answer":                               "the program of unitd in a hook, by its path on the host",
	"diff-shows-what-the-last-wait-changed":                       "the host's address as the units'",
	"explore-replays-hooks-and-finds-those-that-are-no-functions": "hooks that are replayed, which those of isolated units aren't",
	"unit-removed-by-force-ends-what-its-hook-has-started":        "processes of hooks, by their ids on the host",
}

// TestHostScriptsWithIsolatedUnits: what scripts can do to units they can do to
// isolated ones. With UNITD_TEST_LONG all scripts are run so.
func TestHostScriptsWithIsolatedUnits(t *testing.T) {
	t.Parallel()
	mayIsolate(t)
	files, err := script.Find(filepath.Join("testdata", "isolated"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UNITD_TEST_LONG") != "" {
		all, err := script.Find(filepath.Join("testdata", "script"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range all {
			if notIsolated[strings.TrimSuffix(filepath.Base(file), ".txtar")] == "" {
				files = append(files, file)
			}
		}
	}
	script.RunFiles(t, script.Params{Files: files, Unitd: program(t), Isolate: model.IsolateOn})
}

// mayIsolate skips a test where units can't have machines of their own.
func mayIsolate(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	spec := isolate.Spec{Name: "try", Hostname: "try", ID: "try", Mode: model.IsolateOn, OS: isolate.HostOS}
	lost, err := machine.NewCells(dir, program(t)).Try(t.Context(), spec)
	if errors.Is(err, isolate.ErrNoRights) || lost != "" {
		t.Skipf("skipped: units cannot be isolated here: %v %s", err, lost)
	}
	if err != nil {
		t.Fatal(err)
	}
}
