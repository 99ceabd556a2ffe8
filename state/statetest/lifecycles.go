package statetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/juju/clock"
	"github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

const (
	// clients is how many operations are under way at once, at most.
	clients = 3
	// roundsMost and roundsLong are how often that is, in one of the checks of which
	// rapid makes a hundred.
	roundsMost = 4
	roundsLong = 100
)

// Lifecycles checks random operations of several clients against a reference, see
// the package's comment, in the empty store that open returns: over five hundred of
// them, and over ten thousand with UNITD_TEST_LONG set.
func Lifecycles(t *testing.T, open func(t testing.TB) store.Store) {
	rounds := roundsMost
	if os.Getenv("UNITD_TEST_LONG") != "" {
		rounds = roundsLong
	}
	s := open(t)
	var done, models atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, s, fmt.Sprintf("model-%d", models.Add(1)))
		for range rapid.IntRange(rounds/2, rounds).Draw(rt, "rounds") {
			done.Add(int64(w.round(rt)))
		}
		w.end()
	})
	t.Logf("%d operations", done.Load())
}

// world is a model and what it should be.
type world struct {
	t     *rapid.T
	ctx   context.Context
	store store.Store
	model *state.Model
	name  string
	ref   *reference
	lives map[string]model.Life
}

// newWorld makes a model in which all of the troupe play, and are related.
func newWorld(t *rapid.T, s store.Store, name string) *world {
	w := &world{t: t, ctx: context.Background(), store: s, name: name, ref: newReference()}
	m, err := state.NewController(s, clock.WallClock).AddModel(w.ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	w.model = m
	for _, app := range players {
		sum := sha256.Sum256([]byte(app))
		if _, err := m.AddCharm(w.ctx, troupe[app], hex.EncodeToString(sum[:]), strings.NewReader(app)); err != nil {
			t.Fatal(err)
		}
	}
	for _, op := range []operation{
		deploy("store", 2), deploy("shop", 1), deploy("log", 0), integrate(pairsInOrder[2]), integrate(pairsInOrder[0]),
		setDeployed("store/0"), setDeployed("shop/0"), enter("store/0", 0), enter("store/0", 1), enter("shop/0", 1), enter("shop/0", 2), enter("log/0", 2),
	} {
		if err := op.do(w.ctx, m); err != nil || !op.ref(w.ref) {
			t.Fatalf("%s: %v", op, err)
		}
	}
	w.look(true)
	return w
}

// open is the model as another client has it.
func (w *world) open(s store.Store) *state.Model {
	m, err := state.NewController(s, clock.WallClock).Model(w.ctx, w.name)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// round has some clients do something at once, and returns how many.
func (w *world) round(t *rapid.T) int {
	ops := make([]operation, rapid.IntRange(1, clients).Draw(t, "clients"))
	for i := range ops {
		ops[i] = draw(t, w.ref)
	}
	errs := w.deal(t, ops)
	done := make([]bool, len(ops))
	for i, err := range errs {
		if done[i] = err == nil; err != nil && !refused(err) {
			t.Fatalf("%s: %v", ops[i], err)
		}
	}
	w.look(true)
	w.explain(ops, done, errs)
	return len(ops)
}

// deal runs the operations, of which one at a time does one transaction.
func (w *world) deal(t *rapid.T, ops []operation) []error {
	errs := make([]error, len(ops))
	over := make(chan struct{})
	defer close(over) // where the test fails in the middle
	gates := make([]*gate, len(ops))
	var waiting []int
	for i, op := range ops {
		gates[i] = &gate{Store: w.store, there: make(chan bool), pass: make(chan struct{}), over: over}
		m := w.open(gates[i])
		go func() {
			errs[i] = op.do(w.ctx, m)
			gates[i].arrive(false)
		}()
		if <-gates[i].there {
			waiting = append(waiting, i)
		}
	}
	for len(waiting) > 0 {
		k := rapid.IntRange(0, len(waiting)-1).Draw(t, "next")
		g := gates[waiting[k]]
		g.pass <- struct{}{}
		if !<-g.there {
			waiting = append(waiting[:k:k], waiting[k+1:]...)
		}
		w.look(false)
	}
	return errs
}

// gate is a store that stops before each transaction until it may pass.
type gate struct {
	store.Store
	there chan bool // at a transaction; false: at the end
	pass  chan struct{}
	over  chan struct{}
}

// errOver is the error of what is under way when the test has failed.
var errOver = errors.New("the test has failed")

func (g *gate) arrive(more bool) {
	select {
	case g.there <- more:
	case <-g.over:
	}
}

func (g *gate) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	g.arrive(true)
	select {
	case <-g.pass:
	case <-g.over:
		return 0, errOver
	}
	return g.Store.Update(ctx, fn, opts...)
}

// look checks that no document contradicts another, and that no life has gone
// back since the last look.
func (w *world) look(rest bool) {
	problems, err := Problems(w.ctx, w.store, w.model.UUID(), rest)
	if err != nil || len(problems) > 0 {
		w.t.Fatalf("the documents contradict each other: %v %v", problems, err)
	}
	c, err := load(w.ctx, w.store, w.model.UUID())
	if err != nil {
		w.t.Fatal(err)
	}
	lives := map[string]model.Life{}
	for name, u := range c.units {
		lives[string(name)+" "+u.ID] = u.Life
	}
	for id, r := range c.relations {
		lives[fmt.Sprint(id)] = r.Life
	}
	for what, life := range lives {
		if was, ok := w.lives[what]; ok && life < was {
			w.t.Fatalf("%s was %s and is %s", what, was, life)
		}
	}
	w.lives = lives
}

// explain finds an order in which the operations, one after the other, have that
// outcome in the reference, which then is as after them. Beside one that others
// may see half done, they may be refused or not for what is so only in between:
// then it is enough that all comes to the same.
func (w *world) explain(ops []operation, done []bool, errs []error) {
	c, err := load(w.ctx, w.store, w.model.UUID())
	if err != nil {
		w.t.Fatal(err)
	}
	got, tried := c.String(), ""
	halves := slices.ContainsFunc(ops, func(o operation) bool { return o.several }) && len(ops) > 1
	for _, order := range orders(len(ops)) {
		ref, same := w.ref.clone(), true
		for _, i := range order {
			same = ops[i].ref(ref) == done[i] && same
		}
		if (same || halves) && ref.String() == got {
			w.ref = ref
			return
		}
		tried += fmt.Sprintf("\n\nin the order %v, with the same outcomes: %t\n%s", order, same, ref)
	}
	if halves && w.explainHalves(ops, got) {
		return
	}
	w.t.Fatalf("no order of %v explains\n%v\n%s\n\nbefore:\n%s%s", ops, errs, got, w.ref, tried)
}

// explainHalves is explain where others came between an operation's beginning and the
// rest of it.
func (w *world) explainHalves(ops []operation, got string) bool {
	parts := make([]func(*reference), 0, 2*len(ops))
	after := map[int]int{} // which part comes after which
	for _, op := range ops {
		if op.begin != nil {
			after[len(parts)+1] = len(parts)
			parts = append(parts, op.begin)
		}
		parts = append(parts, func(r *reference) { op.ref(r) })
	}
	for _, order := range orders(len(parts)) {
		begun := true
		for later, first := range after {
			begun = begun && slices.Index(order, first) < slices.Index(order, later)
		}
		if !begun {
			continue
		}
		ref := w.ref.clone()
		for _, i := range order {
			parts[i](ref)
		}
		if ref.String() == got {
			w.ref = ref
			return true
		}
	}
	return false
}

// orders are all orders of n things.
func orders(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, o := range orders(n - 1) {
		for at := range n {
			all = append(all, append(append(append([]int{}, o[:at]...), n-1), o[at:]...))
		}
	}
	return all
}

// end abandons all that there is: no document is left but those of charms, and
// of what numbers come next.
func (w *world) end() {
	for _, app := range players {
		if _, err := w.model.ForceApplication(w.ctx, app, state.Abandon, nil); err != nil && !errors.Is(err, errors.NotFound) {
			w.t.Fatal(err)
		}
	}
	if err := w.model.RunCleanups(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	c, err := load(w.ctx, w.store, w.model.UUID())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, key := range c.keys {
		if kind, _ := splitKey(key); kind != "charm" && kind != "sequence" {
			w.t.Errorf("%s is left", key)
		}
	}
}
