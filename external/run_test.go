package external_test

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/external"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
)

// until waits until something is so in a model, which its store tells of.
func until(t testing.TB, m *state.Model, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	changes, err := m.Watch(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	for !so() {
		if _, ok := <-changes; !ok {
			t.Fatal("it has never been so")
		}
	}
}

// running is a pair with a relation that a unit of either side is in, and a link that runs.
func running(t *testing.T) (p *pair, ids [2]model.RelationID, ended <-chan error) {
	t.Helper()
	p, ids = entered(t)
	ctx, cancel := context.WithCancel(p.ctx)
	end := make(chan error, 1)
	go func() { end <- p.link().Run(ctx, clock.WallClock) }()
	t.Cleanup(cancel)
	until(t, p.models[0], func() bool { // it has gone round, and looked at what is offered
		all, err := p.models[0].Consumed(p.ctx)
		return err == nil && len(all) == 1 && all[0].Seen != nil
	})
	return p, ids, end
}

func TestWhatIsCommittedIsBrought(t *testing.T) {
	t.Parallel()
	p, ids, _ := running(t)
	for side, app := range apps {
		other := 1 - side
		unit := model.NewUnitName(app, 0)
		rel, err := p.models[other].Relation(p.ctx, ids[other])
		p.ok(err)
		stranger, _ := rel.Stranger()
		as := model.NewUnitName(stranger.Application, 0)
		for n := range 3 {
			before := p.revs()[other]
			p.ok(p.models[side].Apply(p.ctx, unit, model.Changes{Relations: map[model.RelationID]model.RelationChange{ids[side]: {Unit: model.Settings{"n": strconv.Itoa(n + 1)}}}}))
			until(t, p.models[other], func() bool {
				bag, err := p.models[other].Settings(p.ctx, ids[other], as)
				return err == nil && bag["n"] == strconv.Itoa(n+1)
			})
			if after := p.revs()[other]; after != before+1 {
				t.Errorf("%s: one commit was brought by %d", unit, after-before)
			}
		}
		p.ok(p.models[side].EnterScope(p.ctx, model.NewUnitName(app, 1), ids[side], nil))
		until(t, p.models[other], func() bool { return p.in(other, ids[other], 1) })
		p.ok(p.models[side].LeaveScope(p.ctx, unit, ids[side]))
		until(t, p.models[other], func() bool { return !p.in(other, ids[other], 0) })
	}
}

func TestALinkEndsOnceNothingIsConsumed(t *testing.T) {
	t.Parallel()
	p, ids, ended := running(t)
	p.ok(p.models[0].RemoveSAAS(p.ctx, "dbalias", state.Orderly))
	for side, app := range apps {
		until(t, p.models[side], func() bool {
			r, err := p.models[side].Relation(p.ctx, ids[side])
			return err == nil && r.Life == model.Dying
		})
		p.ok(p.models[side].LeaveScope(p.ctx, model.NewUnitName(app, 0), ids[side]))
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if all, err := p.models[0].Externals(p.ctx); err != nil || len(all) > 0 {
		t.Errorf("there are %v, %v", all, err)
	}
	for side, id := range ids {
		until(t, p.models[side], func() bool {
			_, err := p.models[side].Relation(p.ctx, id)
			return errors.Is(err, errors.NotFound)
		})
	}
}

// BenchmarkBrought is what it takes until a commit in one store is seen in the other one, beside the
// commit alone: go test ./external -run '^$' -bench Brought
func BenchmarkBrought(b *testing.B) {
	p := newPairIn(b, func(name string) (store.Store, error) {
		return sqlite.Open(filepath.Join(b.TempDir(), name+".db"), sqlite.Options{Clock: clock.WallClock})
	})
	p.ok(p.offer())
	p.ok(p.consume())
	_, err := p.models[0].AddRelation(p.ctx, "shop:store", "dbalias")
	p.ok(err)
	p.settle()
	p.ok(p.models[0].EnterScope(p.ctx, "shop/0", 0, nil))
	p.settle()
	rel, err := p.models[1].Relation(p.ctx, 0)
	p.ok(err)
	stranger, _ := rel.Stranger()
	as := model.NewUnitName(stranger.Application, 0)
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	seen, err := p.models[1].Watch(ctx, 0)
	p.ok(err)
	write := func(n int) {
		p.ok(p.models[0].Apply(p.ctx, "shop/0", model.Changes{Relations: map[model.RelationID]model.RelationChange{0: {Unit: model.Settings{"n": strconv.Itoa(n)}}}}))
	}
	n := 0
	b.Run("commit", func(b *testing.B) {
		for range b.N {
			n++
			write(n)
		}
	})
	go p.link().Run(ctx, clock.WallClock) //nolint:errcheck // it ends with the benchmark
	b.Run("brought", func(b *testing.B) {
		for range b.N {
			n++
			write(n)
			for {
				bag, err := p.models[1].Settings(p.ctx, 0, as)
				if err == nil && bag["n"] == strconv.Itoa(n) {
					break
				}
				<-seen
			}
		}
	})
}

func TestALinkEndsWhereTheOtherStoreIsAnotherOne(t *testing.T) {
	t.Parallel()
	p, _, ended := running(t)
	_, err := p.models[0].ConsumeExternal(p.ctx, p.models[1], state.ExternalDoc{Controller: "pier", Store: "etcd://elsewhere"},
		model.OfferURL{Controller: "pier", Owner: "admin", Model: "harbour", Offer: "ledgerdb"}, "second")
	p.ok(err)
	if err := <-ended; !errors.Is(err, external.ErrMoved) {
		t.Errorf("it ends with %v", err)
	}
}
