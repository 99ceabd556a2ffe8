package state_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

func TestARelationThatIsGoingWhenItsModelIsBroughtAloneGoes(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		h, here, there := related(t)
		h.enter("shop/0", here)
		h.offering.enter("ledger/0", there)
		h.ok(h.DestroyRelationID(h.ctx, here))
		var exported bytes.Buffer
		h.ok(h.Export(h.ctx, &exported))
		other := newWorld(t)
		m := other.Model
		h.ok(m.Destroy(h.ctx, false))
		_, err := m.RemoveIfEmpty(h.ctx)
		h.ok(err)
		other.Model, err = other.controller.Import(h.ctx, &exported, false)
		h.ok(err)
		other.leave("shop/0", here)
		if again {
			// As an earlier version has brought it: with nothing in the cleanup queue.
			_, err := other.store.Update(h.ctx, func(tx store.Tx) error {
				for _, key := range other.keys("m/" + other.UUID() + "/cleanup/") {
					if err := tx.Delete(key); err != nil {
						return err
					}
				}
				return nil
			})
			h.ok(err)
			other.is("before it is removed again", other.relationLife(here), "dying")
			other.ok(other.DestroyRelationID(other.ctx, here))
		}
		other.ok(other.RunCleanups(other.ctx))
		other.is("after the cleanup", other.relationLife(here), "gone")
		h.ok(h.RunCleanups(h.ctx))
		h.is("where it came from", h.relationLife(here), "dying")
	}
}

func TestASuspendedRelationInWhichNobodyIsAnyMoreIsntBeingSuspended(t *testing.T) {
	t.Parallel()
	connection := func(h *harbour, there model.RelationID) string {
		r, err := h.offering.Relation(h.ctx, there)
		h.ok(err)
		return r.Connection()
	}

	t.Run("when leadership has moved to a unit that had left before", func(t *testing.T) {
		t.Parallel()
		h, here, there := related(t)
		lease, err := h.store.Grant(h.ctx, 3600e9)
		h.ok(err)
		if leads, err := h.offering.ClaimLeadership(h.ctx, "ledger/0", lease); err != nil || !leads {
			t.Fatalf("ledger/0 leads: %t, %v", leads, err)
		}
		h.enter("shop/0", here)
		h.offering.enter("ledger/0", there)
		h.offering.enter("ledger/1", there)
		h.ok(h.offering.Suspend(h.ctx, "", there))
		h.offering.leave("ledger/1", there)
		h.ok(h.store.Revoke(h.ctx, lease))
		lead(h.offering, "ledger/1")
		h.is("with the former leader in it", connection(h, there), "suspending")
		h.offering.leave("ledger/0", there)
		h.is("with nobody of the offering side", connection(h, there), "suspended")
	})

	t.Run("when all had left before it was suspended", func(t *testing.T) {
		t.Parallel()
		h, here, there := related(t)
		lead(h.offering, "ledger/0")
		h.enter("shop/0", here)
		h.offering.enter("ledger/0", there)
		h.offering.leave("ledger/0", there)
		h.is("before", connection(h, there), "joined")
		h.ok(h.offering.Suspend(h.ctx, "", there))
		h.is("suspended", connection(h, there), "suspended")
	})
}

func TestWhatIsOfferedIsInTheCharm(t *testing.T) {
	t.Parallel()
	h := newHarbour(t)
	h.consume("dbalias")
	without := h.offering.addCharm(charm("ledger audit=provider:log ring=peer:ring"))
	h.fails(h.offering.SetCharm(h.ctx, "ledger", without, false),
		`cannot upgrade application "ledger" to charm "ledger": it lacks endpoint "db" (provider of kv), which offer "ledgerdb" has: offer others by that name, or remove the offer`)
	h.fails(h.offering.SetCharm(h.ctx, "ledger", h.offering.addCharm(charm("ledger db=provider:kv2 audit=provider:log ring=peer:ring")), false),
		`cannot upgrade application "ledger" to charm "ledger": it lacks endpoint "db" (provider of kv), which offer "ledgerdb" has: offer others by that name, or remove the offer`)
	h.ok(h.offering.SetCharm(h.ctx, "ledger", h.offering.addCharm(charm(ledger+" more=requirer:kv")), false))

	// As an earlier version has let it be.
	var app state.ApplicationDoc
	h.ok(json.Unmarshal([]byte(h.offering.documents()["app/ledger"]), &app))
	app.Charm = without
	doc, err := json.Marshal(app)
	h.ok(err)
	h.offering.raw("app/ledger", string(doc))
	_, err = h.AddRelation(h.ctx, "shop:store", "dbalias")
	h.fails(err, `application "dbalias" has no "db" relation: the charm of the application that is offered has it no more`)
	h.relate("shop:watch", "dbalias")

	_, err = h.offering.Offer(h.ctx, "ledger", []string{"audit"}, "ledgerdb")
	h.ok(err)
	h.ok(h.offering.SetCharm(h.ctx, "ledger", without, false))
}

func TestADamagedSAASIsNamed(t *testing.T) {
	t.Parallel()
	h, here, _ := related(t)
	good := h.documents()["saas/dbalias"]
	h.raw("saas/dbalias", strings.Replace(good, "ledgerdb", "ledgerxx", 1))
	_, err := h.AddRelation(h.ctx, "shop:watch", "dbalias")
	if !errors.Is(err, state.ErrDocumentDamaged) {
		t.Errorf("relating with it: %v", err)
	}
	if _, err = h.FindRelation(h.ctx, "dbalias", "shop"); !errors.Is(err, state.ErrDocumentDamaged) {
		t.Errorf("finding its relation: %v", err)
	}
	h.raw("saas/dbalias", good)
	r, err := h.FindRelation(h.ctx, "dbalias", "shop")
	h.ok(err)
	h.is("the relation", fmt.Sprint(r.ID), fmt.Sprint(here))
	_, err = h.FindRelation(h.ctx, "nobody", "shop")
	h.fails(err, `application "nobody" not found`)
}
