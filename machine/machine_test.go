package machine_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/juju/clock"

	"github.com/unitd/unitd/audit"
	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/testcharms"
)

func TestMain(m *testing.M) {
	// The binary is also what tests need as another process, and a cell's init.
	if code, ok := isolate.Main(os.Args); ok {
		os.Exit(code)
	}
	var err error
	switch {
	case os.Getenv(committerVariable) != "":
		err = commitFor(os.Getenv(committerVariable), os.Stdin, os.Stdout)
	case os.Getenv(agentVariable) != "":
		err = agentIn(os.Getenv(agentVariable), os.Getenv(clientVariable))
	default:
		os.Exit(runTests(m))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runTests(m *testing.M) int {
	code := m.Run()
	etcdtest.Stop()
	testcharms.RemovePrograms()
	return code
}

// TestOnEtcd runs the tests of the package on the other engine, but for those
// that copy the store with its directory or wind its clock.
func TestOnEtcd(t *testing.T) {
	if os.Getenv("UNITD_TEST_LONG") == "" {
		t.Skip("only with UNITD_TEST_LONG=1: package state and the scripts of the command line have the engine's share of it")
	}
	etcdtest.Again(t, "etcd3")
}

// quiet logs nowhere.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// testContext ends what hangs.
func testContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 15*time.Minute)
}

// world is one model with an agent.
type world struct {
	t     testing.TB
	ctx   context.Context
	dir   string
	model *state.Model
	// controller is what the agents run with, configure what they are told.
	controller *state.Controller
	configure  func(*machine.Config)
	// stop ends the agent and waits; stopping is closed once it is told to.
	stop     func()
	stopping chan struct{}
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldWith(t, func(*machine.Config) {})
}

// newWorldWith is newWorld with an agent that is told something else; nil: with
// none.
func newWorldWith(t testing.TB, configure func(*machine.Config)) *world {
	t.Helper()
	dir := t.TempDir()
	return newWorldOn(t, dir, etcdtest.Open(t, filepath.Join(dir, "store.db")), configure)
}

// newWorldOn is newWorldWith on that store, with the agent's files in dir.
func newWorldOn(t testing.TB, dir string, s store.Store, configure func(*machine.Config)) *world {
	t.Helper()
	t.Cleanup(func() { s.Close() })
	t.Cleanup(func() {
		if err := audit.Dir(dir); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := testContext()
	t.Cleanup(cancel)
	c := state.NewController(s, clock.WallClock)
	m, err := c.AddModel(ctx, "test")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, ctx: ctx, dir: dir, model: m, controller: c, configure: configure}
	t.Cleanup(func() {
		runner.EndLeftover(context.Background(), "JUJU_MODEL_UUID="+m.UUID())
		runner.OpenCgroups(dir).Close()
	})
	w.stop = func() {}
	if configure != nil {
		w.restart()
	}
	return w
}

// restart starts an agent; stop ends it and waits.
func (w *world) restart() {
	path, err := testcharms.Client()
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error, 1)
	go func() {
		c := machine.Config{
			Controller: w.controller, Dir: w.dir, Client: path, Clock: clock.WallClock, Host: machine.LocalHost(),
			Log: slog.New(slog.NewTextHandler(testWriter{w.t}, nil)),
		}
		w.configure(&c)
		done <- machine.Run(ctx, c)
	}()
	stopping := make(chan struct{})
	w.stopping = stopping
	w.stop = sync.OnceFunc(func() {
		cancel()
		close(stopping)
		<-done
	})
	w.t.Cleanup(w.stop)
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// charm makes a charm whose dispatch is the script.
func (w *world) charm(metadata, dispatch string) string {
	w.t.Helper()
	dir := w.t.TempDir()
	for name, body := range map[string]string{"metadata.yaml": metadata, "dispatch": "#!/bin/sh\nset -eu\n" + dispatch} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	return w.add(dir)
}

func (w *world) add(dir string) string {
	w.t.Helper()
	c, err := charmdir.Read(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	var b bytes.Buffer
	sum, err := c.Archive(&b)
	if err != nil {
		w.t.Fatal(err)
	}
	url, err := w.model.AddCharm(w.ctx, c.Charm, sum, &b)
	if err != nil {
		w.t.Fatal(err)
	}
	return url
}

func (w *world) deploy(app, url string, units int) {
	w.t.Helper()
	if err := w.model.Deploy(w.ctx, state.DeployArgs{Application: app, Charm: url, Units: units}); err != nil {
		w.t.Fatal(err)
	}
}

// until waits until the model is as wanted.
func (w *world) until(what string, ok func(*state.FullStatus) bool) {
	w.t.Helper()
	watch, err := w.model.Watch(w.ctx, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		s, err := w.model.Status(w.ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		if ok(s) {
			return
		}
		if _, more := <-watch; !more {
			w.t.Fatalf("waiting until %s: %+v", what, s.Applications)
		}
	}
}

// settle waits until nothing is left to do.
func (w *world) settle() {
	w.t.Helper()
	watch, err := w.model.Watch(w.ctx, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	rev, err := w.model.AskSettled(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		ok, err := w.model.Settled(w.ctx, rev)
		if err != nil {
			w.t.Fatal(err)
		}
		if ok {
			return
		}
		if _, more := <-watch; !more {
			w.t.Fatal("nothing has settled")
		}
	}
}

func (w *world) hooks(unit model.UnitName) []string {
	w.t.Helper()
	entries, err := history.Read(machine.HistoryDir(w.dir, w.model.UUID()), unit)
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		name := e.Name
		if e.Hook.RemoteUnit != "" {
			name += "(" + string(e.Hook.RemoteUnit) + ")"
		}
		if e.Outcome != history.Committed {
			name += " " + string(e.Outcome)
		}
		names = append(names, name)
	}
	return names
}

// unitDir is the directory of a unit.
func (w *world) unitDir(unit model.UnitName) string {
	return filepath.Join(machine.ModelDir(w.dir, w.model.UUID()), "agents", unit.Tag())
}

// destroy removes an application and waits until it is gone.
func (w *world) destroy(app string) {
	w.t.Helper()
	if _, err := w.model.DestroyApplication(w.ctx, app); err != nil {
		w.t.Fatal(err)
	}
	w.until(app+" is gone", func(s *state.FullStatus) bool {
		return !slices.ContainsFunc(s.Applications, func(a state.ApplicationView) bool { return a.Name == app })
	})
}

func (w *world) wantHooks(unit model.UnitName, want ...string) {
	w.t.Helper()
	if got := w.hooks(unit); !slices.Equal(got, want) {
		w.t.Errorf("%s ran\n  %s\nwant\n  %s", unit, strings.Join(got, " "), strings.Join(want, " "))
	}
}

func TestTwoRelatedUnitsRunTheirHooksInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	db := w.charm("name: db\nsummary: s\nprovides: {server: {interface: x}}\n", `
case "$JUJU_HOOK_NAME" in
server-relation-joined) relation-set password=secret-for-$JUJU_REMOTE_APP;;
esac
status-set active
`)
	app := w.charm("name: app\nsummary: s\nrequires: {db: {interface: x}}\n", `
case "$JUJU_HOOK_NAME" in
db-relation-changed) p=$(relation-get password); if [ -n "$p" ]; then status-set active "got $p"; fi;;
start) status-set active;;
esac
`)
	w.deploy("db", db, 1)
	w.deploy("app", app, 1)
	w.settle()
	if _, err := w.model.AddRelation(w.ctx, "app", "db"); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.until("the password has arrived", func(s *state.FullStatus) bool {
		return s.Applications[0].Units[0].Workload.Message == "got secret-for-app"
	})
	w.wantHooks("db/0", "install", "leader-elected", "config-changed", "start",
		"server-relation-created", "server-relation-joined(app/0)", "server-relation-changed(app/0)")
	// The password comes with the first changed hook or with a second one: the
	// two units run at the same time.
	want := []string{"install", "leader-elected", "config-changed", "start",
		"db-relation-created", "db-relation-joined(db/0)", "db-relation-changed(db/0)"}
	if got := slices.Compact(w.hooks("app/0")); !slices.Equal(got, want) {
		t.Errorf("app/0 ran %v, want %v", got, want)
	}
	if _, err := w.model.DestroyApplication(w.ctx, "db"); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.until("db is gone", func(s *state.FullStatus) bool { return len(s.Applications) == 1 })
	if _, err := w.model.DestroyApplication(w.ctx, "app"); err != nil {
		t.Fatal(err)
	}
	w.until("app is gone", func(s *state.FullStatus) bool { return len(s.Applications) == 0 && len(s.Machines) == 0 })
	for unit, tail := range map[model.UnitName][]string{
		"db/0":  {"server-relation-departed(app/0)", "server-relation-broken", "stop", "remove"},
		"app/0": {"db-relation-departed(db/0)", "db-relation-broken", "stop", "remove"},
	} {
		if got := w.hooks(unit); !slices.Equal(got[len(got)-4:], tail) {
			t.Errorf("%s ended with %v, want %v", unit, got, tail)
		}
	}
}
