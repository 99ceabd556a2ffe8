package machine_test

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/juju/clock"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/state/store/sqlite"
)

// stage is a part of a life of two units: what is changed in the model, after
// which the agent works until nothing is left to do.
type stage struct {
	name string
	act  func(w *world, charms [2]string) error
}

// life is a whole one: 34 hooks in all, with an upgrade in it. What each unit
// runs in a stage depends neither on the other one nor on which is faster.
var life = []stage{
	{"boot", func(w *world, charms [2]string) error {
		for _, app := range []string{"a", "b"} {
			if err := w.model.Deploy(w.ctx, state.DeployArgs{Application: app, Charm: charms[0], Units: 1}); err != nil {
				return err
			}
		}
		return nil
	}},
	{"relate", func(w *world, _ [2]string) error {
		_, err := w.model.AddRelation(w.ctx, "a:client", "b:server")
		return err
	}},
	{"configure", func(w *world, _ [2]string) error { return w.model.SetTrust(w.ctx, "a", true) }},
	{"configure the other", func(w *world, _ [2]string) error { return w.model.SetTrust(w.ctx, "b", true) }},
	{"upgrade", func(w *world, charms [2]string) error {
		for _, app := range []string{"a", "b"} {
			if err := w.model.SetCharm(w.ctx, app, charms[1], false); err != nil {
				return err
			}
		}
		return nil
	}},
	{"unrelate", func(w *world, _ [2]string) error { return w.model.DestroyRelation(w.ctx, "a:client", "b:server") }},
	{"remove", func(w *world, _ [2]string) error {
		for _, app := range []string{"a", "b"} {
			if _, err := w.model.DestroyApplication(w.ctx, app); err != nil {
				return err
			}
		}
		return nil
	}},
}

// livingCharm counts its hooks in its state, and what it tells the other side
// changes when it is trusted.
const livingCharm = `
n=$(state-get n)
state-set n=$((n + 1)) "$JUJU_HOOK_NAME"=$((n + 1))
case "$JUJU_HOOK_NAME" in
install) mkdir -p made/by; echo hook > made/by/hook;;
config-changed) for r in $(relation-ids client) $(relation-ids server); do relation-set -r "$r" told="$JUJU_UNIT_NAME"; done;;
esac
status-set active "after $((n + 1)) hooks"
`

// death is a point in a stage at which an agent is killed.
type death struct {
	stage int
	point
}

// recordedLife is how a life goes when nobody is killed.
type recordedLife struct {
	dir    string // has the world before each stage, by number, and the last
	charms [2]string
	deaths []death // all that there are, in their order
	// hooks are those that each unit has run by the end of each stage, pictures
	// what the model says then, and files what is in the units' directories.
	hooks    []map[model.UnitName][]string
	pictures []model.Picture
	files    [][]string
}

// kept says where the world before a stage is.
func (l *recordedLife) kept(stage int) string { return filepath.Join(l.dir, fmt.Sprint(stage)) }

// record lives so many stages, and keeps the world before each.
func record(t *testing.T, stages int) *recordedLife {
	t.Helper()
	l := &recordedLife{dir: t.TempDir()}
	w := newWorld(t)
	w.stop()
	if err := w.model.SetModelConfig(w.ctx, map[string]string{state.RetryHooks: "false", state.UpdateStatusInterval: "0s"}, nil); err != nil {
		t.Fatal(err)
	}
	const metadata = "name: x\nsummary: s\nprovides: {server: {interface: x}}\nrequires: {client: {interface: x}}\npeers: {ring: {interface: r}}\n"
	l.charms = [2]string{w.charm(metadata, livingCharm), w.charm(metadata, livingCharm+"# upgraded\n")}
	for i, s := range life[:stages] {
		w.closeAndCopy(l.kept(i))
		w = openWorld(t, w.dir)
		steps := filepath.Join(l.dir, fmt.Sprintf("steps-%d", i))
		k := w.keep(stepsVariable + "=" + steps)
		w.settle()
		if err := s.act(w, l.charms); err != nil {
			t.Fatal(err)
		}
		w.untilWell()
		k.stop()
		points, err := readPoints(steps)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range points {
			l.deaths = append(l.deaths, death{i, p})
		}
		l.hooks = append(l.hooks, w.committed())
		l.pictures = append(l.pictures, w.picture())
		l.files = append(l.files, w.files())
	}
	return l
}

// TestAnAgentThatIsKilledAtAnyStepLosesNothing kills an agent before, in the
// middle of and after each thing that it makes durable, each commit and each
// start of a hook, and has another one go on: each unit has run the hooks that
// it runs when nobody is killed, in their order; but for one that was running,
// which was interrupted, and run again when that was resolved. The list of
// steps is made by the agent.
func TestAnAgentThatIsKilledAtAnyStepLosesNothing(t *testing.T) {
	t.Parallel()
	seed := rand.Int()
	for worker := range workers {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			l := record(t, len(life))
			if hooks := len(slices.Concat(slices.Collect(maps.Values(l.hooks[len(life)-1]))...)); hooks < 30 {
				t.Errorf("the life has only %d hooks", hooks)
			}
			every := len(l.deaths) / 4
			switch os.Getenv("UNITD_TEST_LONG") {
			case "":
			case "all": // for hours
				every = workers
			default:
				every = max(workers, len(l.deaths)/longDeaths())
			}
			from := (seed + worker*every/workers) % every
			t.Logf("%d points at which to be killed: every %d. from %d", len(l.deaths), every, from)
			var missed []death
			for i := from; i < len(l.deaths); i += every {
				if !l.kill(t, l.deaths[i], i%10 == 0) {
					missed = append(missed, l.deaths[i])
				}
			}
			// A few come by or not as chance has it.
			if len(missed) > 1 && len(missed)*every*10 > len(l.deaths) {
				t.Errorf("not come by: %v", missed)
			}
		})
	}
}

// longDeaths is how many deaths each world dies in a long run, about; each run begins
// with another one. On etcd they take longer, and what is done between the commits is the
// same.
func longDeaths() int {
	if etcdtest.OnEtcd() {
		return 40
	}
	return 150
}

// workers is how many worlds are lived at once. They must not be copies of one:
// an agent ends what is left running of a run, which it knows by the model's
// id, the unit's and the run's.
const workers = 2

// kill is killAt as a test of its own.
func (l *recordedLife) kill(t *testing.T, d death, on bool) (come bool) {
	t.Helper()
	t.Run(strings.ReplaceAll(life[d.stage].name+" "+d.String(), "/", "|"), func(t *testing.T) { come = l.killAt(t, d, on) })
	return come
}

// killAt lives one stage with an agent that is killed at the point, and the
// rest of the life too if on. It says whether the point was come by.
func (l *recordedLife) killAt(t *testing.T, d death, on bool) bool {
	t.Helper()
	dir := t.TempDir()
	copyDir(t, l.kept(d.stage), dir)
	w := openWorld(t, dir)
	k := w.keep(pointVariable + "=" + d.encode())
	kills := 0
	for stage := d.stage; stage < len(life) && !t.Failed(); stage++ {
		w.settle()
		if err := life[stage].act(w, l.charms); err != nil {
			t.Fatal(err)
		}
		w.untilWell()
		k.stop()
		kills += k.kills
		if k.unruly { // it was killed as it ended
			k = w.keep("")
			w.untilWell()
			k.stop()
		}
		l.check(t, w, stage)
		if !on {
			break
		}
		k = w.keep("")
	}
	k.stop()
	if kills > 0 {
		l.checkInterrupted(t, w, d)
	}
	if kills > 1 {
		t.Errorf("it was killed %d times", kills)
	}
	return kills > 0
}

// check compares a world with the recorded one at the end of a stage.
func (l *recordedLife) check(t *testing.T, w *world, stage int) {
	t.Helper()
	if got, want := w.committed(), l.hooks[stage]; !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%s: the hooks were\n%v, not\n%v", life[stage].name, got, want)
	}
	if diff := w.picture().Since(l.pictures[stage]); len(diff) > 0 {
		t.Errorf("%s: the model differs: %v", life[stage].name, diff)
	}
	if got, want := w.files(), l.files[stage]; !slices.Equal(got, want) {
		t.Errorf("%s: the files are\n%v, not\n%v", life[stage].name, got, want)
	}
	for unit := range l.hooks[stage] {
		w.checkMonitor(unit)
		interrupted := 0
		for _, e := range w.entries(unit) {
			switch e.Outcome {
			case history.Committed:
			case history.Interrupted:
				interrupted++
			default:
				t.Errorf("%s: run %d of %s was %s: %s", unit, e.Run, e.Name, e.Outcome, e.Message)
			}
		}
		if interrupted > 1 {
			t.Errorf("%s: one kill has interrupted %d hooks", unit, interrupted)
		}
	}
}

// committed are the hooks that each unit has run.
func (w *world) committed() map[model.UnitName][]string {
	w.t.Helper()
	out := map[model.UnitName][]string{}
	for _, unit := range []model.UnitName{"a/0", "b/0"} {
		for _, e := range w.entries(unit) {
			if e.Outcome == history.Committed {
				out[unit] = append(out[unit], fmt.Sprintf("%s(%s)", e.Name, e.Hook.RemoteUnit))
			}
		}
	}
	return out
}

func (w *world) picture() model.Picture {
	w.t.Helper()
	p, err := w.model.Picture(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// files are the paths below the units' directories, without a journal's second slot: that
// is made once it is needed, as when an agent starts again.
func (w *world) files() []string {
	w.t.Helper()
	var all []string
	root := filepath.Dir(w.unitDir("a/0"))
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) != "journal-1" {
			all = append(all, strings.TrimPrefix(path, root))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// openWorld is the world in a directory, without an agent.
func openWorld(t testing.TB, dir string) *world {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(dir, "store.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	ctx, cancel := testContext()
	t.Cleanup(cancel)
	c := state.NewController(s, clock.WallClock)
	infos, err := c.Models(ctx)
	if err != nil || len(infos) != 1 {
		t.Fatalf("got %v, %v", infos, err)
	}
	return &world{t: t, ctx: ctx, dir: dir, model: c.Open(infos[0]), controller: c}
}

// closeAndCopy ends the world, and keeps a copy of it.
func (w *world) closeAndCopy(to string) {
	w.t.Helper()
	if err := w.controller.Store().Close(); err != nil {
		w.t.Fatal(err)
	}
	copyDir(w.t, w.dir, to)
}

func copyDir(t testing.TB, from, to string) {
	t.Helper()
	if etcdtest.OnEtcd() {
		t.Skip("the store isn't in the directory")
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
