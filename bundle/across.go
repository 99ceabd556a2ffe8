package bundle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// The changes that have to do with other models of the store.
// Source: docs/spec/juju-clients.md §13.1, §11.2.
type (
	consume struct {
		name string
		url  model.OfferURL
	}
	offer struct {
		application string
		Offer
	}
	grant struct{ offer, user, access string }
)

func (c consume) String() string { return fmt.Sprintf("consume offer %s as %s", c.url.Path(), c.name) }

func (c offer) String() string {
	return fmt.Sprintf("offer %s of application %s as %s", strings.Join(c.Endpoints, ", "), c.application, c.Name)
}

func (c grant) String() string {
	return fmt.Sprintf("grant user %s access %s to offer %s", c.user, c.access, c.offer)
}

// everyone is the user of offers that stands for all others.
const everyone = "everyone@external"

// offerURL reads the URL of an offer, with the owner that it leaves out.
func offerURL(text string) (model.OfferURL, error) {
	u, err := model.ParseOfferURL(text)
	if err != nil {
		return u, err
	}
	u.Owner = cmp.Or(u.Owner, render.UserName)
	switch {
	case u.Endpoint != "":
		return u, errors.NewNotValid(nil, fmt.Sprintf("saas offer %q shouldn't include endpoint", text))
	case u.Owner != render.UserName:
		return u, errors.NewNotFound(nil, fmt.Sprintf("model %q not found: all models here are those of %s", u.Owner+"/"+u.Model, render.UserName))
	}
	return u, nil
}

// on completes the URLs of offers by the controller that the bundle is deployed on, which
// is the only one whose offers it can consume.
func (b *Bundle) on(controller string) error {
	for i, s := range b.SAAS {
		if of := s.offer.Controller; of != "" && of != controller {
			return errors.NewNotFound(nil, fmt.Sprintf("%s: %s.url: controller %q not found: this one is %s", b.file, s.Name, of, controller))
		}
		b.SAAS[i].offer.Controller = controller
	}
	return nil
}

// consumed are what the bundle consumes that the model hasn't.
func (p *Plan) consumed(there []state.SAASView) []Change {
	var all []Change
	for _, s := range p.SAAS {
		has := slices.ContainsFunc(there, func(v state.SAASView) bool {
			return v.Name == s.Name && v.URL == s.offer.String() && v.Life == model.Alive && v.Status.Status != model.StatusTerminated
		})
		if !has {
			all = append(all, consume{s.Name, s.offer})
		}
	}
	return all
}

// offered are what applications of the bundle offer that the model doesn't, and to whom.
func (p *Plan) offered(there []state.OfferView) []Change {
	var all []Change
	for _, app := range p.Apps {
		for _, o := range app.Offers {
			var access map[string]string
			i := slices.IndexFunc(there, func(v state.OfferView) bool { return v.Name == o.Name })
			if i >= 0 {
				access = there[i].Access
			}
			if i < 0 || there[i].Application != app.Application.Name || !slices.Equal(endpointNames(there[i].OfferDoc), o.Endpoints) {
				all = append(all, offer{app.Application.Name, o})
			}
			for _, user := range slices.Sorted(maps.Keys(o.ACL)) {
				if access[user] != o.ACL[user] && (i >= 0 || user != render.UserName) {
					all = append(all, grant{o.Name, user, o.ACL[user]})
				}
			}
		}
	}
	return all
}

// endpointNames are those of an offer, sorted.
func endpointNames(o state.OfferDoc) []string {
	var names []string
	for _, e := range o.Endpoints {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

func (c consume) do(w *Work) error {
	controller, err := w.app.Open()
	if err != nil {
		return err
	}
	from, err := controller.Model(w.app.Context(), c.url.Model)
	if errors.Is(err, errors.NotFound) {
		return errors.NewNotFound(nil, fmt.Sprintf("model %q not found", c.url.Owner+"/"+c.url.Model))
	}
	if err != nil {
		return err
	}
	_, err = w.model.Consume(w.app.Context(), from, c.url, c.name)
	return err
}

func (c offer) do(w *Work) error {
	_, err := w.model.Offer(w.app.Context(), c.application, c.Endpoints, c.Name)
	return err
}

func (c grant) do(w *Work) error {
	return w.model.GrantOffer(w.app.Context(), c.offer, c.user, c.access)
}
