package external_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/external"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/memory"
)

func TestARelationOfTwoStores(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	coast, harbour := p.models[0], p.models[1]
	p.ok(p.offer())
	p.ok(p.consume())
	rel, err := coast.AddRelation(p.ctx, "shop:store", "dbalias")
	p.ok(err)
	p.settle()
	p.agree()
	theirs, err := harbour.Halves(p.ctx, coast.UUID(), true)
	p.ok(err)
	if len(theirs) != 1 {
		t.Fatalf("there are %d halves", len(theirs))
	}
	there := theirs[0]
	stranger, _ := there.Stranger()

	p.ok(coast.EnterScope(p.ctx, "shop/1", rel.ID, model.Settings{"want": "a table"}))
	p.ok(harbour.EnterScope(p.ctx, "ledger/0", there.ID, model.Settings{"host": "10.0.0.1"}))
	p.settle()
	p.agree()
	bag, err := harbour.Settings(p.ctx, there.ID, model.NewUnitName(stranger.Application, 1))
	p.ok(err)
	if bag["want"] != "a table" {
		t.Errorf("there shop/1 says %v", bag)
	}
	if bag, err = coast.Settings(p.ctx, rel.ID, "dbalias/0"); err != nil || bag["host"] != "10.0.0.1" {
		t.Errorf("here ledger/0 says %v, %v", bag, err)
	}

	p.ok(coast.Apply(p.ctx, "shop/1", model.Changes{Relations: map[model.RelationID]model.RelationChange{rel.ID: {Unit: model.Settings{"want": "", "need": "two"}}}}))
	p.settle()
	if bag, err = harbour.Settings(p.ctx, there.ID, model.NewUnitName(stranger.Application, 1)); err != nil || len(bag) != 1 || bag["need"] != "two" {
		t.Errorf("there shop/1 says %v, %v", bag, err)
	}

	p.ok(harbour.Suspend(p.ctx, "rest", there.ID))
	p.settle()
	if r, err := coast.Relation(p.ctx, rel.ID); err != nil || !r.Suspended || r.SuspendedMessage != "rest" {
		t.Errorf("here it is %+v, %v", r, err)
	}
	p.ok(harbour.Resume(p.ctx, there.ID))

	p.ok(coast.DestroyRelationID(p.ctx, rel.ID))
	p.settle()
	if r, err := harbour.Relation(p.ctx, there.ID); err != nil || r.Life != model.Dying {
		t.Fatalf("there it is %v, %v", r.Life, err)
	}
	p.ok(harbour.LeaveScope(p.ctx, "ledger/0", there.ID))
	p.settle()
	p.ok(coast.LeaveScope(p.ctx, "shop/1", rel.ID))
	p.settle()
	for i, id := range []model.RelationID{rel.ID, there.ID} {
		if _, err := p.models[i].Relation(p.ctx, id); !errors.Is(err, errors.NotFound) {
			t.Errorf("%s has it: %v", p.models[i].Name(), err)
		}
	}
	if gone, err := coast.ForgetExternal(p.ctx, harbour.UUID()); err != nil || gone {
		t.Errorf("the other model is forgotten while something is consumed of it: %v", err)
	}
	p.ok(coast.RemoveSAAS(p.ctx, "dbalias", state.Orderly))
	if gone, err := coast.ForgetExternal(p.ctx, harbour.UUID()); err != nil || !gone {
		t.Errorf("the other model isn't forgotten: %v", err)
	}
}

func TestARelationGoesFromEitherSide(t *testing.T) {
	t.Parallel()
	for side, name := range []string{"here", "there"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ids := entered(t)
			other := 1 - side
			p.ok(p.models[side].DestroyRelationID(p.ctx, ids[side]))
			p.ok(p.models[other].EnterScope(p.ctx, model.NewUnitName(apps[other], 1), ids[other], nil))
			p.ok(p.models[side].RunCleanups(p.ctx))
			if !p.in(side, ids[side], 0) {
				t.Error("the other side's unit has left before it was told to")
			}
			p.settle()
			if p.in(side, ids[side], 1) {
				t.Error("a unit has come into a relation that goes")
			}
			for n := range 2 {
				p.ok(p.models[other].LeaveScope(p.ctx, model.NewUnitName(apps[other], n), ids[other]))
			}
			p.settle()
			p.ok(p.models[side].LeaveScope(p.ctx, model.NewUnitName(apps[side], 0), ids[side]))
			p.settle()
			for i, id := range ids {
				if _, err := p.models[i].Relation(p.ctx, id); !errors.Is(err, errors.NotFound) {
					t.Errorf("%s has it: %v", p.models[i].Name(), err)
				}
			}
		})
	}
}

func TestByForceARelationNeedsNoOtherStore(t *testing.T) {
	t.Parallel()
	for side, name := range []string{"here", "there"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ids := entered(t)
			other := 1 - side
			p.ok(p.models[side].ForceRelation(p.ctx, ids[side], state.SkipFailing, nil))
			p.ok(p.models[side].RunCleanups(p.ctx))
			if p.in(side, ids[side], 0) {
				t.Error("the other side's unit is waited for")
			}
			p.settle()
			if r, err := p.models[other].Relation(p.ctx, ids[other]); err != nil || r.Life != model.Dying || r.Force != state.SkipFailing {
				t.Errorf("on the other side it is %v, force %d, %v", r.Life, r.Force, err)
			}
			p.ok(p.models[side].ForceRelation(p.ctx, ids[side], state.Abandon, nil))
			if _, err := p.models[side].Relation(p.ctx, ids[side]); !errors.Is(err, errors.NotFound) {
				t.Errorf("it is there: %v", err)
			}
			p.settle()
			p.whole()
		})
	}
}

// What is forced away on one side is gone there before the other one hears of it, which isn't to make it anew.
func TestARelationThatIsGoneIsntMadeAnew(t *testing.T) {
	t.Parallel()
	for side, name := range []string{"here", "there"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ids := entered(t)
			other := 1 - side
			p.ok(p.models[side].ForceRelation(p.ctx, ids[side], state.Abandon, nil))
			p.settle()
			r, err := p.models[other].Relation(p.ctx, ids[other])
			p.ok(err)
			if r.Life != model.Dying || p.in(other, ids[other], 0) {
				t.Errorf("on the other side it is %v, and its unit in scope %v", r.Life, p.in(other, ids[other], 0))
			}
			p.ok(p.models[other].LeaveScope(p.ctx, model.NewUnitName(apps[other], 0), ids[other]))
			p.settle()
			if all, err := p.models[side].Halves(p.ctx, p.models[other].UUID(), side == 1); err != nil || len(all) > 0 {
				t.Errorf("there are %v, %v", all, err)
			}
		})
	}
}

func TestAModelOfTheSameStoreIsntConsumedAsAnother(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.ok(p.offer())
	m, err := state.NewController(p.stores[1], clock.WallClock).AddModel(p.ctx, "bay")
	p.ok(err)
	_, err = m.ConsumeExternal(p.ctx, p.models[1], state.ExternalDoc{}, model.OfferURL{Controller: "pier", Model: "harbour", Offer: "ledgerdb"}, "")
	if !errors.Is(err, errors.NotValid) || !strings.Contains(err.Error(), "is in this store") {
		t.Errorf("it is consumed with %v", err)
	}
}

// A store that is being restored has none of its models yet, and that doesn't mean that they are gone.
func TestAModelThatIsntThereSaysNothing(t *testing.T) {
	t.Parallel()
	for side, name := range []string{"here", "there"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ids := entered(t)
			l := p.link()
			empty := memory.New(clock.WallClock)
			if side == 0 {
				l.Here = l.Here.Through(empty)
			} else {
				l.There = l.There.Through(empty)
			}
			if err := l.Round(p.ctx); !errors.Is(err, errors.NotFound) {
				t.Errorf("it goes round with %v", err)
			}
			p.agree()
			for i := range ids {
				if !p.in(i, ids[i], 0) {
					t.Errorf("%s has lost a unit", p.models[i].Name())
				}
			}
		})
	}
}

// before is a store in which something happens before its nth look.
type before struct {
	store.Store
	n  *int
	do func()
}

func (b before) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	if *b.n--; *b.n == 0 {
		b.do()
	}
	return b.Store.View(ctx, fn)
}

func TestARelationThatIsMadeMeanwhileStays(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 4; n++ {
		p := consumed(t)
		l := p.link()
		looks := n
		made := false
		l.There = l.There.Through(before{p.stores[1], &looks, func() {
			rel, err := p.models[0].AddRelation(p.ctx, "shop:store", "dbalias")
			p.ok(err)
			_, err = p.link().Propose(p.ctx, rel)
			p.ok(err)
			made = true
		}})
		p.ok(l.Round(p.ctx))
		p.settle()
		if all, err := p.models[0].Halves(p.ctx, p.models[1].UUID(), false); made && (err != nil || len(all) != 1) {
			t.Errorf("made before look %d, there are %v, %v", n, all, err)
		}
		p.agree()
	}
}

// What one commit says of an application and of its leader is one commit on the other side.
func TestWhatOneCommitSaysIsSeenTogether(t *testing.T) {
	t.Parallel()
	p, ids := entered(t)
	p.ok(p.models[0].Apply(p.ctx, "shop/0", model.Changes{Relations: map[model.RelationID]model.RelationChange{
		ids[0]: {Unit: model.Settings{"n": "1"}}}}))
	before := p.revs()[1]
	p.ok(p.link().Round(p.ctx))
	if after := p.revs()[1]; after != before+1 {
		t.Errorf("it takes %d transactions", after-before)
	}
}

func TestWhatTheOtherModelRefusesIsRemoved(t *testing.T) {
	t.Parallel()
	for about, between := range map[string]func(*pair) error{
		"the offer is gone": func(p *pair) error { return p.models[1].RemoveOffer(p.ctx, "ledgerdb", false) },
		"the application goes": func(p *pair) error {
			_, err := p.models[1].ForceApplication(p.ctx, "ledger", state.SkipFailing, nil)
			return err
		},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			p := consumed(t)
			rel, err := p.models[0].AddRelation(p.ctx, "shop:store", "dbalias")
			p.ok(err)
			p.ok(between(p))
			if _, err := p.link().Propose(p.ctx, rel); !external.Refused(err) {
				t.Errorf("it is proposed with %v", err)
			}
			p.settle()
			if _, err := p.models[0].Relation(p.ctx, rel.ID); !errors.Is(err, errors.NotFound) {
				t.Errorf("it is there: %v", err)
			}
			p.agree()
		})
	}
}

func TestARelationWaitsForTheFormerOne(t *testing.T) {
	t.Parallel()
	p := consumed(t)
	related := func() (here state.RelationDoc, there []state.RelationDoc) {
		t.Helper()
		made, err := p.models[0].AddRelation(p.ctx, "shop:store", "dbalias")
		p.ok(err)
		p.settle()
		here, err = p.models[0].Relation(p.ctx, made.ID)
		p.ok(err)
		there, err = p.models[1].Halves(p.ctx, p.models[0].UUID(), true)
		p.ok(err)
		return here, there
	}
	first, there := related()
	p.ok(p.models[1].EnterScope(p.ctx, "ledger/0", there[0].ID, nil))
	p.ok(p.models[0].DestroyRelationID(p.ctx, first.ID))
	second, _ := related()
	if second.Across.Relation != model.NoRelation {
		t.Fatalf("the new one has the half of the former one: %+v", second.Across)
	}
	if _, err := p.link().Propose(p.ctx, second); !errors.Is(err, errors.AlreadyExists) || !strings.Contains(err.Error(), "still being removed") {
		t.Errorf("it is proposed with %v", err)
	}
	p.ok(p.models[1].LeaveScope(p.ctx, "ledger/0", there[0].ID))
	p.settle()
	if second, err := p.models[0].Relation(p.ctx, second.ID); err != nil || second.Across.Relation == model.NoRelation {
		t.Errorf("it has no other half: %+v, %v", second.Across, err)
	}
	p.agree()
}

func TestTheStatusOfWhatIsOfferedIsSeen(t *testing.T) {
	t.Parallel()
	p := consumed(t)
	is := func(want, message string) {
		t.Helper()
		s, err := p.models[0].Status(p.ctx)
		p.ok(err)
		if len(s.SAAS) != 1 || s.SAAS[0].Status.Status != want || !strings.Contains(s.SAAS[0].Status.Message, message) {
			t.Errorf("the status is %+v, want %s %q", s.SAAS, want, message)
		}
	}
	is(model.StatusUnknown, "")
	p.ok(p.link().See(p.ctx))
	is(model.StatusWaiting, "")
	before := p.revs()
	p.ok(p.link().See(p.ctx))
	if p.revs() != before {
		t.Error("a status that is as it was is written again")
	}
	p.ok(external.Fail(p.ctx, p.models[0], p.models[1].UUID(), errors.New("nobody answers")))
	is(model.StatusError, "nobody answers")
	p.ok(p.models[1].RemoveOffer(p.ctx, "ledgerdb", true))
	p.ok(p.link().See(p.ctx))
	is(model.StatusTerminated, "offer has been removed")
	if _, err := p.models[0].AddRelation(p.ctx, "shop:store", "dbalias"); !errors.Is(err, errors.NotValid) {
		t.Errorf("what is gone is related with: %v", err)
	}
	p.ok(p.offer())
	p.ok(p.consume())
	is(model.StatusUnknown, "")
}

// TestAModelThatIsDestroyedTellsTheOtherFirst, unless it is destroyed by force.
func TestAModelThatIsDestroyedTellsTheOtherFirst(t *testing.T) {
	t.Parallel()
	for _, force := range []bool{false, true} {
		p, ids := entered(t)
		coast := p.models[0]
		p.ok(coast.Destroy(p.ctx, force))
		if !force {
			p.ok(coast.LeaveScope(p.ctx, "shop/0", ids[0]))
			p.settle()
			p.ok(p.models[1].LeaveScope(p.ctx, "ledger/0", ids[1]))
			p.settle()
			p.ok(coast.ForceRemoveUnit(p.ctx, "shop/0"))
			p.ok(coast.ForceRemoveUnit(p.ctx, "shop/1"))
			if gone, err := coast.RemoveIfEmpty(p.ctx); err != nil || gone {
				t.Errorf("it goes before it has told the other one: %v", err)
			}
			_, err := coast.ForgetExternal(p.ctx, p.models[1].UUID())
			p.ok(err)
		}
		if gone, err := coast.RemoveIfEmpty(p.ctx); err != nil || !gone {
			t.Errorf("by force %v: it stays, %v", force, err)
		}
	}
}

// TestAModelThatIsImportedKnowsNoOtherStore: the other halves are those of the model that was exported.
func TestAModelThatIsImportedKnowsNoOtherStore(t *testing.T) {
	t.Parallel()
	for side, app := range apps {
		p, ids := entered(t)
		var file bytes.Buffer
		p.ok(p.models[side].Export(p.ctx, &file))
		m, err := state.NewController(memory.New(clock.WallClock), clock.WallClock).Import(p.ctx, &file, false)
		p.ok(err)
		for offering := range 2 {
			if all, err := m.Halves(p.ctx, p.models[1-side].UUID(), offering == 1); err != nil || len(all) > 0 {
				t.Errorf("it has halves %v, %v", all, err)
			}
		}
		if all, err := m.Externals(p.ctx); err != nil || len(all) > 0 {
			t.Errorf("it knows of %v, %v", all, err)
		}
		if all, err := m.ConsumedExternal(p.ctx, p.models[1-side].UUID()); err != nil || len(all) > 0 {
			t.Errorf("it has consumed %v, %v", all, err)
		}
		p.ok(m.DestroyRelationID(p.ctx, ids[side]))
		p.ok(m.RunCleanups(p.ctx))
		p.ok(m.LeaveScope(p.ctx, model.NewUnitName(app, 0), ids[side]))
		if _, err := m.Relation(p.ctx, ids[side]); !errors.Is(err, errors.NotFound) {
			t.Errorf("its relation stays: %v", err)
		}
	}
}
