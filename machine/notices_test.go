package machine_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/unitd/unitd/audit"
	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/sqlite"
	"github.com/unitd/unitd/testcharms"
)

// TestNoticesThatAreLostChangeNothing: in any model, whatever happens to it,
// each unit runs the same hooks for the same causes, be the store's notices
// lost, repeated and out of order, or not.
func TestNoticesThatAreLostChangeNothing(t *testing.T) {
	t.Parallel()
	checks, steps := "2", 15
	if os.Getenv("UNITD_TEST_LONG") != "" {
		checks, steps = "60", 40
	}
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "rapid.checks" })
	if !set {
		if err := flag.Set("rapid.checks", checks); err != nil {
			t.Fatal(err)
		}
	}
	lost := 0
	rapid.Check(t, func(t *rapid.T) {
		steps := drawSteps(t, steps)
		want := runAny(t, steps, nil)
		for i := range rapid.IntRange(1, 2).Draw(t, "disturbed") {
			got := runAny(t, steps, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "chance"), uint64(i))))
			lost += got.lost
			if diff := got.differs(want); diff != "" {
				t.Fatalf("%s\n\nthe steps:\n%s", diff, strings.Join(want.steps, "\n"))
			}
		}
	})
	if lost == 0 {
		t.Error("nothing was lost: nothing was tried")
	}
}

// anyRun is what came of a model.
type anyRun struct {
	steps   []string // with what each was answered
	hooks   map[model.UnitName][]string
	picture model.Picture
	lost    int
}

// differs says where the run isn't as another one; empty: nowhere.
func (r anyRun) differs(want anyRun) string {
	if !slices.Equal(r.steps, want.steps) {
		return fmt.Sprintf("the steps went\n%s\nand not\n%s", strings.Join(r.steps, "\n"), strings.Join(want.steps, "\n"))
	}
	for unit, hooks := range want.hooks {
		if !slices.Equal(r.hooks[unit], hooks) {
			return fmt.Sprintf("%s ran\n  %s\nand not\n  %s", unit, strings.Join(r.hooks[unit], "\n  "), strings.Join(hooks, "\n  "))
		}
	}
	if len(r.hooks) != len(want.hooks) {
		return fmt.Sprintf("%d units ran hooks, not %d", len(r.hooks), len(want.hooks))
	}
	if diff := r.picture.Since(want.picture); len(diff) > 0 {
		return fmt.Sprintf("the models differ: %v", diff)
	}
	return ""
}

// anyWorld is a model with an agent whose units run their hooks one at a time.
type anyWorld struct {
	t      *rapid.T
	ctx    context.Context
	dir    string
	lossy  *lossyStore
	held   *lab.Store
	model  *state.Model // as people beside the agent see it
	charms map[string]string
	order  lab.Order

	mu    sync.Mutex
	left  []step
	steps []string
}

// runAny lets an agent host a model to which the steps happen.
func runAny(t *rapid.T, steps []step, chance *rand.Rand) anyRun {
	// In memory where that can be had: it is about the order, not about disks.
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "unitd-any-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	clock := lab.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	engine, err := sqlite.Open(filepath.Join(dir, "store.db"), sqlite.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	ctx, cancel := testContext()
	defer cancel()
	w := &anyWorld{t: t, ctx: ctx, dir: dir, left: steps, lossy: &lossyStore{Store: engine, clock: clock, chance: chance}}
	w.held = &lab.Store{Store: w.lossy, Clock: clock}
	if w.model, err = state.NewController(engine, clock).AddModel(ctx, "test"); err != nil {
		t.Fatal(err)
	}
	if err := w.model.SetModelConfig(ctx, map[string]string{state.UpdateStatusInterval: "0"}, nil); err != nil {
		t.Fatal(err)
	}
	w.addCharms()
	path, err := testcharms.Client()
	if err != nil {
		t.Fatal(err)
	}
	agentCtx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- machine.Run(agentCtx, machine.Config{
			Controller: state.NewController(w.held, clock), Dir: dir, Client: path, Clock: clock, Rounds: w.lossy.rounds, Log: quiet(),
			Host: machine.Host{Addresses: []string{"127.0.0.1"}}, Gate: w.gate,
		})
	}()
	w.live()
	stop()
	<-ended
	if err := audit.Dir(dir); err != nil {
		t.Fatal(err)
	}
	return w.result()
}

// addCharms adds two revisions of each charm.
func (w *anyWorld) addCharms() {
	w.charms = map[string]string{}
	for name, endpoints := range anyCharms {
		for _, revision := range []string{"1", "2"} {
			dir := filepath.Join(w.dir, "charms", name+revision)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				w.t.Fatal(err)
			}
			for file, body := range map[string]string{
				"metadata.yaml": "name: " + name + "\nsummary: revision " + revision + "\n" + endpoints,
				"config.yaml":   "options: {n: {type: int}}\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(body), 0o600); err != nil {
					w.t.Fatal(err)
				}
			}
			c, err := charmdir.Read(dir)
			if err != nil {
				w.t.Fatal(err)
			}
			var b bytes.Buffer
			sum, err := c.Archive(&b)
			if err != nil {
				w.t.Fatal(err)
			}
			if w.charms[name+revision], err = w.model.AddCharm(w.ctx, c.Charm, sum, &b); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// gate is Config.Gate. Nothing happens by itself any more when it is called:
// the time for what was lost to be made up for, and for the next step.
func (w *anyWorld) gate(waiting []model.UnitName) model.UnitName {
	if _, healed := w.lossy.losses(); !healed {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.left) > 0 {
		if w.left[0].after <= 0 {
			w.next()
			return ""
		}
		w.left[0].after--
	}
	return w.order.Next(waiting)
}

// next does the next step, at one blow for the agent. The world is locked.
func (w *anyWorld) next() {
	s := w.left[0]
	w.left = slices.Clone(w.left[1:])
	w.held.Hold(true)
	defer w.held.Hold(false)
	err := play(w.ctx, w.model, w.charms, s.line)
	w.steps = append(w.steps, fmt.Sprintf("%s: %v", s.line, err))
	// So that the agent hears of something, whatever the step has done.
	if _, err := w.model.AskSettled(w.ctx); err != nil {
		w.t.Error(err)
	}
}

// live lets the world go on until all steps are done and nothing is left to do.
func (w *anyWorld) live() {
	for {
		w.settle()
		w.mu.Lock()
		if len(w.left) == 0 {
			w.mu.Unlock()
			return
		}
		w.next()
		w.mu.Unlock()
	}
}

// settle waits until the agent says that nothing is left to do, and nothing was
// lost since it was asked.
func (w *anyWorld) settle() {
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	watch, err := w.model.Watch(ctx, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		before, healed := w.lossy.losses()
		rev, err := w.model.AskSettled(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		for {
			done, err := w.model.Settled(ctx, rev)
			if err != nil {
				w.t.Fatal(err)
			}
			if done {
				break
			}
			if _, more := <-watch; !more {
				w.t.Fatal("nothing has settled")
			}
		}
		if after, _ := w.lossy.losses(); healed && after == before {
			return
		}
	}
}

func (w *anyWorld) result() anyRun {
	r := anyRun{steps: w.steps, hooks: map[model.UnitName][]string{}}
	r.lost, _ = w.lossy.losses()
	var err error
	if r.picture, err = w.model.Picture(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	dir := machine.HistoryDir(w.dir, w.model.UUID())
	units, err := history.Units(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, unit := range units {
		runs, err := history.Read(dir, unit)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, run := range runs {
			r.hooks[unit] = append(r.hooks[unit], fmt.Sprintf("%s@%d %s: %s", run.Hook, run.Hook.Version, run.Outcome, run.Hook.Cause))
		}
	}
	return r
}
