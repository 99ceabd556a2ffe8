package state_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/juju/clock"
	"github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/statetest"
	"github.com/unitd/unitd/state/store/memory"
)

// pairOf are two models of which the first has consumed what the second offers.
type pairOf struct {
	*rapid.T
	ctx    context.Context
	store  *memory.Store
	models [2]*state.Model // coast, harbour
}

var pairApps = [2]string{"shop", "ledger"}

func newPair(t *rapid.T) *pairOf {
	p := &pairOf{T: t, ctx: context.Background(), store: memory.New(clock.WallClock)}
	c := state.NewController(p.store, clock.WallClock)
	for i, name := range []string{"coast", "harbour"} {
		m, err := c.AddModel(p.ctx, name)
		p.done(err)
		doc := charm([2]string{shop, ledger}[i])
		url, err := m.AddCharm(p.ctx, doc, hashOf(doc.Name), strings.NewReader(doc.Name))
		p.done(err)
		p.done(m.Deploy(p.ctx, state.DeployArgs{Application: doc.Name, Charm: url, Units: 2}))
		p.models[i] = m
	}
	for _, step := range []string{"offer", "consume", "integrate"} {
		p.done(p.do(step, 0))
	}
	return p
}

// done ends the test on an error that isn't a refusal.
func (p *pairOf) done(err error) {
	for _, refused := range []error{errors.NotFound, errors.NotValid, errors.AlreadyExists, errors.QuotaLimitExceeded, state.ErrCannotEnterScope} {
		if errors.Is(err, refused) {
			return
		}
	}
	if err != nil {
		p.Fatal(err)
	}
}

// do does one thing on a side: 0 is the one that consumes.
func (p *pairOf) do(what string, side int) error {
	m, app := p.models[side], pairApps[side]
	unit := model.NewUnitName(app, rapid.IntRange(0, 2).Draw(p.T, "number"))
	id := model.RelationID(-1)
	rels, _ := m.RelationsOf(p.ctx, app)
	if rels = slices.DeleteFunc(rels, func(r state.RelationDoc) bool { return r.Across == nil }); len(rels) > 0 {
		id = rapid.SampledFrom(rels).Draw(p.T, "relation").ID
	}
	how := rapid.SampledFrom([]state.Force{state.Orderly, state.SkipFailing, state.Abandon}).Draw(p.T, "force")
	switch what {
	case "offer":
		_, err := p.models[1].Offer(p.ctx, "ledger", []string{"db", "audit"}, "ledgerdb")
		return err
	case "consume":
		_, err := p.models[0].Consume(p.ctx, p.models[1], model.OfferURL{Controller: "unitd", Owner: "admin", Model: "harbour", Offer: "ledgerdb"}, "dbalias")
		return err
	case "integrate":
		ends := rapid.SampledFrom([]string{"shop:store dbalias", "shop:watch dbalias", "dbalias:db shop:one"}).Draw(p.T, "ends")
		a, b, _ := strings.Cut(ends, " ")
		_, err := p.models[0].AddRelation(p.ctx, a, b)
		return err
	case "enter":
		return m.EnterScope(p.ctx, unit, id, model.Settings{"hello": "1"})
	case "leave":
		return m.LeaveScope(p.ctx, unit, id)
	case "write":
		return m.Apply(p.ctx, unit, model.Changes{Relations: map[model.RelationID]model.RelationChange{
			id: {Unit: model.Settings{"n": fmt.Sprint(rapid.IntRange(0, 3).Draw(p.T, "n"))}}}})
	case "suspend":
		return m.Suspend(p.ctx, "rest", id)
	case "resume":
		return m.Resume(p.ctx, id)
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
	case "remove-application":
		_, err := m.ForceApplication(p.ctx, app, how, nil)
		return err
	}
	return m.RunCleanups(p.ctx)
}

// look checks that the documents of each model don't contradict each other, and that both
// halves of each relation say the same.
func (p *pairOf) look(after string) {
	pairs, err := statetest.PairProblems(p.ctx, p.store, p.models[0].UUID(), p.models[1].UUID())
	p.done(err)
	for _, m := range p.models {
		problems, err := statetest.Problems(p.ctx, p.store, m.UUID(), true)
		p.done(err)
		pairs = append(pairs, problems...)
	}
	if len(pairs) > 0 {
		p.Fatalf("after %s: %v", after, pairs)
	}
}

func TestBothHalvesAgreeInAnyOrderOfOperations(t *testing.T) {
	t.Parallel()
	steps := []string{
		"enter", "enter", "enter", "leave", "leave", "write", "suspend", "resume", "integrate", "integrate", "consume", "offer",
		"remove-relation", "remove-saas", "remove-offer", "remove-unit", "add-unit", "remove-application", "clean up",
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := newPair(rt)
		for range rapid.IntRange(5, 30).Draw(rt, "steps") {
			step, side := rapid.SampledFrom(steps).Draw(rt, "step"), rapid.IntRange(0, 1).Draw(rt, "side")
			p.done(p.do(step, side))
			p.look(step)
		}
		for _, side := range rapid.Permutation([]int{0, 1}).Draw(rt, "order") {
			_, err := p.models[side].ForceApplication(p.ctx, pairApps[side], state.Abandon, nil)
			p.done(err)
			p.look("removing all of one side")
		}
		p.done(p.models[0].RemoveSAAS(p.ctx, "dbalias", state.Abandon))
		p.done(p.models[1].RemoveOffer(p.ctx, "ledgerdb", true))
		for _, m := range p.models {
			p.done(m.RunCleanups(p.ctx))
			rows, err := statetest.Left(p.ctx, p.store, m.UUID())
			p.done(err)
			if len(rows) > 0 {
				rt.Fatalf("left in %s: %v", m.Name(), rows)
			}
		}
	})
}
