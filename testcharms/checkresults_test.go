package testcharms_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A whole run of "make check-bugs" takes hours, so what came of each check is kept in a file, and
// the page docs/check-bugs.md is made from that.

// result is what came of one check: of a planted Bug, of a sound Charm, or of a large one.
type result struct {
	// Bug is PROMISE/NAME; empty: the charm has none.
	Bug   string `json:"bug,omitempty"`
	Charm string `json:"charm"`
	Seed  int    `json:"seed,omitempty"`
	// Steps are those of the scenario that was found, 0 if none was; ByHand those of the one
	// beside the bug.
	Steps  int `json:"steps,omitempty"`
	ByHand int `json:"by-hand,omitempty"`
	// Kept says of a bug that the script and the test for pytest fail with it and pass without it.
	Kept bool `json:"kept,omitempty"`
	// Others are further findings, and Seconds how long it took.
	Others  int     `json:"others"`
	Seconds float64 `json:"seconds"`
	// Met of Wanted are the meetings of hooks and states of a large charm.
	Met    int `json:"met,omitempty"`
	Wanted int `json:"wanted,omitempty"`
	// Commit is the revision that was tried.
	Commit string `json:"commit"`
}

// resultsFile is where results are kept; empty: they aren't.
func resultsFile() string { return os.Getenv("UNITD_CHECK_BUGS") }

// beside has a test run beside others, unless results are kept: a check takes all processors.
func beside(t *testing.T) {
	t.Helper()
	if resultsFile() == "" {
		t.Parallel()
	}
}

// results are those in a file.
func results(t *testing.T, path string) (all []result) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r result
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v: %s", path, err, line)
		}
		all = append(all, r)
	}
	return all
}

// unknown ends a test whose result is kept, as that says.
func unknown(t *testing.T, is func(result) bool) {
	t.Helper()
	file := resultsFile()
	if file == "" {
		return
	}
	all := results(t, file)
	switch i := slices.IndexFunc(all, is); {
	case i < 0:
	case all[i].bad():
		t.Fatalf("%s says %+v; remove that line to try it anew", file, all[i])
	default:
		t.Skip("its result is in " + file)
	}
}

// bad says whether it isn't as it should be.
func (r result) bad() bool {
	if r.Bug != "" {
		return r.Steps == 0 || !r.Kept
	}
	return r.Others > 0 || r.Met != r.Wanted
}

// keep adds a result to the file.
func (r result) keep(t *testing.T) {
	t.Helper()
	if resultsFile() == "" {
		return
	}
	commit, err := exec.Command("git", "rev-parse", "--short=9", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	r.Commit = strings.TrimSpace(string(commit))
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(resultsFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(append(line, '\n'))
	if cerr := f.Close(); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
}

var updatePage = flag.Bool("update-page", false, "write docs/check-bugs.md anew")

// TestThePageOfPlantedBugs: the page shows what the file of results says about the planted bugs.
func TestThePageOfPlantedBugs(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "docs", "check-bugs.md")
	want := bugsPage(bugNames(t), results(t, filepath.Join("planted", "results.jsonl")))
	if *updatePage {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != want {
		t.Errorf("docs/check-bugs.md doesn't match the results (%v): run go test -run ThePageOfPlantedBugs ./testcharms -update-page", err)
	}
}

// bugNames are the planted bugs, as PROMISE/NAME.
func bugNames(t *testing.T) (names []string) {
	t.Helper()
	patches, err := filepath.Glob(filepath.Join("planted", "*", "*.patch"))
	if err != nil || len(patches) == 0 {
		t.Fatalf("there are no planted bugs (%v)", err)
	}
	for _, path := range patches {
		names = append(names, filepath.Base(filepath.Dir(path))+"/"+strings.TrimSuffix(filepath.Base(path), ".patch"))
	}
	return names
}

// bugsPage is the page of some results.
func bugsPage(bugs []string, all []result) string {
	var found, rows, sound, large strings.Builder
	n, tried, short := 0, 0, 0
	for _, name := range bugs {
		at := slices.IndexFunc(all, func(r result) bool { return r.Bug == name })
		link := fmt.Sprintf("[%s](../testcharms/planted/%[1]s.patch)", name)
		if at < 0 {
			fmt.Fprintf(&rows, "| %s | not tried yet | | | |\n", link)
			continue
		}
		r := all[at]
		if tried++; r.Steps == 0 {
			fmt.Fprintf(&rows, "| %s | **no** | | %d | %.0f s |\n", link, r.ByHand, r.Seconds)
			continue
		}
		yes := "yes"
		if !r.Kept {
			yes = "yes, but what was kept doesn't show it"
		}
		if n++; r.Steps <= r.ByHand+2 {
			short++
		}
		fmt.Fprintf(&rows, "| %s | %s | %d | %d | %.0f s |\n", link, yes, r.Steps, r.ByHand, r.Seconds)
	}
	fmt.Fprintf(&found, "%d of the %d planted bugs have been tried. `check` finds %d of them, and for %d its scenario is at most two lines longer than the one written by hand.\n",
		tried, len(bugs), n, short)
	for _, r := range all {
		switch {
		case r.Bug != "":
		case r.Wanted > 0:
			fmt.Fprintf(&large, "\n`%s` has 6 relations, 20 options and 5 actions. A check with `--for 220s` took %.0f seconds, with the time to make the charm's world. It covered %d of %d pairs of a hook or an action and a state of an endpoint, and had %d findings.\n",
				r.Charm, r.Seconds, r.Met, r.Wanted, r.Others)
		default:
			fmt.Fprintf(&sound, "| %s | %d | %d | %.0f s |\n", r.Charm, r.Seed, r.Others, r.Seconds)
		}
	}
	page := `# What unitd check finds of planted bugs

The folder [testcharms/planted](../testcharms/planted/README.md) has bugs for charms that are sound without them. ` + "`make check-bugs`" + ` adds one bug at a time to its charm, and checks
the charm: all promises, for at most five minutes, and with ` + "`--fail-fast`" + `. If the first finding isn't that bug, it checks the charm again without ` + "`--fail-fast`" + `. Then it runs what
` + "`check`" + ` has kept, as a script and as a test for pytest, with the bug and without it. This page is made from the results.

` + found.String() + `
In the table, *lines* counts the lines of the scenario that ` + "`check`" + ` found, and *by hand* those of the scenario beside the bug. *After* says how long the check took.

| bug | found | lines | by hand | after |
|---|---|---|---|---|
` + rows.String()
	if sound.Len() > 0 {
		page += "\n## Sound charms\n\nIn a charm without a bug, `check` should find nothing:\n\n| charm | seed | findings | after |\n|---|---|---|---|\n" + sound.String()
	}
	if large.Len() > 0 {
		page += "\n## A large charm\n" + large.String()
	}
	return page
}
