package external_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/external"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/statetest"
	"github.com/unitd/unitd/state/store"
)

// cut is a store that fails once so many transactions were committed.
type cut struct {
	store.Store
	left *int
}

const errCut = errors.ConstError("cut off")

func (c cut) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	if *c.left--; *c.left < 0 {
		return 0, errCut
	}
	return c.Store.Update(ctx, fn, opts...)
}

// cutOff is a link that is cut off after so many transactions.
func (p *pair) cutOff(after int) *external.Link {
	l := p.link()
	l.Here, l.There = l.Here.Through(cut{p.stores[0], &after}), l.There.Through(cut{p.stores[1], &after})
	return l
}

// do does one thing on a side.
func (p *pair) do(rt *rapid.T, what string, side int) error {
	m, app := p.models[side], apps[side]
	unit := model.NewUnitName(app, rapid.IntRange(0, 2).Draw(rt, "number"))
	id := model.NoRelation
	if rels, err := m.RelationsOf(p.ctx, app); err == nil && len(rels) > 0 {
		id = rapid.SampledFrom(rels).Draw(rt, "relation").ID
	}
	how := rapid.SampledFrom([]state.Force{state.Orderly, state.SkipFailing, state.Abandon}).Draw(rt, "force")
	n := fmt.Sprint(rapid.IntRange(0, 2).Draw(rt, "n"))
	switch what {
	case "link":
		return p.link().Round(p.ctx)
	case "link that is cut off":
		err := p.cutOff(rapid.IntRange(0, 6).Draw(rt, "after")).Round(p.ctx)
		if errors.Is(err, errCut) {
			err = nil
		}
		return err
	case "offer":
		return p.offer()
	case "consume":
		return p.consume()
	case "integrate":
		ends := rapid.SampledFrom([]string{"shop:store", "shop:one"}).Draw(rt, "end")
		_, err := p.models[0].AddRelation(p.ctx, ends, "dbalias:db")
		return err
	case "enter":
		return m.EnterScope(p.ctx, unit, id, model.Settings{"hello": n})
	case "leave":
		return m.LeaveScope(p.ctx, unit, id)
	case "write":
		return m.Apply(p.ctx, unit, model.Changes{Relations: map[model.RelationID]model.RelationChange{id: {Unit: model.Settings{"n": n, "m": "1", "hello": ""}}}})
	case "suspend":
		return m.Suspend(p.ctx, "rest", id)
	case "resume":
		return m.Resume(p.ctx, id)
	case "see":
		return p.link().See(p.ctx)
	case "remove-relation":
		return m.ForceRelation(p.ctx, id, how, nil)
	case "remove-saas":
		return p.models[0].RemoveSAAS(p.ctx, "dbalias", how)
	case "remove-offer":
		return p.models[1].RemoveOffer(p.ctx, "ledgerdb", how > state.Orderly)
	case "remove-unit":
		return m.ForceUnit(p.ctx, unit, how)
	case "add-unit":
		_, err := m.AddUnits(p.ctx, app, 1)
		return err
	}
	return m.RunCleanups(p.ctx)
}

func TestBothSidesAgreeOnceALinkHasGoneRound(t *testing.T) {
	t.Parallel()
	steps := []string{
		"link", "link", "link that is cut off", "link that is cut off", "enter", "enter", "enter", "leave", "leave", "write", "write", "suspend", "resume",
		"integrate", "integrate", "consume", "offer", "see", "remove-relation", "remove-saas", "remove-offer", "remove-unit", "add-unit", "clean up",
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := consumed(rt)
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			step, side := rapid.SampledFrom(steps).Draw(rt, "step"), rapid.IntRange(0, 1).Draw(rt, "side")
			p.done(p.do(rt, step, side))
			p.whole()
		}
		p.settle()
		p.agree()
		for _, side := range rapid.Permutation([]int{0, 1}).Draw(rt, "order") {
			_, err := p.models[side].ForceApplication(p.ctx, apps[side], state.Abandon, nil)
			p.done(err)
			p.done(p.models[side].RunCleanups(p.ctx))
			p.settle()
			p.agree()
		}
		p.done(p.models[0].RemoveSAAS(p.ctx, "dbalias", state.Abandon))
		p.done(p.models[1].RemoveOffer(p.ctx, "ledgerdb", true))
		p.settle()
		gone, err := p.models[0].ForgetExternal(p.ctx, p.models[1].UUID())
		p.ok(err)
		for i, m := range p.models {
			p.done(m.RunCleanups(p.ctx))
			rows, err := statetest.Left(p.ctx, p.stores[i], m.UUID())
			p.ok(err)
			if len(rows) > 0 || !gone {
				p.Fatalf("%s: forgotten %v, and left are %v", m.Name(), gone, rows)
			}
		}
	})
}
