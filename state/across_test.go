package state_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/statetest"
)

const (
	ledger = "ledger db=provider:kv audit=provider:log ring=peer:ring near=provider:kv@container"
	shop   = "shop store=requirer:kv watch=requirer:log one=requirer:kv#1"
)

// harbour is a model that offers "ledgerdb", of ledger with two units, beside the world's,
// which has shop with two units.
type harbour struct {
	*world
	offering *world
}

func newHarbour(t testing.TB) *harbour {
	t.Helper()
	w := newWorld(t)
	m, err := w.controller.AddModel(w.ctx, "harbour")
	w.ok(err)
	of := *w
	of.Model = m
	h := &harbour{world: w, offering: &of}
	of.deploy(ledger, 2)
	w.deploy(shop, 2)
	_, err = m.Offer(w.ctx, "ledger", []string{"db", "audit"}, "ledgerdb")
	w.ok(err)
	t.Cleanup(func() {
		problems, err := statetest.PairProblems(w.ctx, w.store, w.UUID(), m.UUID())
		if err != nil {
			t.Error(err)
		}
		for _, p := range problems {
			t.Errorf("self-check: %s", p)
		}
		if life(model.Alive, infoErr(m.Info(w.ctx))) == "alive" {
			of.check()
		}
	})
	return h
}

func infoErr(_ state.ModelInfo, err error) error { return err }

func (h *harbour) consume(alias string) {
	h.Helper()
	u, err := model.ParseOfferURL("unitd:admin/harbour.ledgerdb")
	h.ok(err)
	_, err = h.Consume(h.ctx, h.offering.Model, u, alias)
	h.ok(err)
}

// related is shop:store in a relation with ledger:db, known as dbalias, and both halves' ids.
func related(t testing.TB) (h *harbour, here, there model.RelationID) {
	t.Helper()
	h = newHarbour(t)
	h.consume("dbalias")
	here = h.relate("shop:store", "dbalias")
	r, err := h.Relation(h.ctx, here)
	h.ok(err)
	return h, here, r.Across.Relation
}

// standIn is the name that the offering model has for shop.
func (h *harbour) standIn() string {
	h.Helper()
	app, err := h.Application(h.ctx, "shop")
	h.ok(err)
	return "remote-" + app.Token
}

func TestARelationAcrossModelsIsOneCommitOnBothSides(t *testing.T) {
	t.Parallel()
	h, here, there := related(t)
	stand := h.standIn()
	h.is("the key here", key(h.Relation(h.ctx, here)), "shop:store dbalias:db")
	h.is("the key there", key(h.offering.Relation(h.ctx, there)), stand+":store ledger:db")

	h.enter("shop/1", here)
	h.offering.enter("ledger/0", there)
	h.members("shop/1", here, model.Member{Unit: "dbalias/0", Version: 1})
	h.offering.members("ledger/0", there, model.Member{Unit: model.NewUnitName(stand, 1), Version: 1})

	h.ok(h.Apply(h.ctx, "shop/1", model.Changes{Relations: map[model.RelationID]model.RelationChange{here: {Unit: model.Settings{"want": "a table"}}}}))
	bag, err := h.offering.Settings(h.ctx, there, model.NewUnitName(stand, 1))
	h.ok(err)
	h.is("what the offering side reads", bag["want"], "a table")
	h.offering.members("ledger/0", there, model.Member{Unit: model.NewUnitName(stand, 1), Version: 2})

	lead(h.offering, "ledger/0")
	h.ok(h.offering.Apply(h.ctx, "ledger/0", model.Changes{Relations: map[model.RelationID]model.RelationChange{there: {Application: model.Settings{"url": "kv://"}}}}))
	bag, err = h.ApplicationSettings(h.ctx, here, "dbalias")
	h.ok(err)
	h.is("what the consuming side reads of the application", bag["url"], "kv://")

	h.leave("shop/1", here)
	h.offering.members("ledger/0", there)
	why, err := h.offering.Departure(h.ctx, "ledger/0", there, model.NewUnitName(stand, 1))
	h.ok(err)
	h.is("why it has left", string(why), "")

	before := h.rev()
	h.ok(h.Apply(h.ctx, "shop/1", model.Changes{Relations: map[model.RelationID]model.RelationChange{here: {Unit: model.Settings{"want": "a table"}}}}))
	if after := h.rev(); after != before {
		t.Errorf("writing what is there already has moved the store from %d to %d", before, after)
	}
}

func key(r state.RelationDoc, err error) string {
	if err != nil {
		return err.Error()
	}
	return r.Key
}

// lead makes a unit the leader.
func lead(w *world, unit model.UnitName) {
	w.Helper()
	lease, err := w.store.Grant(w.ctx, 3600e9)
	w.ok(err)
	leads, err := w.ClaimLeadership(w.ctx, unit, lease)
	w.ok(err)
	if !leads {
		w.Fatalf("%s doesn't lead", unit)
	}
}

func TestBothHalvesGoWithTheLastUnitOfEitherSide(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		remove func(h *harbour, here, there model.RelationID)
		saas   string
		offers int
	}{
		{"removed where it was consumed", func(h *harbour, here, _ model.RelationID) { h.ok(h.DestroyRelationID(h.ctx, here)) }, "alive", 1},
		{"removed where it is offered", func(h *harbour, _, there model.RelationID) { h.ok(h.offering.DestroyRelationID(h.ctx, there)) }, "alive", 1},
		{"remove-saas", func(h *harbour, _, _ model.RelationID) { h.ok(h.RemoveSAAS(h.ctx, "dbalias", state.Orderly)) }, "gone", 1},
		{"remove-offer --force", func(h *harbour, _, _ model.RelationID) { h.ok(h.offering.RemoveOffer(h.ctx, "ledgerdb", true)) }, "alive", 0},
		{"the consuming application is removed", func(h *harbour, _, _ model.RelationID) {
			_, err := h.DestroyApplication(h.ctx, "shop")
			h.ok(err)
		}, "alive", 1},
		{"the offered application is removed, with its offer", func(h *harbour, _, _ model.RelationID) {
			_, err := h.offering.ForceApplication(h.ctx, "ledger", state.SkipFailing, nil)
			h.ok(err)
		}, "alive", 0},
		{"the consuming model is destroyed", func(h *harbour, _, _ model.RelationID) { h.ok(h.Destroy(h.ctx, false)) }, "gone", 1},
		{"the offering model is destroyed", func(h *harbour, _, _ model.RelationID) { h.ok(h.offering.Destroy(h.ctx, false)) }, "alive", 0},
	} {
		for _, consumerFirst := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, the consuming side leaves first: %t", tt.name, consumerFirst), func(t *testing.T) {
				t.Parallel()
				h, here, there := related(t)
				h.enter("shop/0", here)
				h.offering.enter("ledger/1", there)
				tt.remove(h, here, there)
				h.is("the half here", h.relationLife(here), "dying")
				h.is("the half there", h.offering.relationLife(there), "dying")
				first, last := func() { h.leave("shop/0", here) }, func() { h.offering.leave("ledger/1", there) }
				if !consumerFirst {
					first, last = last, first
				}
				first()
				h.is("the half here, with a unit of one side", h.relationLife(here), "dying")
				last()
				h.is("the half here", h.relationLife(here), "gone")
				h.is("the half there", h.offering.relationLife(there), "gone")
				saas, err := h.SAAS(h.ctx, "dbalias")
				h.is("the SAAS", life(saas.Life, err), tt.saas)
				offers, err := h.offering.Offers(h.ctx)
				h.ok(err)
				if len(offers) != tt.offers || saas.Relations != 0 {
					t.Errorf("there are %d offers, want %d; the SAAS counts %d relations", len(offers), tt.offers, saas.Relations)
				}
				if left := h.keys("m/" + h.offering.UUID() + "/stand-in/"); len(left) != 0 {
					t.Errorf("left: %v", left)
				}
			})
		}
	}
}

func TestByForceNothingOfThePairIsLeft(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(h *harbour, here, there model.RelationID) error{
		"remove-relation --force --no-wait here": func(h *harbour, here, _ model.RelationID) error {
			return h.ForceRelation(h.ctx, here, state.Abandon, nil)
		},
		"remove-relation --force --no-wait there": func(h *harbour, _, there model.RelationID) error {
			return h.offering.ForceRelation(h.ctx, there, state.Abandon, nil)
		},
		"remove-saas --force":                    func(h *harbour, _, _ model.RelationID) error { return h.RemoveSAAS(h.ctx, "dbalias", state.Abandon) },
		"destroy-model --force of the consuming": func(h *harbour, _, _ model.RelationID) error { return h.Destroy(h.ctx, true) },
		"destroy-model --force of the offering":  func(h *harbour, _, _ model.RelationID) error { return h.offering.Destroy(h.ctx, true) },
		"remove-application --force --no-wait of the consuming": func(h *harbour, _, _ model.RelationID) error {
			_, err := h.ForceApplication(h.ctx, "shop", state.Abandon, nil)
			return err
		},
		"remove-application --force --no-wait of the offered": func(h *harbour, _, _ model.RelationID) error {
			_, err := h.offering.ForceApplication(h.ctx, "ledger", state.Abandon, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, here, there := related(t)
			for n := range 2 {
				h.enter(model.NewUnitName("shop", n), here)
				h.offering.enter(model.NewUnitName("ledger", n), there)
			}
			h.ok(remove(h, here, there))
			h.is("the half here", h.relationLife(here), "gone")
			h.is("the half there", h.offering.relationLife(there), "gone")
		})
	}
	t.Run("a unit that is removed by force leaves on both sides", func(t *testing.T) {
		t.Parallel()
		h, here, there := related(t)
		h.enter("shop/0", here)
		h.offering.enter("ledger/0", there)
		h.ok(h.ForceRemoveUnit(h.ctx, "shop/0"))
		h.offering.members("ledger/0", there)
		why, err := h.offering.Departure(h.ctx, "ledger/0", there, model.NewUnitName(h.standIn(), 0))
		h.ok(err)
		h.is("why", string(why), string(model.Forced))
	})
}

func TestSuspensionHoldsOnBothSides(t *testing.T) {
	t.Parallel()
	h, here, there := related(t)
	lead(h.offering, "ledger/0")
	connection := func() string {
		offers, err := h.offering.Offers(h.ctx)
		h.ok(err)
		return offers[0].Connections[0].Status.Status
	}
	h.is("before the leader has entered", connection(), "joining")
	h.offering.enter("ledger/1", there)
	h.is("with another unit", connection(), "joining")
	h.offering.enter("ledger/0", there)
	h.is("with the leader", connection(), "joined")
	h.fails(h.Suspend(h.ctx, "", here), `cannot set suspend status for "shop:store dbalias:db" which is not associated with an offer`)
	h.ok(h.offering.Suspend(h.ctx, "moves", there))
	h.is("suspended, with the leader in it", connection(), "suspending")
	if r, err := h.Relation(h.ctx, here); err != nil || !r.Suspended || r.SuspendedMessage != "moves" {
		t.Errorf("the half here is %+v, %v", r, err)
	}
	if err := h.EnterScope(h.ctx, "shop/0", here, nil); !errors.Is(err, state.ErrCannotEnterScope) {
		t.Errorf("entering what is suspended: %v", err)
	}
	h.offering.leave("ledger/0", there)
	h.is("suspended, without the leader", connection(), "suspended")
	h.ok(h.offering.Resume(h.ctx, there))
	h.is("resumed", connection(), "joining")
	h.enter("shop/0", here)
}

func TestAModelThatIsBroughtAloneCanLetItsRelationsGo(t *testing.T) {
	t.Parallel()
	h, here, there := related(t)
	h.enter("shop/0", here)
	h.offering.enter("ledger/0", there)
	var exported bytes.Buffer
	h.ok(h.Export(h.ctx, &exported))
	other := newWorld(t)
	m, err := other.controller.WithSealer(backwards()).Model(other.ctx, "shop")
	h.ok(err)
	h.ok(m.Destroy(h.ctx, false))
	_, err = m.RemoveIfEmpty(h.ctx)
	h.ok(err)
	if other.Model, err = other.controller.Import(h.ctx, &exported, false); err != nil {
		t.Fatal(err)
	}
	s, err := other.Status(other.ctx)
	h.ok(err)
	h.is("what was consumed", s.SAAS[0].Status.Status+" "+s.SAAS[0].Status.Message, `error model "harbour" isn't in the store`)
	other.ok(other.Apply(other.ctx, "shop/0", model.Changes{Relations: map[model.RelationID]model.RelationChange{here: {Unit: model.Settings{"want": "a chair"}}}}))
	other.ok(other.DestroyRelationID(other.ctx, here))
	other.is("with units of both sides", other.relationLife(here), "dying")
	other.leave("shop/0", here)
	other.is("with a unit of a model that isn't there", other.relationLife(here), "dying")
	other.ok(other.RunCleanups(other.ctx))
	other.is("after the cleanup", other.relationLife(here), "gone")
	h.is("where it came from", h.relationLife(here), "alive")
}
