package state_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// granted is a harbour in which ledger/0, which leads, has granted shop a secret along the
// relation.
func granted(t testing.TB) (h *harbour, there model.RelationID, plain, foreign model.SecretID) {
	t.Helper()
	h, here, there := related(t)
	h.enter("shop/0", here)
	h.enter("shop/1", here)
	h.offering.enter("ledger/0", there)
	lead(h.offering, "ledger/0")
	plain, err := state.NewSecretID()
	h.ok(err)
	h.ok(h.offering.Apply(h.ctx, "ledger/0", model.Changes{Secrets: []model.SecretChange{{
		ID: plain, Make: &model.SecretOwner{Kind: model.OwnedByApplication, Name: "ledger"}, Content: model.SecretContent{"token": "b25l"},
		Grant: []model.SecretGrant{{Target: h.standIn(), Relation: there}},
	}}}))
	return h, there, plain, plain.Of(h.offering.UUID())
}

func (h *harbour) secretIs(what string, unit model.UnitName, ref state.SecretRef, want string) {
	h.Helper()
	content, err := h.ReadSecret(h.ctx, unit, ref)
	got := content["token"]
	if err != nil {
		got = err.Error()
	}
	h.is(what, got, want)
}

// rewrite gives the secret new content.
func (h *harbour) rewrite(id model.SecretID, value string) {
	h.Helper()
	h.ok(h.offering.Apply(h.ctx, "ledger/0", model.Changes{Secrets: []model.SecretChange{{ID: id, Content: model.SecretContent{"token": value}}}}))
}

func (h *harbour) obsolete() []int {
	h.Helper()
	return h.offering.snapshot("ledger/0").OwnedSecrets[0].Obsolete
}

func TestASecretIsReadAcrossModelsAlongARelation(t *testing.T) {
	t.Parallel()
	h, there, plain, foreign := granted(t)
	h.secretIs("the first read", "shop/0", state.SecretRef{ID: foreign, Label: "db"}, "b25l")
	h.secretIs("by the short form", "shop/0", state.SecretRef{ID: plain}, `secret "`+string(plain)+`" not found`)
	h.secretIs("of the owner by the short form", "shop/0", state.SecretRef{ID: plain.Of(h.UUID())}, `secret "`+plain.LongURI(h.UUID())+`" not found`)

	before := h.rev()
	h.rewrite(plain, "dHdv")
	if !h.pokedSince(before) {
		t.Error("the consuming model isn't told of the new revision")
	}
	read := h.snapshot("shop/0").ReadSecrets
	if len(read) != 1 || read[0].ID != foreign || read[0].Label != "db" || read[0].Seen != 1 || read[0].Latest().Revision != 2 {
		t.Fatalf("shop/0 sees of what it reads %+v", read)
	}
	h.secretIs("pinned, by the label", "shop/0", state.SecretRef{Label: "db"}, "b25l")
	h.secretIs("peeked", "shop/0", state.SecretRef{ID: foreign, Peek: true}, "dHdv")
	if o := h.obsolete(); len(o) != 0 {
		t.Errorf("revisions %v count as unread, which a unit of the other model reads", o)
	}
	h.secretIs("refreshed", "shop/0", state.SecretRef{ID: foreign, Refresh: true}, "dHdv")
	if o := h.obsolete(); len(o) != 1 || o[0] != 1 {
		t.Errorf("revisions %v are unread, want 1", o)
	}

	h.secretIs("another unit", "shop/1", state.SecretRef{ID: foreign}, "dHdv")
	h.rewrite(plain, "dHJl")
	h.ok(h.ForceRemoveUnit(h.ctx, "shop/0"))
	h.ok(h.ForceRemoveUnit(h.ctx, "shop/1"))
	h.ok(h.RunCleanups(h.ctx))
	if o := h.obsolete(); len(o) != 2 {
		t.Errorf("revisions %v are unread when all units of the other model are gone, want 1 and 2", o)
	}
	h.ok(h.offering.ForceRelation(h.ctx, there, state.Abandon, nil))
	h.ok(h.AddUnit("shop"))
	h.secretIs("without the relation", "shop/2", state.SecretRef{ID: foreign}, string(state.ErrNotYours))
}

// AddUnit adds one unit.
func (h *harbour) AddUnit(app string) error {
	_, err := h.AddUnits(h.ctx, app, 1)
	return err
}

// pokedSince says whether a watch of the consuming model tells of secrets after a revision.
func (h *harbour) pokedSince(rev int64) bool {
	h.Helper()
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	changes, err := h.Watch(ctx, rev)
	h.ok(err)
	mark, err := h.Mark(h.ctx, "")
	h.ok(err)
	told := false
	for c := range changes {
		told = told || c.Secrets
		if c.Rev >= mark {
			break
		}
	}
	return told
}

func TestWhoIsGrantedNothingReadsNoSecretOfAnotherModel(t *testing.T) {
	t.Parallel()
	h, there, plain, foreign := granted(t)
	h.deploy("ledger db=provider:kv", 1)
	h.ok(h.SetDeployed(h.ctx, "ledger/0"))
	h.secretIs("an application of the owner's name", "ledger/0", state.SecretRef{ID: foreign}, string(state.ErrNotYours))
	h.secretIs("a secret that isn't there", "shop/0", state.SecretRef{ID: plain.Of("5c35d46b-5c2c-4dc8-85ff-48c7a0f1c0d1")},
		`secret "`+plain.LongURI("5c35d46b-5c2c-4dc8-85ff-48c7a0f1c0d1")+`" not found`)
	one := model.SecretGrant{Target: h.standIn() + "/1", Relation: there}
	all := model.SecretGrant{Target: h.standIn(), Relation: there}
	h.ok(h.offering.Apply(h.ctx, "ledger/0", model.Changes{Secrets: []model.SecretChange{{ID: plain, Grant: []model.SecretGrant{one}, Revoke: []model.SecretGrant{all}}}}))
	h.secretIs("a unit that isn't the one", "shop/0", state.SecretRef{ID: foreign}, string(state.ErrNotYours))
	h.secretIs("the one that is", "shop/1", state.SecretRef{ID: foreign}, "b25l")
	h.fails(errors.Cause(h.Apply(h.ctx, "shop/1", model.Changes{Secrets: []model.SecretChange{{ID: foreign, RemoveAll: true}}})),
		`secret "`+foreign.URI()+`" not found`)
}

func TestAModelThatGoesReadsNoSecretsAnyMore(t *testing.T) {
	t.Parallel()
	h, _, plain, foreign := granted(t)
	h.secretIs("the first read", "shop/0", state.SecretRef{ID: foreign}, "b25l")
	h.rewrite(plain, "dHdv")
	h.ok(h.Destroy(h.ctx, true))
	gone, err := h.RemoveIfEmpty(h.ctx)
	h.ok(err)
	if o := h.obsolete(); !gone || len(o) != 1 {
		t.Errorf("gone %t; revisions %v are unread, want 1", gone, o)
	}
	h.rewrite(plain, "dHJl")
	if left := h.keys("m/" + h.UUID() + "/"); len(left) != 0 {
		t.Errorf("of the model that is gone there is %v", left)
	}
}

// grantedThere is a harbour in which shop/0, which leads, has granted the offered
// application a secret along the relation.
func grantedThere(t testing.TB) (h *harbour, here model.RelationID, plain, foreign model.SecretID) {
	t.Helper()
	h, here, there := related(t)
	h.enter("shop/0", here)
	h.offering.enter("ledger/0", there)
	h.offering.enter("ledger/1", there)
	lead(h.world, "shop/0")
	plain, err := state.NewSecretID()
	h.ok(err)
	h.ok(h.Apply(h.ctx, "shop/0", model.Changes{Secrets: []model.SecretChange{{
		ID: plain, Make: &model.SecretOwner{Kind: model.OwnedByApplication, Name: "shop"}, Content: model.SecretContent{"token": "b25l"},
		Grant: []model.SecretGrant{{Target: "dbalias", Relation: here}},
	}}}))
	return h, here, plain, plain.Of(h.UUID())
}

func TestASecretOfTheConsumingSideIsReadWhereItsRelationIsOffered(t *testing.T) {
	t.Parallel()
	h, here, plain, foreign := grantedThere(t)
	o := &harbour{world: h.offering, offering: h.world}
	o.secretIs("the first read", "ledger/0", state.SecretRef{ID: foreign}, "b25l")

	before := h.rev()
	h.ok(h.Apply(h.ctx, "shop/0", model.Changes{Secrets: []model.SecretChange{{ID: plain, Content: model.SecretContent{"token": "dHdv"}}}}))
	if !o.pokedSince(before) {
		t.Error("the offering model isn't told of the new revision")
	}
	if obsolete := h.snapshot("shop/0").OwnedSecrets[0].Obsolete; len(obsolete) != 0 {
		t.Errorf("revisions %v count as unread, which a unit of the other model reads", obsolete)
	}
	o.secretIs("refreshed", "ledger/0", state.SecretRef{ID: foreign, Refresh: true}, "dHdv")

	one, all := model.SecretGrant{Target: "dbalias/1", Relation: here}, model.SecretGrant{Target: "dbalias", Relation: here}
	h.ok(h.Apply(h.ctx, "shop/0", model.Changes{Secrets: []model.SecretChange{{ID: plain, Grant: []model.SecretGrant{one}, Revoke: []model.SecretGrant{all}}}}))
	o.secretIs("a unit that isn't the one", "ledger/0", state.SecretRef{ID: foreign}, string(state.ErrNotYours))
	o.secretIs("the one that is", "ledger/1", state.SecretRef{ID: foreign}, "dHdv")
	h.offering.deploy("dbalias db=provider:kv", 2)
	h.ok(h.offering.SetDeployed(h.ctx, "dbalias/1"))
	o.secretIs("an application that is called so in its own model", "dbalias/1", state.SecretRef{ID: foreign}, string(state.ErrNotYours))

	h.ok(h.ForceRelation(h.ctx, here, state.Abandon, nil))
	o.secretIs("without the relation", "ledger/1", state.SecretRef{ID: foreign}, string(state.ErrNotYours))
}

func TestOfASecretThatNobodyReadsAbroadNothingIsKeptThere(t *testing.T) {
	t.Parallel()
	left := func(h *harbour) string {
		h.Helper()
		return fmt.Sprint(len(h.keys("m/"+h.UUID()+"/secret-news/")), len(h.keys("m/"+h.offering.UUID()+"/secret-abroad/")))
	}

	t.Run("with the last reader", func(t *testing.T) {
		t.Parallel()
		h, _, _, foreign := granted(t)
		h.secretIs("one reader", "shop/0", state.SecretRef{ID: foreign}, "b25l")
		h.secretIs("another", "shop/1", state.SecretRef{ID: foreign}, "b25l")
		h.is("read by two", left(h), "1 1")
		h.ok(h.ForceRemoveUnit(h.ctx, "shop/0"))
		h.ok(h.RunCleanups(h.ctx))
		h.is("read by one", left(h), "1 1")
		h.ok(h.ForceRemoveUnit(h.ctx, "shop/1"))
		h.ok(h.RunCleanups(h.ctx))
		h.is("read by nobody", left(h), "0 0")
	})

	for name, remove := range map[string]func(h *harbour, id model.SecretID){
		"with the secret": func(h *harbour, id model.SecretID) {
			h.ok(h.offering.Apply(h.ctx, "ledger/0", model.Changes{Secrets: []model.SecretChange{{ID: id, RemoveAll: true}}}))
		},
		"with its owner": func(h *harbour, _ model.SecretID) {
			_, err := h.offering.ForceApplication(h.ctx, "ledger", state.Abandon, nil)
			h.ok(err)
		},
		"with the owner's model": func(h *harbour, _ model.SecretID) {
			h.ok(h.offering.Destroy(h.ctx, true))
			gone, err := h.offering.RemoveIfEmpty(h.ctx)
			h.ok(err)
			h.is("the model is gone", fmt.Sprint(gone), "true")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _, plain, foreign := granted(t)
			h.secretIs("the first read", "shop/0", state.SecretRef{ID: foreign}, "b25l")
			before := h.rev()
			remove(h, plain)
			h.ok(h.offering.RunCleanups(h.ctx))
			if !h.pokedSince(before) {
				t.Error("the consuming model isn't told")
			}
			h.is("what is left", left(h), "0 0")
		})
	}
}
