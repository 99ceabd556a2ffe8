package state

import (
	"context"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// A relation across models is a pair of RelationDocs, one in each model: its halves. Each has
// the endpoints as its model names them, an id of its own, and a Counterpart that names the
// other half. Both models are in one store, so whatever is written to one half is written to
// the other in the same transaction, with the names translated: who is in scope and who has
// left, settings, life and suspension. So each model's agents find in
// their own model all that they need of the relation, and are told of it as of any other.
// Where the other half isn't in the store, as its model was brought here without it, nothing
// is mirrored.

// Counterpart says of one half of a relation across models where the other one is.
type Counterpart struct {
	// Model is the UUID of the other model, and Relation the id of the other half in it.
	Model    string           `json:"model"`
	Relation model.RelationID `json:"relation"`
	// Own is this model's application, As its name in the other model, and Theirs the name
	// in its own model of the application on the other side.
	Own    string `json:"own"`
	As     string `json:"as"`
	Theirs string `json:"theirs"`
	// Offering: Own is offered, by the offer with that name and id.
	Offering bool   `json:"offering,omitempty"`
	Offer    string `json:"offer"`
	OfferID  string `json:"offer-id"`
	// Via are the subnets that "integrate --via" gave.
	Via []string `json:"via,omitempty"`
	// External: the other model is in another store, and package external brings what is written here
	// to the other half. Until there is one, Relation is model.NoRelation.
	External bool `json:"external,omitempty"`
	// Joined: the leader of Own has entered the scope, and hasn't left it as the relation was
	// suspended. Since is when that, or the suspension, changed.
	Joined bool      `json:"joined,omitempty"`
	Since  time.Time `json:"since"`
}

// across is the name in the other model of a unit on either side.
func (c *Counterpart) across(unit model.UnitName) model.UnitName {
	if unit.Application() == c.Own {
		return model.NewUnitName(c.As, unit.Number())
	}
	return model.NewUnitName(c.Theirs, unit.Number())
}

// Stranger is the endpoint of the application that is of another model; false: none is.
func (r RelationDoc) Stranger() (model.Endpoint, bool) {
	if r.Across == nil {
		return model.Endpoint{}, false
	}
	_, other, ok := r.Endpoint(r.Across.Own)
	return other, ok
}

// Connection is how a relation across models stands, in a word: joining, joined, suspending
// or suspended. Source: docs/spec/juju-clients.md §11.4.
func (r RelationDoc) Connection() string {
	joined := r.Across != nil && r.Across.Joined
	switch {
	case r.Suspended && joined:
		return "suspending"
	case r.Suspended:
		return "suspended"
	case joined:
		return "joined"
	}
	return "joining"
}

// at is another model of the same store. What its transactions may do hangs on this model's
// manager and unit, not on theirs.
func (m *Model) at(uuid, name string) *Model {
	other := *m
	other.info = ModelInfo{UUID: uuid, Name: name}
	other.self, other.managed = nil, nil
	other.charms = &charmCache{docs: map[string]CharmDoc{}}
	return &other
}

func (d docs) at(uuid, name string) docs { return docs{d.Reader, d.m.at(uuid, name)} }

func (t *txn) at(uuid, name string) *txn { return &txn{t.docs.at(uuid, name), t.tx, t.by} }

// half reads the other half of a relation across models; false: the relation has none, or it
// isn't in the store.
func (d docs) half(r RelationDoc) (docs, RelationDoc, bool, error) {
	if r.Across == nil || r.Across.External {
		return d, RelationDoc{}, false, nil
	}
	other := d.at(r.Across.Model, "")
	var half RelationDoc
	found, err := other.find(relationKey(r.Across.Relation), &half)
	there := found && half.Across != nil && !half.Across.External && half.Across.Model == d.m.info.UUID && half.Across.Relation == r.ID
	return other, half, there, errors.Trace(err)
}

// half is docs.half for a transaction.
func (t *txn) half(r RelationDoc) (*txn, RelationDoc, bool, error) {
	other, half, there, err := t.docs.half(r)
	return &txn{other, t.tx, t.by}, half, there, errors.Trace(err)
}

// putRelation writes a relation, and what the other half has in common with it.
func (t *txn) putRelation(r RelationDoc) error {
	if err := t.nobodyJoined(&r); err != nil {
		return errors.Trace(err)
	}
	if err := t.put(relationKey(r.ID), r); err != nil || r.Across == nil {
		return errors.Trace(err)
	}
	other, half, there, err := t.half(r)
	if err != nil || !there {
		return errors.Trace(err)
	}
	if r.Suspended != half.Suspended {
		half.Across.Since = t.now()
	}
	half.Life, half.Force = r.Life, r.Force
	half.Suspended, half.SuspendedMessage = r.Suspended, r.SuspendedMessage
	if err := other.nobodyJoined(&half); err != nil {
		return errors.Trace(err)
	}
	return other.put(relationKey(half.ID), half)
}

// nobodyJoined notes that a suspended relation isn't joined where no unit of Own is in it any
// more, as then its leader, whoever that is by now, has nothing to leave.
func (t *txn) nobodyJoined(r *RelationDoc) error {
	if !r.Suspended || r.Across == nil || !r.Across.Joined {
		return nil
	}
	in, err := t.Page(t.m.prefix()+containerScope(r.ID, global)+r.Across.Own+"/", "", 1)
	if err != nil || len(in) > 0 {
		return errors.Trace(err)
	}
	across := *r.Across
	across.Joined, across.Since = false, t.now()
	r.Across = &across
	return nil
}

// changeBag is changeSettings for a databag of a relation: that of a unit or, where unit is
// empty, of an application.
func (t *txn) changeBag(r RelationDoc, application string, unit model.UnitName, change model.Settings) (int, error) {
	doc, changed, err := t.layOver(bagKey(r.ID, application, unit), change)
	if err != nil || !changed || r.Across == nil {
		return doc.Version, errors.Trace(err)
	}
	other, half, there, err := t.half(r)
	if err != nil || !there {
		return doc.Version, errors.Trace(err)
	}
	if unit != "" {
		unit = r.Across.across(unit)
	}
	return doc.Version, other.put(bagKey(half.ID, r.Across.As, unit), doc)
}

// bagKey is where a databag of a relation is: that of a unit or, where unit is empty, of an
// application.
func bagKey(id model.RelationID, application string, unit model.UnitName) string {
	if unit != "" {
		return unitSettingsKey(id, unit)
	}
	return appSettingsKey(id, application)
}

// putScope says that a unit of this model is in scope, and of which version its settings are.
func (t *txn) putScope(r RelationDoc, u UnitDoc, version int) error {
	if err := t.put(scopeKey(r, u), scopeDoc{Unit: u.Name, Version: version}); err != nil || r.Across == nil {
		return errors.Trace(err)
	}
	other, half, there, err := t.half(r)
	if err != nil || !there {
		return errors.Trace(err)
	}
	name := r.Across.across(u.Name)
	return other.put(containerScope(half.ID, global)+string(name), scopeDoc{Unit: name, Version: version})
}

// dropScope takes a unit of either side out of the scope of both halves.
func (t *txn) dropScope(r RelationDoc, part string, unit model.UnitName) error {
	if err := t.delete(containerScope(r.ID, part) + string(unit)); err != nil {
		return errors.Trace(err)
	}
	stranger := r.Across != nil && unit.Application() != r.Across.Own
	if !stranger {
		if err := t.delete(scopeOfUnit(unit, r.ID)); err != nil || r.Across == nil {
			return errors.Trace(err)
		}
	}
	other, half, there, err := t.half(r)
	if err != nil || !there {
		return errors.Trace(err)
	}
	name := r.Across.across(unit)
	if stranger {
		if err := other.delete(scopeOfUnit(name, half.ID)); err != nil {
			return errors.Trace(err)
		}
	}
	return other.delete(containerScope(half.ID, part) + string(name))
}

// putLeft says in both halves that a unit of either side has left, and why.
func (t *txn) putLeft(r RelationDoc, part string, unit model.UnitName, why model.Departure) error {
	if err := t.put(leftScope(r.ID, part)+string(unit), leftDoc{unit, why}); err != nil || r.Across == nil {
		return errors.Trace(err)
	}
	other, half, there, err := t.half(r)
	if err != nil || !there {
		return errors.Trace(err)
	}
	name := r.Across.across(unit)
	return other.put(leftScope(half.ID, part)+string(name), leftDoc{name, why})
}

// noteLeader notes in the half of the unit's own model that a unit has entered or left,
// where it leads: the relation is joined once the leader is in it. Of who leaves a
// suspended one it may be that nobody is joined any more. Nothing is written of others:
// a relation's document isn't for each unit that comes and goes to write.
func (t *txn) noteLeader(r RelationDoc, unit model.UnitName, in bool) error {
	if r.Across == nil {
		return nil
	}
	if unit.Application() == r.Across.Own {
		changed, err := t.lead(&r, unit, in)
		if err != nil || !changed && (in || !r.Suspended) {
			return errors.Trace(err)
		}
		return t.putRelation(r)
	}
	other, half, there, err := t.half(r)
	if err != nil || !there {
		return errors.Trace(err)
	}
	changed, err := other.lead(&half, r.Across.across(unit), in)
	if err != nil || !changed && (in || !half.Suspended) {
		return errors.Trace(err)
	}
	if err := other.nobodyJoined(&half); err != nil {
		return errors.Trace(err)
	}
	return other.put(relationKey(half.ID), half)
}

// lead is noteLeader for a half that may be the unit's, and says whether it has changed.
func (t *txn) lead(r *RelationDoc, unit model.UnitName, in bool) (bool, error) {
	if r.Across.Joined == in || !in && !r.Suspended {
		return false, nil // a leader that goes leaves others behind, of whom one will lead
	}
	leads, err := t.isLeader(unit)
	if err != nil || !leads {
		return false, errors.Trace(err)
	}
	r.Across.Joined, r.Across.Since = in, t.now()
	return true, nil
}

// strangersLeave has those leave the scope of a relation across models whose model isn't in
// the store: nobody else would. The rest of them is the cleanup queue's. Those of another store
// leave by themselves, unless force says not to wait for them.
func (t *txn) strangersLeave(r RelationDoc) error {
	_, _, there, err := t.half(r)
	if err != nil || there || r.Across == nil || r.awaited() {
		return errors.Trace(err)
	}
	return t.queue(cleanupDoc{Relation: &r.ID, Strangers: true})
}

// awaited says whether the units of the other side are of another store, and leave by themselves.
func (r RelationDoc) awaited() bool {
	return r.Across != nil && r.Across.External && r.Force == Orderly
}

// strangersOut has as many strangers leave the scope of a relation as fit in a transaction;
// none if their model has been brought here meanwhile.
func (t *txn) strangersOut(r RelationDoc) (int, error) {
	stranger, across := r.Stranger()
	if !across {
		return 0, nil
	}
	if _, _, there, err := t.half(r); err != nil || there {
		return 0, errors.Trace(err)
	}
	page, err := t.Page(t.m.prefix()+containerScope(r.ID, global)+stranger.Application+"/", "", leavesPerTxn)
	if err != nil {
		return 0, errors.Trace(err)
	}
	in, err := decode[scopeDoc](page)
	if err != nil {
		return 0, errors.Trace(err)
	}
	for _, s := range in {
		if err := t.leave(r.ID, global, s.Unit, model.Forced); err != nil {
			return 0, errors.Trace(err)
		}
	}
	return len(in), nil
}

// endAcross ends what a model that is being destroyed has in common with others: its offers
// and what it has consumed go with their relations; by force at once. Source:
// docs/spec/juju-clients.md §11.6.
func (m *Model) endAcross(ctx context.Context, force bool) error {
	how := Orderly
	if force {
		how = Abandon
	}
	var consumed []SAASDoc
	var rels []RelationDoc
	var others []ExternalDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		if consumed, err = list[SAASDoc](r, saasPrefix); err != nil {
			return errors.Trace(err)
		}
		if rels, err = list[RelationDoc](r, "relation/"); err != nil {
			return errors.Trace(err)
		}
		others, err = list[ExternalDoc](r, externalPrefix)
		return errors.Trace(err)
	})
	if err != nil {
		return errors.Trace(err)
	}
	if err := m.unoffer(ctx, ""); err != nil {
		return errors.Trace(err)
	}
	for _, s := range consumed {
		if err := m.RemoveSAAS(ctx, s.Name, how); err != nil && !errors.Is(err, errors.NotFound) {
			return errors.Trace(err)
		}
	}
	if !force {
		return nil
	}
	rels = slices.DeleteFunc(rels, func(r RelationDoc) bool { return r.Across == nil })
	if err := m.destroyRelations(ctx, rels, Abandon); err != nil {
		return errors.Trace(err)
	}
	for _, other := range others {
		if _, err := m.ForgetExternal(ctx, other.Model); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}
