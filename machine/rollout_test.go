package machine_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// podMetadata is that of a container charm that drives no containers: what is made
// anew is its directory.
const podMetadata = "name: app\nsummary: s\nassumes: [k8s-api]\nconfig: {}\n"

// podCharm leaves files in its directory, as Ops does with what is deferred, and
// wants to find none where it is told that its directory is another one.
const podCharm = `
case "$JUJU_HOOK_NAME" in
upgrade-charm) [ "$(echo left-*)" = "left-*" ];;
*) : > "left-$JUJU_HOOK_NAME";;
esac
status-set active
`

// runsOf are the hooks of units in the order in which they began, "app/1 stop".
func (w *world) runsOf(units ...model.UnitName) []string {
	w.t.Helper()
	var all []history.Entry
	for _, u := range units {
		all = append(all, w.entries(u)...)
	}
	slices.SortStableFunc(all, func(a, b history.Entry) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Run, b.Run))
	})
	var runs []string
	for _, e := range all {
		runs = append(runs, string(e.Unit)+" "+e.Name)
	}
	return runs
}

// TestK047K110UnitsAreMadeAnewOneByOne: another charm, and then another file, reach
// the units of a container application, the highest number first; each has its
// directory anew, and only one at a time is not there.
func TestK047K110UnitsAreMadeAnewOneByOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("app", w.charm(podMetadata, podCharm), 2)
	w.settle()
	before := len(w.runsOf("app/0", "app/1"))
	anew := func(u model.UnitName) (runs []string) {
		for _, hook := range []string{"stop", "upgrade-charm", "config-changed", "start"} {
			runs = append(runs, string(u)+" "+hook)
		}
		return runs
	}
	want := append(anew("app/1"), anew("app/0")...)
	for _, change := range []func() error{
		func() error { return w.model.SetCharm(w.ctx, "app", w.charm(podMetadata, podCharm+"# other\n"), false) },
		func() error { return w.model.SetCharm(w.ctx, "app", w.charm(podMetadata, podCharm+"# third\n"), false) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		w.settle()
		runs := w.runsOf("app/0", "app/1")
		if got := runs[before:]; !slices.Equal(got, want) {
			t.Errorf("they ran\n  %s\nnot\n  %s", strings.Join(got, ", "), strings.Join(want, ", "))
		}
		before = len(runs)
		for _, u := range []model.UnitName{"app/0", "app/1"} {
			w.wantPod(u)
		}
	}
}

// wantPod checks that a unit has the pod that it is to have, is ready, and that
// nothing is there of what its hooks had left in the former one.
func (w *world) wantPod(u model.UnitName) {
	w.t.Helper()
	p, err := w.model.Pod(w.ctx, u)
	if err != nil {
		w.t.Fatal(err)
	}
	if p.Has != p.Wanted.Number || !p.Ready || p.Former != nil {
		w.t.Errorf("%s has the pod %+v", u, p)
	}
	var left []string
	for _, pattern := range []string{"charm/left-*", "charm?*"} {
		found, _ := filepath.Glob(filepath.Join(w.unitDir(u), pattern))
		for _, path := range found {
			left = append(left, filepath.Base(path))
		}
	}
	if !slices.Equal(left, []string{"left-config-changed", "left-start"}) {
		w.t.Errorf("%s has left %v", u, left)
	}
}

// TestAnAgentThatIsKilledAsAUnitIsMadeAnewEndsRight kills the agent at each step of
// a unit's replacement, or at some of them, and has another one go on.
func TestAnAgentThatIsKilledAsAUnitIsMadeAnewEndsRight(t *testing.T) {
	t.Parallel()
	kept := filepath.Join(t.TempDir(), "kept")
	w := newWorld(t)
	if err := w.model.SetModelConfig(w.ctx, map[string]string{state.RetryHooks: "false", state.UpdateStatusInterval: "0s"}, nil); err != nil {
		t.Fatal(err)
	}
	charm, other := w.charm(podMetadata, podCharm), w.charm(podMetadata, podCharm+"# other\n")
	w.deploy("app", charm, 1)
	w.settle()
	w.stop()
	w.closeAndCopy(kept)
	// again lives the replacement with an agent that has one more variable.
	again := func(t *testing.T, variable string) (kills int) {
		t.Helper()
		dir := t.TempDir()
		copyDir(t, kept, dir)
		w := openWorld(t, dir)
		k := w.keep(variable)
		w.settle()
		if err := w.model.SetCharm(w.ctx, "app", other, false); err != nil {
			t.Fatal(err)
		}
		w.untilWell()
		k.stop()
		want := []string{"stop", "upgrade-charm", "config-changed", "start"}
		var got []string
		for _, e := range w.entries("app/0") {
			if e.Outcome == history.Committed {
				got = append(got, e.Name)
			}
		}
		if got = got[min(4, len(got)):]; !slices.Equal(got, want) { // after install, leader-elected, config-changed, start
			t.Errorf("it ran %v, not %v", got, want)
		}
		w.wantPod("app/0")
		return k.kills
	}
	steps := filepath.Join(t.TempDir(), "steps")
	again(t, stepsVariable+"="+steps)
	points, err := readPoints(steps)
	if err != nil {
		t.Fatal(err)
	}
	every := max(len(points)/6, 1)
	if os.Getenv("UNITD_TEST_LONG") != "" {
		every = 1
	}
	from := rand.IntN(every)
	t.Logf("%d points at which to be killed: every %d. from %d", len(points), every, from)
	for i := from; i < len(points); i += every {
		t.Run(strings.ReplaceAll(fmt.Sprint(points[i]), "/", "|"), func(t *testing.T) { again(t, pointVariable+"="+points[i].encode()) })
	}
}
