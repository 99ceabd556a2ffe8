package action_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestHostTheActionsSteps runs the steps of action.yml as a runner does, in the
// repository of a charm, several times as one run follows another. The action is a
// directory with the files of this repository and no git, as GitHub fetches it.
func TestHostTheActionsSteps(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || exec.Command("python3", "-c", "import tomllib, venv, ensurepip").Run() != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI has to run the action: install Python 3.11 with venv")
		}
		t.Skip("skipped: the steps are run on Linux, with Python 3.11 that has venv")
	}
	w := &world{T: t, action: fetched(t), hub: &hub{dir: t.TempDir(), artifacts: map[string]string{}}, home: t.TempDir(), workspace: charm(t)}

	wheel := w.firstRun()
	w.runWithFailures()
	w.runOfAWheel(wheel)
	w.runFromAnIndex(wheel)
	w.runsThatAreMeantWrongly()
	w.nothingWasWrittenIntoTheAction()
}

// world is what stays from one run to the next: GitHub, and a charm's repository.
type world struct {
	*testing.T
	action, home, workspace string
	hub                     *hub
}

// run is one run of the action; it returns what that has printed.
func (w *world) run(ref string, failed bool, with map[string]string, env ...string) (*job, string) {
	w.Helper()
	j := &job{t: w.T, action: w.action, workspace: w.workspace, home: w.home, ref: ref, with: with, hub: w.hub, env: append(environment(w.T), env...)}
	j.run()
	if j.failed != failed {
		w.Fatalf("with %v, that it has failed is %v:\n%s", with, j.failed, j.log.String())
	}
	return j, j.log.String()
}

// firstRun builds a tag, and runs all that it can; what it has built is kept.
func (w *world) firstRun() (wheel string) {
	w.Helper()
	j, log := w.run("v1.2.3-rc.1", false, map[string]string{
		"scenarios": "tests/good", "pytest": "tests/good -k 'comes or up'", "packages": "-r 'what tests need.txt'", "report": "first",
	})
	if !slices.Contains(j.ran, "Set up Go") || !slices.Contains(j.ran, "Build") {
		w.Errorf("it hasn't been built, but ran %q", j.ran)
	}
	w.reports("first", "scenarios.xml", `tests="2" failures="0"`)
	w.reports("first", "pytest.xml", `failures="0" skipped="0" tests="1"`)
	if j.outputs["version"] != "1.2.3-rc.1" || j.outputs["report"] == "" {
		w.Errorf("the outputs are %q:\n%s", j.outputs, log)
	}
	if len(w.hub.caches) != 1 || !strings.HasPrefix(w.hub.caches[0], "unitd-wheel-Linux-X64-") { // the charm needs no packages
		w.Errorf("kept are %q", w.hub.caches)
	}
	// Of Python, later steps and the charm's hooks have what they had.
	names, err := os.ReadDir(j.paths[0])
	if err != nil || len(j.paths) != 1 || len(names) < 2 || slices.ContainsFunc(names, func(e os.DirEntry) bool { return !strings.HasPrefix(e.Name(), "unitd") }) {
		w.Errorf("on the PATH is %q with %v (%v)", j.paths, names, err)
	}
	return j.outputs["wheel"]
}

// runWithFailures has a scenario and a test fail: the step fails, what follows runs all
// the same, and there is a report. What charms were built with is kept, too. It was built before.
func (w *world) runWithFailures() {
	w.Helper()
	must(w.T, os.MkdirAll(filepath.Join(w.home, ".cache", "unitd", "packages", "0123abc"), 0o755))
	j, log := w.run("v1.2.3-rc.1", true, map[string]string{"scenarios": "tests/good tests/bad", "pytest": "tests", "report": "second"})
	if slices.Contains(j.ran, "Set up Go") || slices.Contains(j.ran, "Build") || j.outputs["version"] != "1.2.3-rc.1" {
		w.Errorf("it was built again, as it ran %q", j.ran)
	}
	if j.outcome("plan") != "success" || j.outcome("install") != "success" {
		w.Errorf("another step has failed:\n%s", log)
	}
	w.reports("second", "scenarios.xml", `tests="3" failures="1"`)
	w.reports("second", "pytest.xml", `failures="1" skipped="0" tests="2"`)
	if len(w.hub.caches) != 2 || !strings.HasPrefix(w.hub.caches[1], "unitd-fetched-Linux-X64-") {
		w.Errorf("kept are %q", w.hub.caches)
	}
}

// runOfAWheel is in a directory of its own, with no suite in Python. It finds what the
// run before has kept, and has nothing new to keep.
func (w *world) runOfAWheel(wheel string) {
	w.Helper()
	must(w.T, os.RemoveAll(filepath.Join(w.home, ".cache")))
	copied(w.T, wheel, filepath.Join(w.workspace, "tests", filepath.Base(wheel)))
	j, _ := w.run("", false, map[string]string{"version": "./" + filepath.Base(wheel), "working-directory": "tests", "scenarios": "good/boots.txtar", "report": "third"})
	w.reports("third", "scenarios.xml", `tests="1" failures="0"`)
	if slices.Contains(j.ran, "pytest") || slices.Contains(j.ran, "Restore the program") {
		w.Errorf("it ran %q", j.ran)
	}
	if _, err := os.Stat(filepath.Join(w.home, ".cache", "unitd", "packages", "0123abc")); err != nil || len(w.hub.caches) != 2 {
		w.Errorf("kept are %q, and what was kept isn't there: %v", w.hub.caches, err)
	}
}

// runFromAnIndex only installs: there is nothing to report or to keep.
func (w *world) runFromAnIndex(wheel string) {
	w.Helper()
	index := []string{"PIP_NO_INDEX=1", "PIP_FIND_LINKS=" + filepath.Join(w.workspace, "tests")}
	j, log := w.run("", false, map[string]string{"version": "1.2.3rc1", "cache": "false"}, index...)
	if j.outputs["version"] != "1.2.3-rc.1" || j.outputs["wheel"] != "" || !slices.Equal(j.ran, []string{"Find out what to install", "Install"}) {
		w.Errorf("it ran %q, and the outputs are %q:\n%s", j.ran, j.outputs, log)
	}
	j, log = w.run("", true, map[string]string{"version": "9.9", "scenarios": "tests/good", "report": "none"}, index...)
	if !strings.Contains(log, "::error::unitd: cannot install unitd==9.9") || slices.Contains(j.ran, "Scenarios") {
		w.Errorf("it ran %q:\n%s", j.ran, log)
	}
}

// runsThatAreMeantWrongly end with a line that says so, and run no tests.
func (w *world) runsThatAreMeantWrongly() {
	w.Helper()
	for _, c := range []struct {
		with map[string]string
		want string
	}{
		{map[string]string{"version": "newest"}, "::error::unitd: version is 'newest', and should be source, latest, a version like 1.2.0, or the path of a wheel"},
		{map[string]string{"version": "no.whl"}, "::error::unitd: there is no wheel no.whl"},
		{map[string]string{"packages": "'ops"}, "::error::unitd: cannot part into words: 'ops"},
	} {
		c.with["report"] = "wrong: " + c.want
		c.with["scenarios"] = "tests/good"
		j, log := w.run("v1.2.3-rc.1", true, c.with)
		if !strings.Contains(log, c.want+"\n") || slices.Contains(j.ran, "Scenarios") {
			w.Errorf("with %v it ran %q:\n%s", c.with, j.ran, log)
		}
	}
}

// nothingWasWrittenIntoTheAction, which other jobs of a runner use, too.
func (w *world) nothingWasWrittenIntoTheAction() {
	w.Helper()
	out, err := exec.Command("find", w.action, "-newer", filepath.Join(w.action, "action.yml"), "-type", "f").Output()
	if err != nil || len(out) > 0 {
		w.Errorf("there was written %s (%v)", out, err)
	}
}

// reports is that an artifact has a report with a text.
func (w *world) reports(artifact, name, want string) {
	w.Helper()
	b, err := os.ReadFile(filepath.Join(w.hub.artifacts[artifact], name))
	if err != nil || !bytes.Contains(b, []byte(want)) {
		w.Errorf("%s of %s is %s (%v), want %s", name, artifact, b, err, want)
	}
}

func (j *job) outcome(id string) any {
	result, _ := j.steps[id].(map[string]any)
	return result["outcome"]
}
