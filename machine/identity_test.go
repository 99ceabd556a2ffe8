package machine_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

const plain = "name: app\nsummary: s\n"

var boot = []string{"install", "leader-elected", "config-changed", "start"}

// hooksOf are the hooks that the present unit of that name has run, and not a
// former one.
func (w *world) hooksOf(unit model.UnitName) []string {
	w.t.Helper()
	doc, err := w.model.Unit(w.ctx, unit)
	if err != nil {
		w.t.Fatal(err)
	}
	entries, err := history.Read(machine.HistoryDir(w.dir, w.model.UUID()), unit)
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.ID == doc.ID {
			names = append(names, strings.TrimSuffix(e.Name+" "+string(e.Outcome), " committed"))
		}
	}
	return names
}

// replace has a unit removed by force, and its application deployed anew.
func (w *world) replace(app, url string) {
	w.t.Helper()
	if _, err := w.model.DestroyApplication(w.ctx, app); err != nil {
		w.t.Fatal(err)
	}
	if err := w.model.ForceRemoveUnit(w.ctx, model.NewUnitName(app, 0)); err != nil {
		w.t.Fatal(err)
	}
	w.deploy(app, url, 1)
}

// workload is the message of a unit's workload status.
func (w *world) workload(unit model.UnitName) model.Status {
	w.t.Helper()
	s, err := w.model.StatusOf(w.ctx, state.WorkloadStatus, string(unit))
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// TestAnApplicationThatIsDeployedAgainHasAHistory: its units have the names and
// the run numbers of the former ones.
func TestAnApplicationThatIsDeployedAgainHasAHistory(t *testing.T) {
	t.Parallel()
	told := make(chan string, 1000)
	w := newWorldWith(t, func(c *machine.Config) {
		c.Observer = func(e machine.Event) {
			if e.Kind == machine.HookRun {
				told <- e.Run.Name
			}
		}
	})
	url := w.charm(plain, "true\n")
	var want []string
	for range 2 {
		w.deploy("app", url, 1)
		w.settle()
		w.destroy("app")
		want = append(append(want, boot...), "stop", "remove")
	}
	w.settle()
	w.wantHooks("app/0", want...)
	w.stop()
	close(told)
	var got []string
	for name := range told {
		got = append(got, name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("was told of %v", got)
	}
}

// TestANewUnitIsNotTheOldOneOfItsName: neither the hook that the old one runs
// when it is forced away, nor what it has on disk, reaches the new one.
func TestANewUnitIsNotTheOldOneOfItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("app", w.charm(plain, `
[ "$JUJU_HOOK_NAME" = start ] || exit 0
state-set from=old
status-set active hanging
sleep 1000
`), 1)
	w.until("it hangs", func(s *state.FullStatus) bool { return s.Applications[0].Units[0].Workload.Message == "hanging" })
	w.replace("app", w.charm(plain, "status-set active new\n"))
	w.settle()
	if got := w.hooksOf("app/0"); !slices.Equal(got, boot) {
		t.Errorf("the new unit ran %v", got)
	}
	if got, err := w.model.CharmState(w.ctx, "app/0"); err != nil || len(got) > 0 {
		t.Errorf("the new unit has the state %v, %v", got, err)
	}
	if got := w.workload("app/0"); got.Message != "new" {
		t.Errorf("the new unit says %v", got)
	}
}

// TestAHookOfAFormerUnitCommitsNothing: it has succeeded when its unit is
// forced away and another one has its name and the same run number to come.
func TestAHookOfAFormerUnitCommitsNothing(t *testing.T) {
	t.Parallel()
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w := newWorldWith(t, func(c *machine.Config) {
		c.At = func(_ context.Context, p machine.Point) error {
			if p.Name == machine.PointCommit && p.Hook.Kind == hooks.Start {
				once.Do(func() { close(reached); <-goOn })
			}
			return nil
		}
	})
	w.deploy("app", w.charm(plain, "state-set from=old\n"), 1)
	<-reached
	w.replace("app", w.charm(plain, "true\n"))
	close(goOn)
	w.settle()
	if got := w.hooksOf("app/0"); !slices.Equal(got, boot) {
		t.Errorf("the new unit ran %v", got)
	}
	if got, err := w.model.CharmState(w.ctx, "app/0"); err != nil || len(got) > 0 {
		t.Errorf("the new unit has the state %v, %v", got, err)
	}
	if got := w.agent("app/0"); got.Status != model.StatusIdle {
		t.Errorf("its agent is %v", got)
	}
}

// TestAUnitThatIsForcedAwayTakesItsHookWithIt, however long that would run.
func TestAUnitThatIsForcedAwayTakesItsHookWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("app", w.charm(plain, "status-set active hanging; sleep 1000\n"), 1)
	w.until("it hangs", func(s *state.FullStatus) bool { return s.Applications[0].Units[0].Workload.Message == "hanging" })
	dir := w.unitDir("app/0")
	if err := w.model.ForceRemoveUnit(w.ctx, "app/0"); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("its directory is there: %v", err)
	}
}

// TestANewUnitWhileNoAgentIsThere: what the old one has left is cleared away,
// be it a journal in which a run is pending, or what its hooks have made.
func TestANewUnitWhileNoAgentIsThere(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]string{
		"settled":     "touch made\nstatus-set active ready\n",
		"interrupted": "touch made\nstatus-set active ready\n[ $JUJU_HOOK_NAME != start ] || sleep 1000\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.stop()
			w.deploy("app", w.charm(plain, hook), 1)
			kill := w.spawn()
			w.until("it runs start", func(*state.FullStatus) bool { return slices.Contains(w.hooks("app/0"), "config-changed") })
			if name == "settled" {
				w.settle()
			}
			kill()
			t.Cleanup(func() { runner.EndLeftover(context.Background(), "JUJU_MODEL_UUID="+w.model.UUID()) })
			w.replace("app", w.charm(plain, "[ ! -e made ]; status-set active new\n"))
			w.restart()
			w.settle()
			if got := w.hooksOf("app/0"); !slices.Equal(got, boot) {
				t.Errorf("the new unit ran %v", got)
			}
			if got := w.workload("app/0"); got.Message != "new" {
				t.Errorf("the new unit says %v", got)
			}
			entries, err := os.ReadDir(filepath.Dir(w.unitDir("app/0")))
			if err != nil || len(entries) != 1 {
				t.Errorf("left %v, %v", entries, err)
			}
		})
	}
}
