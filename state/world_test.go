package state_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/statetest"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// stopped is a clock that moves when told to.
type stopped struct {
	clock.Clock
	mu  sync.Mutex
	now time.Time
}

func (c *stopped) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stopped) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// tester is what a test and a rapid check have in common.
type tester interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// world is a model in a database of its own, checked for dangling documents
// and wrong counts when the test ends.
type world struct {
	tester
	ctx        context.Context
	store      store.Store
	clock      *stopped
	controller *state.Controller
	*state.Model
}

func TestMain(m *testing.M) {
	flag.Parse()
	if etcdtest.OnEtcd() && !long {
		// What is left to chance is about the rules; what the engine has to do with
		// them shows in few.
		_ = flag.Set("rapid.checks", "6")
	}
	code := m.Run()
	etcdtest.Stop()
	os.Exit(code)
}

// TestHostOnEtcd runs all other tests of the package on the other engine. That
// takes as long as all that make test has of the engine: it has its conformance, and
// sessions on it.
func TestHostOnEtcd(t *testing.T) {
	t.Parallel()
	engine := "etcd"
	if os.Getenv("UNITD_TEST_LONG") != "" {
		engine = "etcd3"
	}
	etcdtest.Again(t, engine)
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return worldIn(t, t.TempDir())
}

// worldIn makes a world with its database in dir.
func worldIn(t tester, dir string) *world {
	t.Helper()
	s := etcdtest.Open(t, filepath.Join(dir, "model.db"))
	w := &world{
		tester: t, ctx: context.Background(), store: s,
		clock: &stopped{Clock: clock.WallClock, now: time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)},
	}
	w.controller = state.NewController(s, w.clock).WithSealer(backwards())
	var err error
	if w.Model, err = w.controller.AddModel(w.ctx, "shop"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.check()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// check fails the test for every document that contradicts another.
func (w *world) check() {
	w.Helper()
	problems, err := statetest.Problems(w.ctx, w.store, w.UUID(), true)
	if err != nil {
		w.Errorf("self-check: %v", err)
	}
	for _, p := range problems {
		w.Errorf("self-check: %s", p)
	}
}

// ok ends the test on an error.
func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// fails checks that err has exactly that text.
func (w *world) fails(err error, text string) {
	w.Helper()
	if err == nil {
		w.Errorf("no error, want %q", text)
	} else if err.Error() != text {
		w.Errorf("error %q, want %q", err, text)
	}
}

// charms are described in one line: a name, "subordinate", and endpoints as
// "endpoint=role:interface" with "@container" or "#limit" after it, and
// "name=storage" for any number of file systems.
func charm(line string) model.Charm {
	words := strings.Fields(line)
	c := model.Charm{Name: words[0], Endpoints: map[string]model.CharmRel{}}
	for _, word := range words[1:] {
		if word == "subordinate" {
			c.Subordinate = true
			continue
		}
		name, rest, _ := strings.Cut(word, "=")
		if rest == "storage" {
			c.Storage = map[string]model.StorageSpec{name: {Type: model.Filesystem, CountMax: -1}}
			continue
		}
		role, iface, _ := strings.Cut(rest, ":")
		rel := model.CharmRel{Role: model.Role(role), Scope: model.Global}
		if i, ok := strings.CutSuffix(iface, "@container"); ok {
			iface, rel.Scope = i, model.Container
		}
		if i, ok := strings.CutSuffix(iface, "#1"); ok {
			iface, rel.Limit = i, 1
		}
		rel.Interface = iface
		c.Endpoints[name] = rel
	}
	return c
}

// The charms that most tests deploy.
const (
	wordpress = "wordpress db=requirer:mysql cache=requirer:memcache"
	mysql     = "mysql server=provider:mysql cluster=peer:mysql-cluster data=storage"
	logging   = "logging subordinate info=requirer:juju-info@container logs=provider:logs"
	monitor   = "monitor subordinate watch=requirer:juju-info@container db=requirer:mysql"
)

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// addCharm stores a charm, with its name as the archive's content.
func (w *world) addCharm(c model.Charm) string {
	w.Helper()
	url, err := w.AddCharm(w.ctx, c, hashOf(c.Name), strings.NewReader(c.Name))
	w.ok(err)
	return url
}

// deploy deploys a charm under its own name.
func (w *world) deploy(line string, units int) {
	w.Helper()
	c := charm(line)
	w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: c.Name, Charm: w.addCharm(c), Units: units}))
}

// keys are the keys of the store below a prefix.
func (w *world) keys(prefix string) []string {
	w.Helper()
	var keys []string
	_, err := w.store.View(w.ctx, func(r store.Reader) error {
		kvs, err := r.List(prefix)
		keys = nil
		for _, kv := range kvs {
			keys = append(keys, kv.Key)
		}
		return err
	})
	w.ok(err)
	return keys
}

// relate makes a relation.
func (w *world) relate(a, b string) model.RelationID {
	w.Helper()
	r, err := w.AddRelation(w.ctx, a, b)
	w.ok(err)
	return r.ID
}

// enter has an agent take the unit on and enter the relations.
func (w *world) enter(unit model.UnitName, relations ...model.RelationID) {
	w.Helper()
	w.ok(w.SetDeployed(w.ctx, unit))
	for _, id := range relations {
		w.ok(w.EnterScope(w.ctx, unit, id, model.Settings{"private-address": "10.0.0.1"}))
	}
}

// leave has the unit leave the relations.
func (w *world) leave(unit model.UnitName, relations ...model.RelationID) {
	w.Helper()
	for _, id := range relations {
		w.ok(w.LeaveScope(w.ctx, unit, id))
	}
}

// remove does what agents do with a unit that leaves no relation behind.
func (w *world) remove(unit model.UnitName) {
	w.Helper()
	w.ok(w.SetDying(w.ctx, unit))
	w.ok(w.SetDead(w.ctx, unit))
	w.ok(w.RemoveUnit(w.ctx, unit))
}

// errCut is the error of a store that takes no more.
var errCut = errors.New("cut off")

// cutting is a store that takes a number of transactions and then, once, does
// something else, or, if that is nil, takes no more.
type cutting struct {
	store.Store
	left int
	then func()
}

func (c *cutting) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	switch {
	case c.left == 0 && c.then == nil:
		return 0, errCut
	case c.left == 0:
		c.then()
	}
	c.left--
	return c.Store.Update(ctx, fn, opts...)
}

// cutOff does something that dies after n transactions. It says whether it was
// done by then.
func (w *world) cutOff(n int, do func(m *state.Model) error) bool {
	w.Helper()
	err := do(w.onStore(&cutting{Store: w.store, left: n}))
	if !errors.Is(err, errCut) {
		w.ok(err)
	}
	return err == nil
}

// between does something, and something else after its nth transaction.
func (w *world) between(n int, then func(), do func(m *state.Model) error) {
	w.Helper()
	w.ok(do(w.onStore(&cutting{Store: w.store, left: n, then: then})))
}

// onStore is the world's model on another store.
func (w *world) onStore(s store.Store) *state.Model {
	w.Helper()
	m, err := state.NewController(s, w.clock).Model(w.ctx, w.Name())
	w.ok(err)
	return m
}

// life is "alive", "dying", "dead" or "gone", of what a getter returned.
func life(l model.Life, err error) string {
	if errors.Is(err, errors.NotFound) {
		return "gone"
	}
	if err != nil {
		return err.Error()
	}
	return l.String()
}

func (w *world) unitLife(name model.UnitName) string {
	u, err := w.Unit(w.ctx, name)
	return life(u.Life, err)
}

func (w *world) appLife(name string) string {
	a, err := w.Application(w.ctx, name)
	return life(a.Life, err)
}

func (w *world) relationLife(id model.RelationID) string {
	r, err := w.Relation(w.ctx, id)
	return life(r.Life, err)
}

// is compares what was seen with what the rule says.
func (w *world) is(what, got, want string) {
	w.Helper()
	if got != want {
		w.Errorf("%s is %s, want %s", what, got, want)
	}
}
