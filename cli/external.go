package cli

import (
	"context"
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/external"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// consumeURL makes an offer known that a URL names, by a name; empty: its own. from names the store
// of its controller; empty: that is one of this host.
func (a relationVerbs) consumeURL(text, alias, from string) (u model.OfferURL, saas state.SAASDoc, err error) {
	if u, err = model.ParseOfferURL(text); err != nil {
		return u, saas, err
	}
	here, err := agent.Controller()
	if err != nil {
		return u, saas, err
	}
	switch {
	case from != "" && (u.Controller == "" || u.Controller == here.Name):
		return u, saas, Usagef("--from: say in the URL what the other controller is to be called, like NAME:%s", u.Path())
	case from == "" && (u.Controller == "" || u.Controller == here.Name || !agent.Experimental(agent.ManyStores)):
		if u, err = a.offerURL(text); err != nil {
			return u, saas, err
		}
		saas, err = a.consume(u, alias)
		return u, saas, err
	}
	if u.Owner = ownerOr(u.Owner); u.Owner != render.UserName {
		return u, saas, errors.NewNotFound(nil, fmt.Sprintf("model %q not found", u.Owner+"/"+u.Model))
	}
	saas, err = a.consumeExternal(u, alias, from)
	return u, saas, err
}

func (a relationVerbs) consumeExternal(u model.OfferURL, alias, from string) (saas state.SAASDoc, err error) {
	there := state.ExternalDoc{Controller: u.Controller}
	if from == "" {
		there.Store, err = agent.ExternalStore(u.Controller)
	} else {
		there.Store, err = agent.NamedStore(from)
	}
	if err != nil {
		return saas, err
	}
	m, err := a.model()
	if err != nil {
		return saas, err
	}
	c, end, err := a.OpenExternal(a.Context(), there)
	if err != nil {
		return saas, err
	}
	defer func() {
		if eerr := end(); err == nil {
			err = eerr
		}
	}()
	of, err := c.Model(a.Context(), u.Model)
	if errors.Is(err, errors.NotFound) {
		return saas, errors.NewNotFound(nil, fmt.Sprintf("model %q not found", u.Controller+":"+render.UserName+"/"+u.Model))
	}
	if err != nil {
		return saas, err
	}
	u.Endpoint = ""
	if saas, err = m.ConsumeExternal(a.Context(), of, there, u, alias); err != nil {
		return saas, err
	}
	return saas, a.Ensure()
}

// relate relates two applications. If one is of another store, it is asked for its leave first, and then
// for its half of the relation.
func (a relationVerbs) relate(m *state.Model, left, right string, via []string) (rel state.RelationDoc, err error) {
	others, err := m.Externals(a.Context())
	if err != nil {
		return rel, err
	}
	if len(others) > 0 {
		rel, err = m.TryRelation(a.Context(), left, right, via...)
	}
	if err != nil {
		return rel, err
	}
	if rel.Across == nil || !rel.Across.External {
		return m.AddRelation(a.Context(), left, right, via...)
	}
	there, end, err := a.external(others, rel.Across)
	if err != nil {
		return rel, err
	}
	defer func() {
		if eerr := end(); err == nil {
			err = eerr
		}
	}()
	if err := there.TryAccept(a.Context(), m.UUID(), rel); err != nil {
		return rel, err
	}
	if rel, err = m.AddRelation(a.Context(), left, right, via...); err != nil {
		return rel, err
	}
	l := external.Link{Here: m, There: there}
	_, err = l.Propose(a.Context(), rel)
	if external.Refused(err) { // it has changed its mind: what was made here goes
		derr := m.DestroyRelationID(context.WithoutCancel(a.Context()), rel.ID)
		if derr != nil && !errors.Is(derr, errors.NotFound) { // the agent may have seen to it
			return rel, errors.Errorf("%v; and this model's half of the relation can't be removed: %v", err, derr)
		}
	}
	return rel, err
}

// external is the model that has the other half of a relation, one of those of other stores; end closes its store.
func (a relationVerbs) external(others []state.ExternalDoc, half *state.Counterpart) (there *state.Model, end func() error, err error) {
	for _, doc := range others {
		if doc.Model != half.Model {
			continue
		}
		c, end, err := a.OpenExternal(a.Context(), doc)
		if err != nil {
			return nil, nil, err
		}
		return c.Open(state.ModelInfo{UUID: doc.Model, Name: doc.ModelName}), end, nil
	}
	return nil, nil, errors.NewNotFound(nil, fmt.Sprintf("cannot tell which store has the model that offers %q", half.Offer))
}
