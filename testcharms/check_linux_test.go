package testcharms_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/check"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/pebble/pebbletest"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/testcharms/images"
	"github.com/unitd/unitd/workload"
)

// checks are how a charm is checked in these tests: for a short time, and one promise alone; where
// results are kept, for five minutes, and all.
func checks(promise string) []string {
	if resultsFile() != "" {
		return []string{"--for", "5m", "--fail-fast"}
	}
	return []string{"--for", "60s", "--only", promise, "--fail-fast"}
}

// checked is the report of a check of a charm with a patch, and its findings as files in the
// charm's folder tests.
func checked(t *testing.T, charm, patch, image string, flags ...string) (dir string, r check.Report) {
	t.Helper()
	top := t.TempDir()
	dir = filepath.Join(top, "charm")
	patched(t, charm, dir, patch)
	page, badge := filepath.Join(top, "page.html"), filepath.Join(top, "badge.svg")
	args := append([]string{"check", dir, "--json", "--keep", filepath.Join(dir, "tests"), "--report", page, "--badge", badge}, flags...)
	cmd := exec.Command(unitd(t))
	switch charm {
	case "pantry":
		former, err := filepath.Abs(filepath.Join("planted", "former.patch"))
		if err != nil {
			t.Fatal(err)
		}
		patched(t, charm, filepath.Join(top, "former"), former)
		args = append(args, "--from", filepath.Join(top, "former"))
	case "webby":
		args = append(args, "--resource", "web-image=oci-archive:"+image)
		cmd.Env = append(os.Environ(), workload.PebbleVariable+"="+pebbletest.Program(t))
	}
	cmd.Args = append(cmd.Args, args...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%v: %s", err, said.String())
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if (err != nil) != (len(r.Findings) > 0) {
		t.Errorf("it ended with %v, and has %d findings", err, len(r.Findings))
	}
	shown(t, r, page, badge)
	return dir, r
}

// shown: the page and the badge of a check tell what its report does.
func shown(t *testing.T, r check.Report, page, badge string) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	articles := 0
	for in := xml.NewDecoder(bytes.NewReader(b)); ; {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page isn't whole: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "article" {
			articles++
		}
	}
	if articles != len(r.Findings) {
		t.Errorf("the page has %d findings, the report %d", articles, len(r.Findings))
	}
	for _, f := range r.Findings {
		if !bytes.Contains(b, []byte(html.EscapeString(f.What))) {
			t.Errorf("the page doesn't say %q", f.What)
		}
	}
	if b, err := os.ReadFile(badge); err != nil || xml.Unmarshal(b, new(struct{})) != nil || bytes.Contains(b, []byte("finding")) != (len(r.Findings) > 0) {
		t.Errorf("%v: the badge is %s", err, b)
	}
}

func mayCheck(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("units with machines of their own need root")
	}
	if etcdtest.OnEtcd() {
		t.Skip("the worlds of a check have stores of their own")
	}
}

// shortest are bugs that are found in half a minute on an idle machine.
var shortest = []string{"wrong-config/opens-any-port", "removal/asks-the-peers", "update-status/takes-a-relation-for-granted"}

// TestHostCheckFindsPlantedBugs: each with a scenario that isn't much longer than the one beside
// it, that fails with the bug and passes without.
func TestHostCheckFindsPlantedBugs(t *testing.T) {
	beside(t)
	mayCheck(t)
	image := images.WriteOCI(t, images.Web(t), "web.tar")
	for _, b := range plantedBugs(t) {
		name := b.promise + "/" + b.name
		if resultsFile() == "" && !slices.Contains(shortest, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			beside(t)
			unknown(t, func(r result) bool { return r.Bug == name })
			dir, r := checked(t, b.charm, b.patch, image, append(checks(b.promise), "--seed", "1")...)
			at := b.foundIn(r)
			if at < 0 && len(r.Findings) > 0 && resultsFile() != "" { // it has stopped at another one
				dir, r = checked(t, b.charm, b.patch, image, "--for", "5m", "--seed", "1")
				at = b.foundIn(r)
			}
			of := result{Bug: name, Charm: b.charm, ByHand: len(b.steps(t)), Seconds: r.Took.Seconds(), Others: len(r.Findings)}
			if at >= 0 {
				of.Steps, of.Others = len(r.Findings[at].Steps), of.Others-1
			}
			if at < 0 {
				of.keep(t)
				t.Fatalf("it finds %d others, and not this one", len(r.Findings))
			}
			if of.Steps > of.ByHand+2 {
				t.Errorf("its scenario has %d steps, and that beside the bug %d:\n%s", of.Steps, of.ByHand, strings.Join(r.Findings[at].Steps, "\n"))
			}
			if f := r.Findings[at]; strings.Contains(f.What, "Error: ") && f.File != "src/charm.py" {
				t.Errorf("%s is at %s:%d", f.What, f.File, f.Line)
			}
			of.Kept = b.keeps(t, dir)
			of.keep(t)
		})
	}
}

// foundIn is the bug's place among the findings of a report, or -1.
func (b plantedBug) foundIn(r check.Report) int {
	return slices.IndexFunc(r.Findings, func(f check.Finding) bool { return f.Promise == b.promise || slices.Contains(f.Also, b.promise) })
}

// steps are those of the scenario beside a bug.
func (b plantedBug) steps(t *testing.T) (steps []string) {
	t.Helper()
	text, err := os.ReadFile(b.script)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != '[' {
			steps = append(steps, line)
		}
	}
	return steps
}

// someFailed is in the summary of scripts that fail, and of pytest.
var someFailed = regexp.MustCompile(`\b[1-9]\d* failed`)

// keeps: what a check has kept fails with the bug, and passes without.
func (b plantedBug) keeps(t *testing.T, dir string) (ok bool) {
	t.Helper()
	var programs []string
	if b.charm == "webby" {
		programs = []string{workload.PebbleVariable + "=" + pebbletest.Program(t)}
	}
	runs := []func() ([]byte, error){func() ([]byte, error) {
		cmd := exec.Command(unitd(t), "test", "--isolate=on", filepath.Join(dir, "tests"))
		cmd.Env = append(os.Environ(), programs...)
		return cmd.CombinedOutput()
	}}
	if pytest := pytest(t, filepath.Join(dir, "tests"), programs...); pytest != nil {
		runs = append(runs, pytest)
	}
	ok = true
	for _, run := range runs {
		if out, err := run(); err == nil {
			ok = false
			t.Errorf("what was kept passes with the bug: %s", out)
		} else if text := string(out); !someFailed.MatchString(text) {
			ok = false
			t.Errorf("what was kept doesn't fail as it should: %s", text)
		}
	}
	undo := exec.Command("git", "apply", "-R", b.patch)
	undo.Dir = dir
	if out, err := undo.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, run := range runs {
		if out, err := run(); err != nil {
			ok = false
			t.Errorf("what was kept fails without the bug: %s", out)
		}
	}
	return ok
}

// pytest runs the tests in a folder with the package's plugin, in the environment that "make venv"
// makes, and more variables; nil: there is none.
func pytest(t *testing.T, dir string, more ...string) func() ([]byte, error) {
	t.Helper()
	venv, err := filepath.Abs(filepath.Join("..", ".venv"))
	if err != nil {
		t.Fatal(err)
	}
	packages := filepath.Join(venv, "python")
	if _, err := os.Stat(packages); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI has to run what is kept for pytest: %v", err)
		}
		return nil
	}
	source := filepath.Join(filepath.Dir(venv), "python")
	return func() ([]byte, error) {
		cmd := exec.Command(filepath.Join(venv, "bin", "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", dir, dir)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+source+string(os.PathListSeparator)+packages, "PYTHONDONTWRITEBYTECODE=1",
			"PYTEST_PLUGINS=unitd.plugin", "PYTEST_ADDOPTS=", "UNITD_BIN="+unitd(t))
		cmd.Env = append(cmd.Env, more...)
		return cmd.CombinedOutput()
	}
}

// TestHostOnlyTheFirstUnitOfACheckReachesTheNetwork: the others have what it has fetched, and
// nothing else is fetched.
func TestHostOnlyTheFirstUnitOfACheckReachesTheNetwork(t *testing.T) {
	t.Parallel()
	mayCheck(t)
	dir := filepath.Join(t.TempDir(), "fetcher")
	for name, text := range map[string]string{
		"metadata.yaml": "name: fetcher\nsummary: s\ndescription: d\n",
		"hooks/install": "#!/bin/sh\ncd /var/cache/apt || exit 4\n[ ! -e unitd-test ] || exit 0\n" +
			"cut -f2 /proc/net/route | grep -q 00000000 || exit 3\necho fetched >unitd-test\n",
		"hooks/update-status": "#!/bin/sh\ncut -f2 /proc/net/route | grep -q 00000000 && exit 5; exit 0\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(unitd(t), "check", dir, "--json", "--for", "2s", "--only", "interrupted-install,update-status").CombinedOutput()
	var r check.Report
	if i := strings.Index(string(out), "{"); err != nil || i < 0 || json.Unmarshal(out[i:], &r) != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !r.Closed || r.Fetched != int64(len("fetched\n")) || len(r.Tried) == 0 {
		t.Errorf("closed %v, %d bytes, %v", r.Closed, r.Fetched, r.Tried)
	}
}

// TestHostCheckMeetsAllOfALargeCharm: within five minutes, of which its world takes some, each hook runs in each state
// of each endpoint, but for those of the secrets that the charm doesn't own.
func TestHostCheckMeetsAllOfALargeCharm(t *testing.T) {
	beside(t)
	mayCheck(t)
	if resultsFile() == "" {
		t.Skip("takes five minutes of two processors; see make check-bugs")
	}
	unknown(t, func(r result) bool { return r.Wanted > 0 })
	_, r := checked(t, "bazaar", "", "", "--for", "220s", "--seed", "1")
	result{Charm: "bazaar", Seed: 1, Seconds: r.Took.Seconds(), Others: len(r.Findings), Met: r.Meetings.Met, Wanted: r.Meetings.Wanted}.keep(t)
	if len(r.Findings)+len(r.Odd) > 0 {
		t.Errorf("it finds %+v %v", r.Findings, r.Odd)
	}
	if want := []string{"secret-expired", "secret-rotate", "secret-remove"}; !slices.Equal(r.NotMet, want) {
		t.Errorf("it hasn't met %q, want %q", r.NotMet, want)
	}
	if m := r.Meetings; m.Met != m.Wanted || m.Wanted < 1000 {
		t.Errorf("of %d meetings it had %d, and not %v", m.Wanted, m.Met, m.Missing)
	}
}

// TestHostCheckFindsNothingInASoundCharm: whatever is tried.
func TestHostCheckFindsNothingInASoundCharm(t *testing.T) {
	beside(t)
	mayCheck(t)
	charms, seeds, time := []string{"pantry", "logger"}, 1, "30s"
	if resultsFile() != "" {
		charms, seeds, time = []string{"pantry", "webby", "logger"}, 10, "5m"
	}
	image := images.WriteOCI(t, images.Web(t), "web.tar")
	for _, charm := range charms {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s/%d", charm, seed+1), func(t *testing.T) {
				beside(t)
				unknown(t, func(r result) bool { return r.Charm == charm && r.Seed == seed+1 && r.Wanted == 0 })
				_, r := checked(t, charm, "", image, "--for", time, "--seed", strconv.Itoa(seed+1))
				result{Charm: charm, Seed: seed + 1, Seconds: r.Took.Seconds(), Others: len(r.Findings)}.keep(t)
				for _, f := range r.Findings {
					t.Errorf("%s: %s\n%s", f.Promise, f.What, strings.Join(f.Steps, "\n"))
				}
				if len(r.Odd) > 0 {
					t.Errorf("scenarios that can't be carried out: %s", strings.Join(r.Odd, "\n"))
				}
				if len(r.Tried) == 0 {
					t.Error("nothing was tried")
				}
				if charm == "pantry" {
					saysLines(t, r)
				}
			})
		}
	}
}

// saysLines: the report says which lines of the charm's code have run, and that is most of it; or that
// the Python of this host's machines is too old for that.
func saysLines(t *testing.T, r check.Report) {
	t.Helper()
	python := exec.Command("/usr/bin/env", "-i", "PATH="+isolate.Path, "python3", "-c", "import sys; print(sys.version_info >= (3, 8))")
	if out, err := python.Output(); err != nil || strings.TrimSpace(string(out)) != "True" {
		if want := "the charm's Python is older than 3.8"; r.LinesUnknown != want || len(r.Lines) > 0 {
			t.Errorf("of lines it says %q %v, want %q", r.LinesUnknown, r.Lines, want)
		}
		return
	}
	at := slices.IndexFunc(r.Lines, func(f check.FileLines) bool { return f.File == "src/charm.py" })
	if at < 0 {
		t.Fatalf("it knows no lines of src/charm.py, but %v %q", r.Lines, r.LinesUnknown)
	}
	if f := r.Lines[at]; len(f.Code) < 100 || len(f.Ran) < len(f.Code)*3/4 {
		t.Errorf("of src/charm.py %d lines of %d have run: %v", len(f.Ran), len(f.Code), f.Ran)
	}
}
