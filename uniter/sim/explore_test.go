package sim_test

import (
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/uniter/sim"
)

// TestMain spares the processor: the states of all worlds take some hundred
// megabytes, and nothing of them becomes garbage for long.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(2 << 30)
	os.Exit(m.Run())
}

func TestNoHistoryOfAnyWorldBreaksAGuarantee(t *testing.T) {
	t.Parallel()
	worlds, err := sim.Worlds()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range worlds {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			r := sim.Explore(c)
			if r.Fault != nil {
				t.Errorf("%v\n\t%s", r.Fault, strings.Join(r.Trace, "\n\t"))
			}
			if r.States < 20 || r.Rests == 0 {
				t.Errorf("the world has only %d states, %d at rest", r.States, r.Rests)
			}
			t.Logf("%d states, %d moves, %d at rest, %v", r.States, r.Moves, r.Rests, time.Since(began).Round(time.Millisecond))
		})
	}
}

func TestExploringTwiceFindsTheSame(t *testing.T) {
	t.Parallel()
	worlds, err := sim.Worlds()
	if err != nil {
		t.Fatal(err)
	}
	first, second := sim.Explore(worlds[2]), sim.Explore(worlds[2])
	if !reflect.DeepEqual(first, second) {
		t.Errorf("got %+v, then %+v", first, second)
	}
}

func TestExploreFindsWhatTheMonitorKnowsToBeWrong(t *testing.T) {
	t.Parallel()
	w := sim.New("app/0", "ch:app-1", false)
	if _, err := w.Settle(well); err != nil {
		t.Fatal(err)
	}
	// The charm was told of a change of configuration behind the agent's back,
	// and waits for an answer that nobody is going to ask for.
	if err := w.Monitor.Hook(hooks.Info{Kind: hooks.ConfigChanged}, sim.Failed); err != nil {
		t.Fatal(err)
	}
	r := sim.Explore(sim.Config{Name: "broken", Start: w, Actors: []sim.Actor{{Name: "leader", Steps: []string{"config 1", "leader-settings"}}}})
	if r.Fault == nil || !strings.Contains(r.Fault.Error(), "leader-settings-changed ran while config-changed had failed") {
		t.Fatalf("got %v", r.Fault)
	}
	want := "leader: config 1, leader: leader-settings, " +
		"agent: decides to run leader-settings-changed, agent: run leader-settings-changed ends well"
	if got := strings.Join(r.Trace, ", "); got != want {
		t.Errorf("got the trace %s", got)
	}
}

func TestExploreStopsAtAWorldThatIsTooLarge(t *testing.T) {
	t.Parallel()
	r := sim.Explore(sim.Config{Name: "large", Start: sim.New("app/0", "ch:app-1", true), States: 5})
	if !errors.Is(r.Fault, errors.QuotaLimitExceeded) {
		t.Errorf("got %v", r.Fault)
	}
}

func TestExploreRefusesAStepThatIsNoAct(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"dance", "join db:1", "join db mysql/0", "config many", "wait long"} {
		r := sim.Explore(sim.Config{Start: sim.New("app/0", "ch:app-1", true), Actors: []sim.Actor{{Name: "a", Steps: []string{step}}}})
		if r.Fault == nil {
			t.Errorf("%q was taken", step)
		}
	}
}

func TestCopiesOfAWorldShareNothing(t *testing.T) {
	t.Parallel()
	w := sim.New("app/0", "ch:app-1", true)
	for _, line := range []string{"relate db:1 mysql", "join db:1 mysql/0", "join db:1 mysql/1"} {
		if _, err := w.Act(line); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Settle(well); err != nil {
		t.Fatal(err)
	}
	other, before := w, w.Model.Relations[0].Members[0].Version
	for _, line := range []string{"write db:1 mysql/0", "leave db:1 mysql/1", "config 2", "destroy"} {
		if ok, err := other.Act(line); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	if _, err := other.Settle(well); err != nil {
		t.Fatal(err)
	}
	if got := w.Model.Relations[0]; got.Members[0].Version != before || len(got.Members) != 2 || !got.InScope {
		t.Errorf("the first world moved: %+v", got)
	}
	if ran, err := w.Settle(well); err != nil || len(ran) > 0 {
		t.Errorf("the first world's agent ran %v, %v", ran, err)
	}
	if err := w.Rested(); err != nil {
		t.Error(err)
	}
}

func well(hooks.Info) sim.How { return sim.Well }
