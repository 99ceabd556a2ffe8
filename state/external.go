package state

import (
	"context"
	"fmt"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// A relation may also be between models of two stores. Then its halves aren't written in one
// transaction: package external brings what one says to the other. What this file has is what
// that package reads of one store, and writes into the other: each a transaction of its own,
// which changes nothing if it is done again. The side that has consumed knows where the other
// store is, and its agent does the work for both.

// ExternalDoc says where another model is of which this one has consumed offers: in another
// store.
type ExternalDoc struct {
	// Model is its UUID, and ModelName its name.
	Model     string `json:"model"`
	ModelName string `json:"model-name"`
	// Controller is what the store is called for people, and Store how it is opened.
	Controller string `json:"controller"`
	Store      string `json:"store"`
}

// externalPrefix has the documents of other stores' models.
const externalPrefix = "external/"

func externalKey(uuid string) string { return externalPrefix + uuid }

// Externals are the models in other stores of which this one has consumed offers, by UUID.
func (m *Model) Externals(ctx context.Context) ([]ExternalDoc, error) {
	var all []ExternalDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		all, err = list[ExternalDoc](r, externalPrefix)
		return errors.Trace(err)
	})
	return all, errors.Trace(err)
}

// External says where a model of another store is, by its UUID; errors.NotFound where nothing was consumed of
// it.
func (m *Model) External(ctx context.Context, uuid string) (ExternalDoc, error) {
	var doc ExternalDoc
	_, err := m.view(ctx, func(r docs) error { return named(r.get(externalKey(uuid), &doc), "model of another store", uuid) })
	return doc, errors.Trace(err)
}

// Known is an error where the store doesn't have the model, and doesn't know that it was removed: what
// it says of the model then is nothing.
func (m *Model) Known(ctx context.Context) error {
	_, err := m.view(ctx, func(r docs) error {
		_, err := readInfo(r, m.info)
		if !errors.Is(err, errors.NotFound) {
			return errors.Trace(err)
		}
		if _, err = r.Get(goneKey(m.info.UUID)); errors.Is(err, errors.NotFound) {
			err = errors.NewNotFound(nil, fmt.Sprintf("model %q isn't in the store", m.info.Name))
		}
		return errors.Trace(err)
	})
	return errors.Trace(err)
}

// ConsumeExternal is Consume of an offer that a model of another store makes, which is there. The
// error is NotValid where that model is in this store.
func (m *Model) ConsumeExternal(ctx context.Context, from *Model, there ExternalDoc, u model.OfferURL, name string) (SAASDoc, error) {
	var o OfferDoc
	_, err := from.view(ctx, func(r docs) error {
		err := r.get(offerKey(u.Offer), &o)
		if errors.Is(err, errors.NotFound) {
			return offerNotFound(u)
		}
		return errors.Trace(err)
	})
	if err != nil {
		return SAASDoc{}, errors.Trace(err)
	}
	there.Model, there.ModelName = from.UUID(), from.Name()
	var saas SAASDoc
	_, err = m.update(ctx, func(tx *txn) error {
		if err := tx.alive(); err != nil {
			return errors.Trace(err)
		}
		switch _, err := readInfo(tx, from.info); {
		case err == nil:
			return errors.NewNotValid(nil, fmt.Sprintf("cannot consume %s: model %q is in this store", u.Path(), from.Name()))
		case !errors.Is(err, errors.NotFound):
			return errors.Trace(err)
		}
		saas = newSAAS(from, o, u, name)
		saas.External = true
		if err := tx.consume(&saas, u); err != nil {
			return errors.Trace(err)
		}
		return tx.put(externalKey(there.Model), there)
	})
	return saas, errors.Trace(err)
}

// ForgetExternal removes what says where another store's model is, unless something here
// refers to it; it says whether it has.
func (m *Model) ForgetExternal(ctx context.Context, uuid string) (gone bool, err error) {
	_, err = m.update(ctx, func(tx *txn) error {
		refers, err := tx.refersTo(uuid)
		if gone = !refers; err != nil || refers {
			return errors.Trace(err)
		}
		return tx.delete(externalKey(uuid))
	})
	return gone, errors.Trace(err)
}

// RefersTo says whether something was consumed of a model of another store, or is related with it.
func (m *Model) RefersTo(ctx context.Context, uuid string) (refers bool, err error) {
	_, err = m.view(ctx, func(r docs) (err error) {
		refers, err = r.refersTo(uuid)
		return errors.Trace(err)
	})
	return refers, errors.Trace(err)
}

func (d docs) refersTo(uuid string) (bool, error) {
	consumed, err := d.consumedExternal(uuid)
	if err != nil || len(consumed) > 0 {
		return len(consumed) > 0, errors.Trace(err)
	}
	rels, err := list[RelationDoc](d, "relation/")
	return slices.ContainsFunc(rels, func(r RelationDoc) bool { return r.apart(uuid) && !r.Across.Offering }), errors.Trace(err)
}

// ConsumedExternal are all that the model has consumed of one of another store, by name.
func (m *Model) ConsumedExternal(ctx context.Context, uuid string) (all []SAASDoc, err error) {
	_, err = m.view(ctx, func(r docs) (err error) {
		all, err = r.consumedExternal(uuid)
		return errors.Trace(err)
	})
	return all, errors.Trace(err)
}

func (d docs) consumedExternal(uuid string) ([]SAASDoc, error) {
	all, err := list[SAASDoc](d, saasPrefix)
	return slices.DeleteFunc(all, func(s SAASDoc) bool { return !s.External || s.Model != uuid }), errors.Trace(err)
}

// apart says whether the other half of a relation is in that model, and this in another store.
func (r RelationDoc) apart(uuid string) bool {
	return r.Across != nil && r.Across.External && r.Across.Model == uuid
}

// WatchExternal tells of what package external has to bring to another store, from now on until
// ctx ends: of the relations, and what is consumed, or offered.
func (m *Model) WatchExternal(ctx context.Context, offering bool) (<-chan Change, error) {
	kinds := []string{"relation/", "scope/", "settings/", saasPrefix, externalPrefix}
	if offering {
		kinds = []string{"relation/", "scope/", "settings/", offerPrefix, "app/", "status/"}
	}
	var of []store.Keys
	for _, kind := range kinds {
		of = append(of, store.Below(m.prefix()+kind))
	}
	changes, err := m.WatchOf(ctx, of, 0)
	return changes, errors.Trace(err)
}

// Halves are the halves of relations with a model of another store: those of the offers that this
// one makes, or else of what it has consumed; by id.
func (m *Model) Halves(ctx context.Context, uuid string, offering bool) ([]RelationDoc, error) {
	var all []RelationDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		all, err = list[RelationDoc](r, "relation/")
		return errors.Trace(err)
	})
	all = slices.DeleteFunc(all, func(r RelationDoc) bool { return !r.apart(uuid) || r.Across.Offering != offering })
	slices.SortFunc(all, func(a, b RelationDoc) int { return int(a.ID - b.ID) })
	return all, errors.Trace(err)
}

// propose relates an application of this model with one of another store: it makes this half.
// The other one is for Accept.
func (t *txn) propose(saas SAASDoc, own, theirs model.Endpoint, via []string) (RelationDoc, error) {
	if _, err := t.usable(saas, own, theirs); err != nil {
		return RelationDoc{}, errors.Trace(err)
	}
	if err := t.join(own); err != nil {
		return RelationDoc{}, errors.Trace(err)
	}
	token, err := t.token(own.Application)
	if err != nil {
		return RelationDoc{}, errors.Trace(err)
	}
	r, err := t.newRelation([]model.Endpoint{own, theirs})
	if err != nil {
		return r, errors.Trace(err)
	}
	r.Across = &Counterpart{
		Model: saas.Model, Relation: model.NoRelation, Own: own.Application, As: standIn(token), Theirs: saas.Application,
		Offer: saas.Offer, OfferID: saas.OfferID, Via: via, Since: t.now(), External: true,
	}
	saas.Relations++
	if err := t.addRelation(r); err != nil {
		return r, errors.Trace(err)
	}
	return r, t.put(saasKey(saas.Name), saas)
}

// errTried is the error of a transaction that was only to show what comes of it.
const errTried = errors.ConstError("it was only tried")

// TryRelation is AddRelation that changes nothing.
func (m *Model) TryRelation(ctx context.Context, a, b string, via ...string) (RelationDoc, error) {
	var rel RelationDoc
	_, err := m.update(ctx, func(tx *txn) (err error) {
		if rel, err = tx.relate(a, b, via); err == nil {
			err = errTried
		}
		return errors.Trace(err)
	})
	if errors.Is(err, errTried) {
		return rel, nil
	}
	return rel, errors.Trace(err)
}

// TryAccept is Accept that changes nothing, for a half that TryRelation has made.
func (m *Model) TryAccept(ctx context.Context, consumer string, half RelationDoc) error {
	_, err := m.update(ctx, func(tx *txn) error {
		if _, err := tx.accept(consumer, half); err != nil {
			return errors.Trace(err)
		}
		return errTried
	})
	if errors.Is(err, errTried) {
		return nil
	}
	return errors.Trace(err)
}

// Accept makes the half of a relation in the model that offers, for the half that a model of
// another store has, and returns its id; if it is there already it is that. Errors: NotFound
// for what isn't offered any more, NotValid, QuotaLimitExceeded for an endpoint's limit, and
// AlreadyExists while another half is in the way, which may be one that goes.
func (m *Model) Accept(ctx context.Context, consumer string, half RelationDoc) (model.RelationID, error) {
	var id model.RelationID
	_, err := m.update(ctx, func(tx *txn) error {
		var err error
		id, err = tx.accept(consumer, half)
		return errors.Trace(err)
	})
	return id, errors.Trace(err)
}

func (t *txn) accept(consumer string, half RelationDoc) (model.RelationID, error) {
	c := half.Across
	own, theirs, _ := half.Endpoint(c.Own)
	offered, consuming := theirs, own
	offered.Application, consuming.Application = c.Theirs, c.As
	key := model.RelationKey([]model.Endpoint{offered, consuming})
	n := 0
	if found, err := t.find(relationNameKey(key), &n); err != nil {
		return 0, errors.Trace(err)
	} else if found {
		r, err := t.relation(model.RelationID(n))
		if err == nil && (!r.apart(consumer) || r.Across.Relation != half.ID) {
			what := "is related with offer %q already"
			if r.Life != model.Alive {
				what = "was related with offer %q, and that relation is still being removed"
			}
			err = errors.NewAlreadyExists(nil, fmt.Sprintf("cannot add relation: %s "+what, own, c.Offer))
		}
		return r.ID, errors.Trace(err)
	}
	var o OfferDoc
	if found, err := t.find(offerKey(c.Offer), &o); err != nil {
		return 0, errors.Trace(err)
	} else if !found || o.ID != c.OfferID || o.Application != c.Theirs || !slices.ContainsFunc(o.Endpoints, func(e model.Endpoint) bool { return e.Name == theirs.Name }) {
		return 0, errors.NewNotFound(nil, fmt.Sprintf("offer %q has been removed from the remote model, or has no endpoint %q", c.Offer, theirs.Name))
	}
	if err := t.alive(); err != nil {
		return 0, errors.Trace(err)
	}
	if lacking, err := t.lacking(o.Application, theirs.Name); err != nil {
		return 0, errors.Trace(err)
	} else if lacking {
		return 0, errors.NewNotFound(nil, fmt.Sprintf("application %q has no %q relation: the charm of the application that is offered has it no more", theirs.Application, theirs.Name))
	}
	if err := t.join(offered); err != nil {
		return 0, errors.Trace(err)
	}
	r, err := t.newRelation([]model.Endpoint{offered, consuming})
	if err != nil {
		return 0, errors.Trace(err)
	}
	r.Across = &Counterpart{
		Model: consumer, Relation: half.ID, Own: offered.Application, As: theirs.Application, Theirs: own.Application,
		Offering: true, Offer: o.Name, OfferID: o.ID, Via: c.Via, Since: t.now(), External: true,
	}
	o.Relations++
	if err := t.addRelation(r); err != nil {
		return 0, errors.Trace(err)
	}
	if err := t.put(offerKey(o.Name), o); err != nil {
		return 0, errors.Trace(err)
	}
	return r.ID, t.standsIn(consuming.Application, consumer, 1)
}

// Accepted notes in the model that has consumed which one is the other half. It is no error if its
// own is gone.
func (m *Model) Accepted(ctx context.Context, id, other model.RelationID) error {
	_, err := m.update(ctx, func(tx *txn) error {
		r, err := tx.relation(id)
		if errors.Is(err, errors.NotFound) || err == nil && (r.Across == nil || !r.Across.External || r.Across.Relation == other) {
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
		r.Across.Relation = other
		return tx.put(relationKey(id), r)
	})
	return errors.Trace(err)
}

// OfferStatus is the status of the application that was offered, for a SAAS in another store; or
// why there is none.
func (m *Model) OfferStatus(ctx context.Context, s SAASDoc) (model.Status, error) {
	var status model.Status
	s.External = false
	_, err := m.view(ctx, func(r docs) (err error) {
		status, err = r.saasStatus(s)
		return errors.Trace(err)
	})
	return status, errors.Trace(err)
}

// SeeSAAS notes the status of what was consumed from another store, as it is seen now. It is no error
// if that isn't here any more, or is of another offer.
func (m *Model) SeeSAAS(ctx context.Context, of SAASDoc, status model.Status) error {
	status.Data = nil
	_, err := m.update(ctx, func(tx *txn) error {
		s, err := tx.saas(of.Name)
		if errors.Is(err, errors.NotFound) || err == nil && (!s.External || s.Model != of.Model || s.OfferID != of.OfferID || s.Seen != nil && sameStatus(*s.Seen, status)) {
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
		s.Seen = &status
		return tx.put(saasKey(s.Name), s)
	})
	return errors.Trace(err)
}
