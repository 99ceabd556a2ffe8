package state_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// Whenever it looks, and whatever has happened since it looked last, a lookout
// sees what one sees that knows nothing.
func TestALookoutSeesWhatOneSeesThatKnowsNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			lookAtRandom(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

func lookAtRandom(t *testing.T, chance *rand.Rand) {
	w := newWorld(t)
	w.deploy(mysql, 3)
	w.deploy(wordpress, 2)
	w.deploy(logging, 0)
	global := w.relate("wordpress", "mysql")
	family := w.relate("wordpress", "logging:info")
	w.enter("wordpress/0", family)
	w.enter("wordpress/1", family)
	relations := map[string][]model.RelationID{"mysql": {0, global}, "wordpress": {global, family}, "logging": {family}}
	units := []model.UnitName{"mysql/0", "mysql/1", "mysql/2", "wordpress/0", "wordpress/1", "logging/0", "logging/1"}
	lookouts := map[model.UnitName]*state.Lookout{}
	for _, u := range units {
		lookouts[u] = w.Lookout(u)
	}
	var acts []string
	for n := range int64(120) {
		u := units[chance.IntN(len(units))]
		in := relations[u.Application()]
		id := in[chance.IntN(len(in))]
		act := []string{"enter", "enter", "leave", "write", "look", "look", "forget"}[chance.IntN(7)]
		acts = append(acts, fmt.Sprintf("%s %s %d", act, u, id))
		switch act {
		case "enter":
			w.enter(u, id)
		case "leave":
			w.leave(u, id)
		case "write":
			w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: u, Run: n + 1, LeaveScope: model.NoRelation, Changes: model.Changes{
				Relations: map[model.RelationID]model.RelationChange{id: {Unit: model.Settings{"n": fmt.Sprint(n)}}},
			}}))
		case "forget":
			w.ok(w.store.Compact(w.ctx, w.snapshot(u).Rev))
		case "look":
			got, err := lookouts[u].Snapshot(w.ctx)
			w.ok(err)
			if want := w.snapshot(u); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s sees\n%+v\nwant\n%+v\nafter %s", u, got.Relations, want.Relations, strings.Join(acts, ", "))
			}
		}
	}
}

// counting is a store that counts the keys with their values that are read, and the
// questions to it.
type counting struct {
	store.Store
	read, asked int
}

func (c *counting) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	return c.Store.View(ctx, func(r store.Reader) error { return fn(&countingReader{r, c}) })
}

type countingReader struct {
	store.Reader
	c *counting
}

func (r *countingReader) Get(key string) (store.KV, error) {
	r.c.read++
	r.c.asked++
	return r.Reader.Get(key)
}

func (r *countingReader) List(prefix string) ([]store.KV, error) {
	kvs, err := r.Reader.List(prefix)
	r.c.read += len(kvs)
	r.c.asked++
	return kvs, err
}

func (r *countingReader) Since(prefix string, rev int64) ([]store.KV, error) {
	kvs, err := r.Reader.Since(prefix, rev)
	r.c.read += len(kvs)
	r.c.asked++
	return kvs, err
}

// However many members a relation has, a look reads those that have changed.
func TestALookReadsWhatHasChanged(t *testing.T) {
	t.Parallel()
	read := map[int][]int{}
	for _, members := range []int{5, 150} {
		w := newWorld(t)
		w.deploy(mysql, members)
		s := &counting{Store: w.store}
		l := w.onStore(s).Lookout("mysql/0")
		look := func() {
			w.Helper()
			s.read = 0
			snapshot, err := l.Snapshot(w.ctx)
			w.ok(err)
			read[members] = append(read[members], s.read)
			if want := w.snapshot("mysql/0"); !reflect.DeepEqual(snapshot, want) {
				w.Errorf("sees %+v, want %+v", snapshot, want)
			}
		}
		unit := func(n int) model.UnitName { return model.NewUnitName("mysql", n) }
		for n := range members - 1 {
			w.enter(unit(n), 0)
		}
		_, err := l.Snapshot(w.ctx)
		w.ok(err)
		look()
		w.enter(unit(members-1), 0)
		look()
		w.leave(unit(1), 0)
		w.leave(unit(2), 0)
		look()
		w.enter(unit(2), 0)
		look()
	}
	if few, many := read[5], read[150]; !reflect.DeepEqual(few, many) {
		t.Errorf("looks at 5 members read %v documents, at 150 members %v", few, many)
	}
}
