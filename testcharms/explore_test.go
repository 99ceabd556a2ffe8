package testcharms_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script"
	"github.com/unitd/unitd/testcharms"
)

// pairSteps are what comes about in many ways: a pair of charms written with Ops that share a
// secret, and a change.
const pairSteps = `-- steps --
deploy %s
deploy %s
integrate mint purse
config mint metal=gold
# then
workload purse/0 active
`

// explored is what an exploration has come to.
type explored struct {
	ran, replayed int
	took          time.Duration
	worlds        map[string]string // by the name of the way, how the world looked at its end
	output        string
}

// exploreScript explores the steps at the end of a script, with more flags.
func exploreScript(t testing.TB, unitd, steps string, runs int, flags string) explored {
	t.Helper()
	file := filepath.Join(t.TempDir(), "explore.txtar")
	text := fmt.Sprintf("explore -seed 7 -runs %d %s steps\n\n%s", runs, flags, steps)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	x := explored{worlds: map[string]string{}}
	var mu sync.Mutex
	s := script.Suite{Out: io.Discard, Verbose: true, Params: script.Params{Files: []string{file}, Unitd: unitd, Isolate: model.IsolateOff, Seen: func(ctx context.Context, seen script.Seen) {
		looks := looksOf(ctx, t, seen)
		mu.Lock()
		defer mu.Unlock()
		x.worlds[filepath.Base(seen.File)] = looks
	}}}
	began := time.Now()
	outcomes, err := s.Run(t.Context())
	x.took = time.Since(began)
	if err != nil || len(outcomes) != 1 || outcomes[0].Outcome != script.Passed {
		t.Fatalf("%v, %+v", err, outcomes)
	}
	x.output = outcomes[0].Output
	if n := regexp.MustCompile(`(\d+) were run and (\d+) replayed`).FindStringSubmatch(x.output); n != nil {
		x.ran, _ = strconv.Atoi(n[1])
		x.replayed, _ = strconv.Atoi(n[2])
	}
	return x
}

// secretIDs are what differs in two worlds by chance.
var secretIDs = regexp.MustCompile(`secret:(//UUID/)?[0-9a-v]{20}`)

// looksOf is how a world looks: the model, and what each unit's hooks have called, written and
// come to.
func looksOf(ctx context.Context, t testing.TB, seen script.Seen) string {
	picture, err := seen.Model.Picture(ctx)
	if err != nil {
		t.Error(err)
	}
	var lines []string
	for _, f := range picture {
		lines = append(lines, fmt.Sprintf("%+v", f))
	}
	slices.Sort(lines)
	units, err := seen.Model.Units(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, u := range units {
		runs, err := history.Read(machine.HistoryDir(seen.Dir, seen.Model.UUID()), u.Name)
		if err != nil {
			t.Error(err)
		}
		for _, r := range runs {
			line := fmt.Sprintf("%s %s %s %s %d %+v:", u.Name, r.Name, r.Outcome, r.Message, r.Exit, r.Written)
			for _, c := range r.Calls {
				line += fmt.Sprintf(" %s=%d", c.Tool, c.Code)
			}
			lines = append(lines, line)
		}
	}
	text := strings.ReplaceAll(strings.Join(lines, "\n"), seen.Model.UUID(), "UUID")
	return secretIDs.ReplaceAllString(text, "secret:ID")
}

// TestHostReplayedWaysAreLikeOthers: with Ops, the worlds of an exploration look the same at their
// ends whether hooks are replayed or not: model, databags, statuses, and all hook runs.
func TestHostReplayedWaysAreLikeOthers(t *testing.T) {
	t.Parallel()
	venv := venvOfOps(t)
	steps := fmt.Sprintf(pairSteps, testcharms.CopyPython(t, "mint", venv), testcharms.CopyPython(t, "purse", venv))
	const runs = 4
	with, without := exploreScript(t, unitd(t), steps, runs, ""), exploreScript(t, unitd(t), steps, runs, "-replay=false")
	t.Logf("%d hooks were run, and %d replayed", with.ran, with.replayed)
	if with.replayed < with.ran/6 { // how many more depends on which worlds met a hook first
		t.Errorf("%d hooks were run and %d replayed: %s", with.ran, with.replayed, with.output)
	}
	if strings.Contains(with.output, "isn't replayed") || strings.Contains(with.output, "no hook of") {
		t.Errorf("hooks weren't replayed: %s", with.output)
	}
	ways := 0
	for name, want := range without.worlds {
		if !strings.HasPrefix(name, "way-") {
			continue
		}
		ways++
		if have := with.worlds[name]; have != want {
			t.Errorf("%s with replays:\n%s\n\nwithout:\n%s", name, have, want)
		}
	}
	if ways != runs {
		t.Errorf("%d ways were seen: %v", ways, without.output)
	}
}

// BenchmarkExplore measures how many ways of a pair of Ops charms are explored in a second, with
// replayed hooks and without: the first time that a hook is run is part of both.
func BenchmarkExplore(b *testing.B) {
	dir, err := testcharms.Programs()
	if err != nil {
		b.Fatal(err)
	}
	unitd, venv := filepath.Join(dir, "unitd"), venvOfOps(b)
	steps := fmt.Sprintf(pairSteps, testcharms.CopyPython(b, "mint", venv), testcharms.CopyPython(b, "purse", venv))
	many, few := 120, 6
	if f := flag.Lookup("test.benchtime"); f != nil && f.Value.String() == "1x" { // it is to run, and not to measure
		many, few = 6, 2
	}
	var with, without time.Duration
	ran, replayed, n := 0, 0, 0
	for b.Loop() {
		n++
		without += exploreScript(b, unitd, steps, few, "-replay=false").took
		x := exploreScript(b, unitd, steps, many, "")
		with, ran, replayed = with+x.took, ran+x.ran, replayed+x.replayed
	}
	fast, slow := float64(many*n)/with.Seconds(), float64(few*n)/without.Seconds()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(fast, "ways/s-replayed")
	b.ReportMetric(slow, "ways/s-run")
	b.ReportMetric(fast/slow, "x")
	b.ReportMetric(100*float64(replayed)/float64(ran+replayed), "%-replayed")
}
