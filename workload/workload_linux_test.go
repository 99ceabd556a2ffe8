package workload_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/pebble/pebbletest"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/workload"
)

// TestMain makes the test's binary what begins cells, as unitd is.
func TestMain(m *testing.M) {
	if code, ok := isolate.Main(os.Args); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// world is an agent's directory, and the containers of a unit.
type world struct {
	t       *testing.T
	dir     string
	cells   *isolate.Cells
	clock   clock.Clock
	changed chan struct{}
	told    time.Time
	log     *slog.Logger
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("workload containers of a unit need root here")
	}
	// Sockets are in it, and their paths have to be short.
	dir, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	return makeWorld(t, dir)
}

// newWoundWorld is one whose clock the test winds.
func newWoundWorld(t *testing.T) (*world, *lab.Clock) {
	w := newWorld(t)
	clock := lab.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w.clock = clock
	return w, clock
}

// makeWorld is a world in a directory, which is removed with it.
func makeWorld(t *testing.T, dir string) *world {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, dir: dir, clock: clock.WallClock, changed: make(chan struct{}, 1), log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		cells: &isolate.Cells{Dir: filepath.Join(dir, "cells"), Program: self},
	}
	t.Cleanup(func() {
		if keys, err := w.cells.Keys(); err != nil || len(keys) > 0 {
			t.Errorf("left behind: %v, %v", keys, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return w
}

// unit is the unit's containers, as an agent has them.
func (w *world) unit() *workload.Unit {
	program := pebbletest.Program(w.t)
	return workload.New(workload.Options{
		Cells: w.cells, Images: &oci.Cache{Dir: filepath.Join(w.dir, "images")}, Clock: w.clock, Log: w.log,
		Pebble: func() (string, error) { return program, nil },
		Told:   func(string) time.Time { return w.told },
		Changed: func() {
			select {
			case w.changed <- struct{}{}:
			default:
			}
		},
	})
}

// makeDir is a new directory of the world.
func (w *world) makeDir(name string) string {
	w.t.Helper()
	dir := filepath.Join(w.dir, name)
	w.ok(os.Mkdir(dir, 0o755))
	return dir
}

// container has the host's root.
func (w *world) container(name string, port int) workload.Container {
	image, err := oci.ReadSource("host")
	if err != nil {
		w.t.Fatal(err)
	}
	dir := filepath.Join(w.dir, "containers", name)
	return workload.Container{
		Name: name, Key: isolate.ContainerKey("model/unit-app-0", name), ID: "1", Image: image, Port: port,
		Dir: dir, Log: dir + ".log", Data: w.dir,
	}
}

// until waits until a container is as wanted.
func (w *world) until(u *workload.Unit, name string, is func(workload.State) bool) workload.State {
	w.t.Helper()
	late := time.After(3 * time.Minute)
	for {
		all := u.States()
		i := slices.IndexFunc(all, func(s workload.State) bool { return s.Name == name })
		if i >= 0 && is(all[i]) {
			return all[i]
		}
		select {
		case <-w.changed:
		case <-late:
			log, _ := os.ReadFile(filepath.Join(w.dir, "containers", name+".log"))
			w.t.Fatalf("it is %+v; %s", all, log)
		}
	}
}

func runs(s workload.State) bool { return s.Phase == workload.Running }

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(errors.Details(err))
	}
}

func (w *world) kill(key string) {
	w.t.Helper()
	cell, err := w.cells.Find(key)
	w.ok(err)
	w.ok(syscall.Kill(cell.Pid(), syscall.SIGKILL))
}

// TestHostAContainerOutlivesItsAgentAndNotItsUnit: K-033, K-035, K-040.
func TestHostAContainerOutlivesItsAgentAndNotItsUnit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	u := w.unit()
	c := w.container("web", w.port())
	w.ok(u.Set(ctx, nil, []workload.Container{c}))
	first := w.until(u, "web", runs)
	u.Close()

	u = w.unit()
	w.ok(u.Set(ctx, nil, []workload.Container{c}))
	again := w.until(u, "web", func(s workload.State) bool { return runs(s) && s.Settled() })
	if again.Pebble.Boot != first.Pebble.Boot || again.Restarts != 0 || again.Ready != workload.Ready {
		t.Errorf("first %+v, then %+v", first, again)
	}
	w.kill(c.Key)
	other := w.until(u, "web", func(s workload.State) bool { return runs(s) && s.Restarts == 1 })
	if other.Pebble.Boot == first.Pebble.Boot {
		t.Errorf("it is %+v, as before", other)
	}
	w.ok(u.Remove(ctx))
	if len(u.States()) > 0 {
		t.Errorf("there are %v", u.States())
	}
}

// TestHostAContainerThatEndsAgainAndAgainWaits goes by the agent's clock: K-048.
func TestHostAContainerThatEndsAgainAndAgainWaits(t *testing.T) {
	t.Parallel()
	w, clock := newWoundWorld(t)
	u := w.unit()
	c := w.container("web", w.port())
	other := w.container("other", w.port())
	w.ok(u.Set(t.Context(), nil, []workload.Container{c, other}))
	w.until(u, "web", runs)
	w.kill(c.Key)
	w.until(u, "web", func(s workload.State) bool { return runs(s) && s.Restarts == 1 }) // at once
	w.kill(c.Key)
	waits := w.until(u, "web", func(s workload.State) bool { return s.Phase == workload.Waiting })
	if waits.Until != clock.Now().Add(10*time.Second) || waits.Fault != "it was ended by signal 9" {
		t.Errorf("it is %+v", waits)
	}
	w.until(u, "other", runs)
	clock.Set(waits.Until)
	w.until(u, "web", func(s workload.State) bool { return runs(s) && s.Restarts == 2 })
	w.ok(u.Remove(t.Context()))
}

// TestHostAContainerThatIsHeldStaysEnded until it is released.
func TestHostAContainerThatIsHeldStaysEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.unit()
	var hold atomic.Bool
	u.Held = func(name string) bool { return name == "web" && hold.Load() }
	c := w.container("web", w.port())
	w.ok(u.Set(t.Context(), nil, []workload.Container{c}))
	w.until(u, "web", runs)
	hold.Store(true)
	cell, err := w.cells.Find(c.Key)
	w.ok(err)
	w.ok(cell.Stop(t.Context(), workload.Grace))
	held := w.until(u, "web", func(s workload.State) bool { return s.Phase == workload.Stopped && s.Pebble.Boot == "" })
	hold.Store(false)
	u.Release("web")
	w.until(u, "web", runs)
	w.ok(u.Remove(t.Context()))
	if held.Fault != "" {
		t.Errorf("it was %+v", held)
	}
}

// TestHostALivenessCheckThatFailsRestartsTheContainer: K-063, K-064.
func TestHostALivenessCheckThatFailsRestartsTheContainer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.unit()
	c := w.container("web", w.port())
	w.ok(u.Set(t.Context(), nil, []workload.Container{c}))
	first := w.until(u, "web", runs)
	layer := func(level string) {
		w.ok(pebble.New(c.Socket()).AddLayer(t.Context(), pebble.Layer{Label: "l", Combine: true, YAML: `
checks:
  up: {override: replace, level: ` + level + `, period: 20ms, threshold: 1, exec: {command: /bin/false}}
`}))
	}
	layer("ready")
	w.until(u, "web", func(s workload.State) bool { return len(s.Events) > 0 && s.Ready == workload.NotReady })
	if now := w.until(u, "web", runs); now.Restarts > 0 || now.Events[0].Kind != pebble.EventCheckFailed || now.Events[0].Check != "up" {
		t.Errorf("it is %+v", now)
	}
	layer("alive")
	now := w.until(u, "web", func(s workload.State) bool { return runs(s) && s.Restarts == 1 && s.Ready == workload.Ready })
	if now.Pebble.Boot == first.Pebble.Boot {
		t.Errorf("it is %+v, as before", now)
	}
	w.ok(u.Remove(t.Context()))
}

// TestHostAContainerWithoutAnImageSaysSo, and is tried again: when it starts, that is
// no restart.
func TestHostAContainerWithoutAnImageSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.unit()
	c := w.container("web", w.port())
	nowhere := filepath.Join(w.dir, "nowhere")
	image, err := oci.ReadSource("rootfs:" + nowhere)
	w.ok(err)
	c.Image = image
	w.ok(u.Set(t.Context(), nil, []workload.Container{c}))
	w.until(u, "web", func(s workload.State) bool { return s.Phase == workload.Waiting && s.Fault != "" })
	w.ok(os.Mkdir(nowhere, 0o755))
	u.Release("web") // it is tried at once
	if now := w.until(u, "web", runs); now.Restarts != 0 {
		t.Errorf("it is %+v", now)
	}
	w.ok(u.Remove(t.Context()))
	w.ok(os.Remove(nowhere))
	w.ok(u.Set(t.Context(), nil, []workload.Container{c}))
	w.until(u, "web", func(s workload.State) bool { return s.Phase == workload.Waiting && s.Fault != "" })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.ok(u.Remove(ctx)) // there is nothing to wait for
}
