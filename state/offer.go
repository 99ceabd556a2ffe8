package state

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// OfferDoc is the document of an offer: endpoints of an application that other models may
// relate with.
type OfferDoc struct {
	Name string `json:"name"`
	// ID tells it from former and later offers of its name: chance.
	ID          string           `json:"id"`
	Application string           `json:"application"`
	Endpoints   []model.Endpoint `json:"endpoints"`
	Created     time.Time        `json:"created"`
	// Access says what users may, by their names: the words are shown, as there is one user.
	Access map[string]string `json:"access,omitempty"`
	// Relations counts what refers to it.
	Relations int `json:"relations"`
}

// The words of access to an offer that are given to who offers, and to all others.
const (
	accessAdmin = "admin"
	accessRead  = "read"
)

// everyone is the user that stands for all others.
const everyone = "everyone@external"

// offer reads an offer; the error says `offer "x" not found`.
func (d docs) offer(name string) (OfferDoc, error) {
	var o OfferDoc
	err := d.get(offerKey(name), &o)
	return o, named(err, "offer", name)
}

// Offer offers endpoints of an application to other models, by a name; empty: that of the
// application. It replaces an offer of that name. Errors: NotFound and NotValid, with the
// texts of docs/spec/juju-clients.md §11.2.
func (m *Model) Offer(ctx context.Context, application string, endpoints []string, name string) (OfferDoc, error) {
	if name == "" {
		name = application
	}
	var o OfferDoc
	_, err := m.update(ctx, func(tx *txn) error {
		app, err := tx.application(application)
		if err != nil {
			return errors.Annotatef(err, "getting offered application %s", application)
		}
		o, err = tx.newOffer(app, endpoints, name)
		if err != nil {
			return errors.Annotatef(err, "cannot add application offer %q", name)
		}
		var was OfferDoc
		found, err := tx.find(offerKey(name), &was)
		if err != nil {
			return errors.Trace(err)
		}
		if !found {
			return tx.putOffer(o)
		}
		return errors.Annotatef(tx.replaceOffer(was, &o), "cannot update application offer %q", name)
	})
	return o, errors.Trace(err)
}

func (t *txn) newOffer(app ApplicationDoc, endpoints []string, name string) (OfferDoc, error) {
	o := OfferDoc{Name: name, Application: app.Name, Created: t.now(), Access: map[string]string{admin: accessAdmin, everyone: accessRead}}
	if err := t.alive(); err != nil {
		return o, errors.Trace(err)
	}
	if !model.ValidApplication(name) {
		return o, errors.NewNotValid(nil, fmt.Sprintf("offer name %q not valid", name))
	}
	if app.Life != model.Alive {
		return o, errors.NewNotValid(nil, fmt.Sprintf("application %q is not alive", app.Name))
	}
	charm, err := t.charm(app.Charm)
	if err != nil {
		return o, errors.Trace(err)
	}
	has := charm.Charm.EndpointsOf(app.Name)
	for _, want := range endpoints {
		i := slices.IndexFunc(has, func(e model.Endpoint) bool { return e.Name == want })
		switch {
		case i < 0:
			return o, errors.NewNotFound(nil, fmt.Sprintf("application %q has no %q relation", app.Name, want))
		case has[i].Scope == model.Container:
			return o, errors.NewNotValid(nil, fmt.Sprintf("can only offer endpoints with global scope, provided scope %q", has[i].Scope))
		case has[i].Role == model.Peer:
			return o, errors.NewNotValid(nil, fmt.Sprintf("endpoint %q is for peers, which are of one application", want))
		case !slices.Contains(o.Endpoints, has[i]):
			o.Endpoints = append(o.Endpoints, has[i])
		}
	}
	slices.SortFunc(o.Endpoints, func(a, b model.Endpoint) int { return strings.Compare(a.Name, b.Name) })
	id, err := uuid.NewRandom()
	if err != nil {
		return o, errors.Annotate(err, "cannot make an offer's id")
	}
	o.ID = id.String()
	return o, nil
}

// putOffer writes a new offer, which its application counts.
func (t *txn) putOffer(o OfferDoc) error {
	if err := t.offers(o.Application, 1); err != nil {
		return errors.Trace(err)
	}
	return t.put(offerKey(o.Name), o)
}

// offers changes how many offers an application counts, if it is there.
func (t *txn) offers(application string, n int) error {
	app, err := t.application(application)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	app.Offers += n
	return t.put(applicationKey(application), app)
}

// replaceOffer has an offer take the place of one of its name. Who has consumed that has
// consumed the new one, if it is of the same application.
func (t *txn) replaceOffer(was OfferDoc, o *OfferDoc) error {
	rels, err := t.relationsOf(was.Application)
	if err != nil {
		return errors.Trace(err)
	}
	var names []string
	for _, e := range o.Endpoints {
		names = append(names, e.Name)
	}
	for _, r := range rels {
		if r.Across == nil || r.Across.OfferID != was.ID {
			continue
		}
		own, _, _ := r.Endpoint(was.Application)
		if was.Application != o.Application || !slices.Contains(names, own.Name) {
			return errors.NewNotValid(nil, fmt.Sprintf("updating offer %s:%s would remove endpoint %q which has active consumers",
				o.Application, strings.Join(names, ","), own.Name))
		}
	}
	if was.Application != o.Application {
		if err := t.offers(was.Application, -1); err != nil {
			return errors.Trace(err)
		}
		return t.putOffer(*o)
	}
	o.ID, o.Relations, o.Created, o.Access = was.ID, was.Relations, was.Created, was.Access
	return t.put(offerKey(o.Name), *o)
}

// RemoveOffer takes an offer away; one with relations only by force, and then with these.
// Errors: NotFound, and NotValid for one with relations. Source:
// docs/spec/juju-clients.md §11.2, §11.6.
func (m *Model) RemoveOffer(ctx context.Context, name string, force bool) error {
	var gone OfferDoc
	_, err := m.update(ctx, func(tx *txn) error {
		o, err := tx.offer(name)
		if err != nil {
			return errors.Trace(err)
		}
		if o.Relations > 0 && !force {
			return errors.NewNotValid(nil, fmt.Sprintf("cannot delete application offer %q: offer has %s", name, countOf(o.Relations, "relation")))
		}
		gone = o
		if o.Relations > 0 {
			// Whoever is cut off after this leaves the rest to the agent.
			if err := tx.queue(cleanupDoc{Offer: &goneOffer{Application: o.Application, ID: o.ID}}); err != nil {
				return errors.Trace(err)
			}
		}
		if err := tx.offers(o.Application, -1); err != nil {
			return errors.Trace(err)
		}
		return tx.delete(offerKey(name))
	})
	if err != nil || gone.Relations == 0 {
		return errors.Trace(err)
	}
	return unfinished(m.finishOffer(ctx, goneOffer{Application: gone.Application, ID: gone.ID}))
}

// countOf is "1 relation" or "2 relations".
func countOf(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// goneOffer is an offer that is gone, whose relations are to go.
type goneOffer struct {
	Application string `json:"application"`
	ID          string `json:"id"`
}

// finishOffer does the rest of a RemoveOffer, if there is any.
func (m *Model) finishOffer(ctx context.Context, of goneOffer) error {
	rels, err := m.RelationsOf(ctx, of.Application)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(m.destroyRelations(ctx, slices.DeleteFunc(rels, func(r RelationDoc) bool {
		return r.Across == nil || r.Across.OfferID != of.ID
	}), Orderly))
}

// offersOf are the names of the offers of an application; empty: of all of them.
func (m *Model) offersOf(ctx context.Context, application string) (names []string, err error) {
	_, err = m.view(ctx, func(r docs) error {
		names = nil
		all, err := list[OfferDoc](r, offerPrefix)
		for _, o := range all {
			if application == "" || o.Application == application {
				names = append(names, o.Name)
			}
		}
		return errors.Trace(err)
	})
	return names, errors.Trace(err)
}

// unoffer takes away the offers of an application, by force; empty: all of the model's.
func (m *Model) unoffer(ctx context.Context, application string) error {
	names, err := m.offersOf(ctx, application)
	if err != nil {
		return errors.Trace(err)
	}
	for _, name := range names {
		if err := m.RemoveOffer(ctx, name, true); err != nil && !errors.Is(err, errors.NotFound) {
			return errors.Trace(err)
		}
	}
	return nil
}
