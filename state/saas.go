package state

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// SAASDoc is the document of a SAAS: what a model has consumed of an offer of another one, by
// a name of its own.
type SAASDoc struct {
	Name string `json:"name"`
	// URL is that of the offer, with the controller and the owner.
	URL string `json:"url"`
	// Model is the UUID of the model that offers, and ModelName its name.
	Model     string `json:"model"`
	ModelName string `json:"model-name"`
	// Offer is the offer's name, OfferID tells it from former and later ones of that name, and
	// Application is what it offers.
	Offer       string           `json:"offer"`
	OfferID     string           `json:"offer-id"`
	Application string           `json:"application"`
	Endpoints   []model.Endpoint `json:"endpoints"`
	Life        model.Life       `json:"life"`
	// Relations counts what refers to it.
	Relations int `json:"relations"`
	// External: the model that offers is in another store, of which an ExternalDoc says where it is.
	// Seen is the status of Application, as it was seen there last; nil: it never was.
	External bool          `json:"external,omitempty"`
	Seen     *model.Status `json:"seen,omitempty"`
}

// standInDoc stands in a model that offers for an application that has consumed: it has the
// name by which the model's units know that.
type standInDoc struct {
	Name string `json:"name"`
	// Model is the UUID of the model of the application.
	Model     string `json:"model"`
	Relations int    `json:"relations"`
}

func saasKey(name string) string    { return saasPrefix + name }
func standInKey(name string) string { return "stand-in/" + name }
func offerKey(name string) string   { return offerPrefix + name }

const (
	saasPrefix  = "saas/"
	offerPrefix = "offer/"
)

// standIn is the name by which units of models that offer know an application that consumes.
func standIn(token string) string { return "remote-" + token }

// saas reads a SAAS; the error says `saas application "x" not found`.
func (d docs) saas(name string) (SAASDoc, error) {
	var s SAASDoc
	err := d.get(saasKey(name), &s)
	return s, named(err, "saas application", name)
}

// ofModel is the model that a SAAS is of.
func (d docs) ofModel(s SAASDoc) docs { return d.at(s.Model, s.ModelName) }

// offered reads the offer that a SAAS was consumed of; false: it is gone. Of one in another store
// only that is known.
func (d docs) offered(s SAASDoc) (OfferDoc, bool, error) {
	if s.External {
		return OfferDoc{}, s.Seen == nil || s.Seen.Status != model.StatusTerminated, nil
	}
	var o OfferDoc
	found, err := d.ofModel(s).find(offerKey(s.Offer), &o)
	return o, found && o.ID == s.OfferID, errors.Trace(err)
}

// Consume makes an offer of another model of the store known in this one, by a name, and
// returns what it is known as. An empty name is that of the offer. What was consumed already
// gets the offer's new endpoints, and one whose offer is gone is replaced. Errors: NotFound
// for the offer, NotValid and AlreadyExists for the name. Source:
// docs/spec/juju-clients.md §11.2.
func (m *Model) Consume(ctx context.Context, from *Model, u model.OfferURL, name string) (SAASDoc, error) {
	var saas SAASDoc
	_, err := m.update(ctx, func(tx *txn) error {
		if err := tx.alive(); err != nil {
			return errors.Trace(err)
		}
		if from.UUID() == m.UUID() {
			return errors.NewNotValid(nil, fmt.Sprintf("cannot consume %s: it is of this model, in which its application is related by its own name", u.Path()))
		}
		var o OfferDoc
		found, err := tx.at(from.UUID(), from.Name()).find(offerKey(u.Offer), &o)
		if err != nil {
			return errors.Trace(err)
		}
		if !found {
			return offerNotFound(u)
		}
		saas = newSAAS(from, o, u, name)
		return tx.consume(&saas, u)
	})
	return saas, errors.Trace(err)
}

func offerNotFound(u model.OfferURL) error {
	return errors.NewNotFound(nil, fmt.Sprintf("application offer %q not found", u.Path()))
}

// newSAAS is what is made known of an offer by a name; empty: that of the offer.
func newSAAS(from *Model, o OfferDoc, u model.OfferURL, name string) SAASDoc {
	if name == "" {
		name = u.Offer
	}
	return SAASDoc{
		Name: name, URL: u.String(), Model: from.UUID(), ModelName: from.Name(),
		Offer: o.Name, OfferID: o.ID, Application: o.Application, Endpoints: endpointsAs(o.Endpoints, name),
	}
}

func endpointsAs(eps []model.Endpoint, application string) []model.Endpoint {
	own := slices.Clone(eps)
	for i := range own {
		own[i].Application = application
	}
	return own
}

func (t *txn) consume(saas *SAASDoc, u model.OfferURL) error {
	refuse := func(what string) error {
		return errors.NewAlreadyExists(nil, fmt.Sprintf("could not consume %s: %s", u.Path(), what))
	}
	var app ApplicationDoc
	if found, err := t.find(applicationKey(saas.Name), &app); err != nil {
		return errors.Trace(err)
	} else if found {
		return refuse(fmt.Sprintf("saas application called %q cannot be added: local application with same name already exists", saas.Name))
	}
	was, err := t.saas(saas.Name)
	switch {
	case errors.Is(err, errors.NotFound):
		return t.put(saasKey(saas.Name), saas)
	case err != nil:
		return errors.Trace(err)
	case was.Life != model.Alive:
		return refuse(fmt.Sprintf("saas application called %q exists but is terminating", saas.Name))
	}
	saas.Relations, saas.Seen = was.Relations, was.Seen
	_, there, err := t.offered(was)
	switch {
	case err != nil:
		return errors.Trace(err)
	case !there:
		saas.Seen = nil
		return t.put(saasKey(saas.Name), saas)
	case was.Model != saas.Model:
		return refuse(fmt.Sprintf("saas application called %q from a different model already exists", saas.Name))
	case was.OfferID != saas.OfferID:
		return refuse(fmt.Sprintf("saas application called %q of another offer already exists", saas.Name))
	}
	for _, e := range was.Endpoints {
		// An endpoint that the offer has lost may still have a relation.
		if !slices.ContainsFunc(saas.Endpoints, func(o model.Endpoint) bool { return o.Name == e.Name }) {
			saas.Endpoints = append(saas.Endpoints, e)
		}
	}
	if slices.Equal(was.Endpoints, saas.Endpoints) {
		return nil
	}
	return t.put(saasKey(saas.Name), saas)
}

// relateAcross relates an application of this model with one that it has consumed.
func (t *txn) relateAcross(own, theirs model.Endpoint, via []string) (RelationDoc, error) {
	saas, err := t.saas(theirs.Application)
	if err != nil {
		return RelationDoc{}, errors.Trace(err)
	}
	if saas.External {
		return t.propose(saas, own, theirs, via)
	}
	offer, err := t.relatable(saas, own, theirs)
	if err != nil {
		return RelationDoc{}, errors.Trace(err)
	}
	other := t.at(saas.Model, saas.ModelName)
	offered := theirs
	offered.Application = offer.Application
	for _, err := range []error{t.join(own), other.join(offered)} {
		if err != nil {
			return RelationDoc{}, errors.Trace(err)
		}
	}
	token, err := t.token(own.Application)
	if err != nil {
		return RelationDoc{}, errors.Trace(err)
	}
	consuming := own
	consuming.Application = standIn(token)
	key := model.RelationKey([]model.Endpoint{offered, consuming})
	id := 0
	if found, err := other.find(relationNameKey(key), &id); err != nil {
		return RelationDoc{}, errors.Trace(err)
	} else if found {
		return RelationDoc{}, errors.NewAlreadyExists(nil, fmt.Sprintf("cannot add relation: %s is related with %s already, by another name of the offer", own, saas.URL))
	}
	return t.pair(other, saas, offer, []model.Endpoint{own, theirs, offered, consuming}, via)
}

// usable reads the offer of a SAAS that is to be related with, as far as this model tells. Source
// for the texts: docs/spec/juju-clients.md §11.2.
func (t *txn) usable(saas SAASDoc, own, theirs model.Endpoint) (OfferDoc, error) {
	if saas.Life != model.Alive {
		return OfferDoc{}, errors.NewNotValid(nil, fmt.Sprintf("SAAS application %q has been removed but termination has not completed.\n"+
			"Wait until it is gone from the status, or remove it by force:\n    %s remove-saas %s --force", saas.Name, t.m.command, saas.Name))
	}
	offer, there, err := t.offered(saas)
	if err != nil {
		return offer, errors.Trace(err)
	}
	if !there {
		return offer, errors.NewNotValid(nil, fmt.Sprintf("Offer %q has been removed from the remote model.\n"+
			"To relate with a new offer of the same name, remove what is known of this one first:\n    %s remove-saas %s", saas.Offer, t.m.command, saas.Name))
	}
	if own.Scope == model.Container || theirs.Scope == model.Container {
		return offer, errors.NewNotFound(nil, "no relations found")
	}
	return offer, nil
}

// relatable is usable for an offer of this store, with all that its model tells.
func (t *txn) relatable(saas SAASDoc, own, theirs model.Endpoint) (OfferDoc, error) {
	offer, err := t.usable(saas, own, theirs)
	if err != nil {
		return offer, errors.Trace(err)
	}
	if !slices.ContainsFunc(offer.Endpoints, func(e model.Endpoint) bool { return e.Name == theirs.Name }) {
		return offer, errors.NewNotFound(nil, fmt.Sprintf("application %q has no %q relation", saas.Name, theirs.Name))
	}
	other := t.at(saas.Model, saas.ModelName)
	lacking, err := other.lacking(offer.Application, theirs.Name)
	if err != nil {
		return offer, errors.Trace(err)
	}
	if lacking {
		return offer, errors.NewNotFound(nil, fmt.Sprintf("application %q has no %q relation: the charm of the application that is offered has it no more", saas.Name, theirs.Name))
	}
	return offer, errors.Trace(other.alive())
}

// lacking says whether the charm that an application has by now lacks an endpoint that was
// offered of it.
func (d docs) lacking(application, endpoint string) (bool, error) {
	app, err := d.application(application)
	if err != nil {
		return false, errors.Trace(err)
	}
	charm, err := d.charm(app.Charm)
	if err != nil {
		return false, errors.Trace(err)
	}
	return !slices.ContainsFunc(charm.Charm.EndpointsOf(application), func(e model.Endpoint) bool { return e.Name == endpoint }), nil
}

// token is what tells an application of this model from others, and from former and later
// ones of its name, in models that offer.
func (t *txn) token(application string) (string, error) {
	app, err := t.application(application)
	if err != nil || app.Token != "" {
		return app.Token, errors.Trace(err)
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return "", errors.Annotate(err, "cannot make an application's token")
	}
	app.Token = fmt.Sprintf("%x", id[:])
	return app.Token, t.put(applicationKey(application), app)
}

// pair makes both halves of a relation between own and theirs, which in the other model are
// consuming and offered, in this order. The applications have been joined.
func (t *txn) pair(other *txn, saas SAASDoc, offer OfferDoc, eps []model.Endpoint, via []string) (RelationDoc, error) {
	own, theirs, offered, consuming := eps[0], eps[1], eps[2], eps[3]
	here, err := t.newRelation([]model.Endpoint{own, theirs})
	if err != nil {
		return here, errors.Trace(err)
	}
	there, err := other.newRelation([]model.Endpoint{offered, consuming})
	if err != nil {
		return here, errors.Trace(err)
	}
	here.Across = &Counterpart{
		Model: other.m.info.UUID, Relation: there.ID, Own: own.Application, As: consuming.Application, Theirs: offered.Application,
		Offer: offer.Name, OfferID: offer.ID, Via: via, Since: t.now(),
	}
	there.Across = &Counterpart{
		Model: t.m.info.UUID, Relation: here.ID, Own: offered.Application, As: theirs.Application, Theirs: own.Application,
		Offering: true, Offer: offer.Name, OfferID: offer.ID, Via: via, Since: t.now(),
	}
	saas.Relations++
	offer.Relations++
	for _, err := range []error{
		t.addRelation(here), other.addRelation(there),
		t.put(saasKey(saas.Name), saas), other.put(offerKey(offer.Name), offer),
		other.standsIn(consuming.Application, t.m.info.UUID, 1),
	} {
		if err != nil {
			return here, errors.Trace(err)
		}
	}
	return here, nil
}

// standsIn changes the count of relations of a stand-in, which goes with the last one.
func (t *txn) standsIn(name, of string, relations int) error {
	doc := standInDoc{Name: name, Model: of}
	if _, err := t.find(standInKey(name), &doc); err != nil {
		return errors.Trace(err)
	}
	if doc.Relations += relations; doc.Relations <= 0 {
		return t.delete(standInKey(name))
	}
	return t.put(standInKey(name), doc)
}

// strangerReferenced has the other side of a relation across models count it no more.
func (t *txn) strangerReferenced(r RelationDoc) error {
	stranger, _ := r.Stranger()
	if r.Across.Offering {
		var o OfferDoc
		found, err := t.find(offerKey(r.Across.Offer), &o)
		if err == nil && found && o.ID == r.Across.OfferID {
			o.Relations--
			err = t.put(offerKey(o.Name), o)
		}
		if err != nil {
			return errors.Trace(err)
		}
		return t.standsIn(stranger.Application, r.Across.Model, -1)
	}
	s, err := t.saas(stranger.Application)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	s.Relations--
	return t.putOrRemoveSAAS(s)
}

func (t *txn) putOrRemoveSAAS(s SAASDoc) error {
	if s.Life == model.Alive || s.Relations > 0 {
		return t.put(saasKey(s.Name), s)
	}
	return t.delete(saasKey(s.Name))
}
