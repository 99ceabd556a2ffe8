package testcharms_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/juju/clock"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/testcharms"
)

// world is a model with an agent that runs charms for real.
type world struct {
	testing.TB
	ctx   context.Context
	dir   string
	model *state.Model
}

// unitd is the program under test.
func unitd(t *testing.T) string {
	t.Helper()
	dir, err := testcharms.Programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "unitd")
}

func TestMain(m *testing.M) {
	code := m.Run()
	etcdtest.Stop()
	testcharms.RemovePrograms()
	os.Exit(code)
}

// TestOnEtcd runs the tests of the package on the other engine.
func TestOnEtcd(t *testing.T) {
	if os.Getenv("UNITD_TEST_LONG") == "" {
		t.Skip("only with UNITD_TEST_LONG=1")
	}
	etcdtest.Again(t, "etcd3")
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldWith(t, func(*machine.Config) {})
}

// newWorldWith is newWorld with an agent that is told something else.
func newWorldWith(t testing.TB, configure func(*machine.Config)) *world {
	t.Helper()
	path, err := testcharms.Client()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := etcdtest.Open(t, filepath.Join(dir, "store.db"))
	t.Cleanup(func() { s.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	c := state.NewController(s, clock.WallClock)
	m, err := c.AddModel(ctx, "test")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		config := machine.Config{
			Controller: c, Dir: dir, Client: path, Clock: clock.WallClock, Host: machine.LocalHost(),
			Log: slog.New(slog.DiscardHandler),
		}
		configure(&config)
		ended <- machine.Run(ctx, config)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return &world{TB: t, ctx: ctx, dir: dir, model: m}
}

// must fails the test on an error.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// deploy deploys a charm that Copy or CopyOps has made, under its own name.
func (w *world) deploy(dir string, units int) {
	w.Helper()
	w.must(w.model.Deploy(w.ctx, state.DeployArgs{Application: filepath.Base(dir), Charm: w.add(dir), Units: units}))
}

// add has the model know a charm, and is its URL.
func (w *world) add(dir string) string {
	w.Helper()
	c, err := charmdir.Read(dir)
	w.must(err)
	var b bytes.Buffer
	sum, err := c.Archive(&b)
	w.must(err)
	url, err := w.model.AddCharm(w.ctx, c.Charm, sum, &b)
	w.must(err)
	return url
}

// copies deploys one unit of each of the named charms.
func (w *world) copies(names ...string) {
	w.Helper()
	for _, name := range names {
		w.deploy(testcharms.Copy(w, name), 1)
	}
}

func (w *world) relate(a, b string) {
	w.Helper()
	_, err := w.model.AddRelation(w.ctx, a, b)
	w.must(err)
}

// set sets an option, given as KEY=VALUE.
func (w *world) set(application, option string) {
	w.Helper()
	key, value, _ := strings.Cut(option, "=")
	w.must(w.model.SetConfig(w.ctx, application, map[string]string{key: value}, nil))
}

// wantStatus waits until the unit's workload status is as wanted: the value,
// a blank and the message.
func (w *world) wantStatus(unit model.UnitName, want string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, 5*time.Minute)
	defer cancel()
	watch, err := w.model.Watch(ctx, 0)
	w.must(err)
	last := ""
	for {
		s, err := w.model.Status(w.ctx)
		w.must(err)
		for _, a := range s.Applications {
			for _, u := range a.Units {
				if u.Name == unit {
					last = strings.TrimSpace(string(u.Workload.Status) + " " + u.Workload.Message)
				}
			}
		}
		if last == want {
			return
		}
		if _, more := <-watch; !more {
			w.Fatalf("%s is %q, want %q", unit, last, want)
		}
	}
}

// settle waits until nothing is left to do.
func (w *world) settle() {
	w.Helper()
	ctx, cancel := context.WithCancel(w.ctx) // what nobody reads is kept for who watches
	defer cancel()
	watch, err := w.model.Watch(ctx, 0)
	w.must(err)
	rev, err := w.model.AskSettled(ctx)
	w.must(err)
	for {
		ok, err := w.model.Settled(ctx, rev)
		w.must(err)
		if ok {
			return
		}
		if _, more := <-watch; !more {
			w.Fatal("nothing has settled")
		}
	}
}

// charmDir is where the unit's copy of its charm is.
func (w *world) charmDir(unit model.UnitName) string {
	app, number, _ := strings.Cut(string(unit), "/")
	return filepath.Join(machine.ModelDir(w.dir, w.model.UUID()), "agents", "unit-"+app+"-"+number, "charm")
}

// file is the content of a file in the unit's charm directory; empty if there
// is none.
func (w *world) file(unit model.UnitName, name string) string {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.charmDir(unit), name))
	if err != nil && !os.IsNotExist(err) {
		w.Fatal(err)
	}
	return string(data)
}

// untilFile waits until a file in the unit's charm directory has the text in
// it; an empty text means that there is no such file.
func (w *world) untilFile(unit model.UnitName, name, text string) {
	w.Helper()
	watch, err := fsnotify.NewWatcher()
	w.must(err)
	defer watch.Close()
	w.must(watch.Add(filepath.Dir(filepath.Join(w.charmDir(unit), name))))
	late := time.After(5 * time.Minute)
	for {
		got := w.file(unit, name)
		if text == "" && got == "" || text != "" && strings.Contains(got, text) {
			return
		}
		select {
		case <-watch.Events:
		case err := <-watch.Errors:
			w.Fatal(err)
		case <-late:
			w.Fatalf("%s of %s has not come to have %q:\n%s", name, unit, text, got)
		}
	}
}
