package state

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// SAASView is a SAAS as people see it.
type SAASView struct {
	SAASDoc
	// Status is that of the application that is offered.
	Status model.Status
	// Related has the applications of this model that it is related with, by its endpoints.
	Related map[string][]string
}

// OfferView is an offer as people see it.
type OfferView struct {
	OfferDoc
	// Charm is that of the application.
	Charm CharmDoc
	// Connections are its relations with applications of other models, by id.
	Connections []Connection
}

// Active counts the connections that are joined. Source: docs/spec/juju-clients.md §11.4.
func (v OfferView) Active() int {
	n := 0
	for _, c := range v.Connections {
		if c.Status.Status == "joined" {
			n++
		}
	}
	return n
}

// Connection is a relation of an offer.
type Connection struct {
	// Model is the UUID of the model that has consumed the offer.
	Model    string
	Relation model.RelationID
	Endpoint string
	Status   model.Status
	// Subnets are those by which it comes.
	Subnets []string
}

// readAcross reads what the model has in common with others.
func (s *FullStatus) readAcross(r docs) error {
	consumed, err := list[SAASDoc](r, saasPrefix)
	if err != nil {
		return errors.Trace(err)
	}
	for _, doc := range consumed {
		v := SAASView{SAASDoc: doc, Related: map[string][]string{}}
		for _, rel := range s.Relations {
			if own, other, ok := rel.Endpoint(doc.Name); ok {
				v.Related[own.Name] = append(v.Related[own.Name], other.Application)
			}
		}
		for _, apps := range v.Related {
			slices.Sort(apps)
		}
		if v.Status, err = r.saasStatus(doc); err != nil {
			return errors.Annotatef(err, "saas application %s", doc.Name)
		}
		s.SAAS = append(s.SAAS, v)
	}
	offers, err := list[OfferDoc](r, offerPrefix)
	if err != nil {
		return errors.Trace(err)
	}
	for _, doc := range offers {
		v, err := r.offerView(doc)
		if err != nil {
			return errors.Annotatef(err, "offer %s", doc.Name)
		}
		s.Offers = append(s.Offers, v)
	}
	return nil
}

// saasStatus is the status of the application that was offered, as its model has it, or why
// there is none. Source: docs/spec/juju-clients.md §11.4.
func (d docs) saasStatus(s SAASDoc) (model.Status, error) {
	switch {
	case s.External && s.Seen == nil:
		return model.Status{Status: model.StatusUnknown}, nil
	case s.External:
		return *s.Seen, nil
	}
	status, err := d.offeredStatus(s)
	if errors.Is(err, errors.Forbidden) || errors.Is(err, errors.Unauthorized) {
		return model.Status{Status: model.StatusError, Message: fmt.Sprintf("model %q can't be read: %v", s.ModelName, err)}, nil
	}
	return status, errors.Trace(err)
}

func (d docs) offeredStatus(s SAASDoc) (model.Status, error) {
	of := d.ofModel(s)
	removed := model.Status{Status: model.StatusTerminated, Message: "offer has been removed"}
	info, err := readInfo(d.Reader, of.m.info)
	if errors.Is(err, errors.NotFound) {
		if _, err := d.Get(goneKey(s.Model)); errors.Is(err, errors.NotFound) {
			return model.Status{Status: model.StatusError, Message: fmt.Sprintf("model %q isn't in the store", s.ModelName)}, nil
		}
		return removed, nil
	}
	if err != nil {
		return removed, errors.Trace(err)
	}
	offer, there, err := d.offered(s)
	if err != nil {
		return removed, errors.Trace(err)
	}
	app, err := of.application(cmp.Or(offer.Application, s.Application))
	if errors.Is(err, errors.NotFound) && info.Life == model.Alive {
		removed.Message = "application has been removed"
		return removed, nil
	}
	if !there || errors.Is(err, errors.NotFound) {
		return removed, nil
	}
	if err != nil {
		return removed, errors.Trace(err)
	}
	return of.shownStatus(app)
}

// shownStatus is an application's status as people see it.
func (d docs) shownStatus(app ApplicationDoc) (model.Status, error) {
	units, err := d.unitsOf(app.Name)
	if err != nil {
		return model.Status{}, errors.Trace(err)
	}
	views := make([]UnitView, len(units))
	for i, u := range units {
		v := MachineView{MachineDoc: MachineDoc{ID: u.Machine}}
		if v.Present, err = d.present(u.Machine); err != nil {
			return model.Status{}, errors.Trace(err)
		}
		if views[i], err = d.unitView(u, app, v); err != nil {
			return model.Status{}, errors.Trace(err)
		}
	}
	return d.seenApplicationStatus(app, views)
}

func (d docs) offerView(o OfferDoc) (OfferView, error) {
	v := OfferView{OfferDoc: o}
	app, err := d.application(o.Application)
	if errors.Is(err, errors.NotFound) {
		return v, nil
	}
	if err != nil {
		return v, errors.Trace(err)
	}
	if v.Charm, err = d.charm(app.Charm); err != nil {
		return v, errors.Trace(err)
	}
	rels, err := d.relationsOf(o.Application)
	if err != nil {
		return v, errors.Trace(err)
	}
	for _, rel := range rels {
		if rel.Across == nil || rel.Across.OfferID != o.ID {
			continue
		}
		own, _, _ := rel.Endpoint(o.Application)
		c := Connection{
			Model: rel.Across.Model, Relation: rel.ID, Endpoint: own.Name,
			Status: model.Status{Status: rel.Connection(), Message: rel.SuspendedMessage, Since: rel.Across.Since},
		}
		if c.Subnets, err = d.subnets(rel); err != nil {
			return v, errors.Trace(err)
		}
		v.Connections = append(v.Connections, c)
	}
	slices.SortFunc(v.Connections, func(a, b Connection) int { return int(a.Relation - b.Relation) })
	return v, nil
}

// subnets are those that a relation was given, else those of the units that have consumed.
func (d docs) subnets(r RelationDoc) ([]string, error) {
	if len(r.Across.Via) > 0 {
		return r.Across.Via, nil
	}
	stranger, _ := r.Stranger()
	in, err := list[scopeDoc](d, containerScope(r.ID, global)+stranger.Application+"/")
	if err != nil {
		return nil, errors.Trace(err)
	}
	found := map[string]bool{}
	for _, s := range in {
		bag, err := d.bag(unitSettingsKey(r.ID, s.Unit))
		if err != nil {
			return nil, errors.Trace(err)
		}
		for _, subnet := range strings.Split(bag["egress-subnets"], ",") {
			if subnet != "" {
				found[subnet] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Offers are the offers of the model, by name.
func (m *Model) Offers(ctx context.Context) ([]OfferView, error) {
	var views []OfferView
	_, err := m.view(ctx, func(r docs) error {
		views = nil
		all, err := list[OfferDoc](r, offerPrefix)
		if err != nil {
			return errors.Trace(err)
		}
		for _, o := range all {
			v, err := r.offerView(o)
			if err != nil {
				return errors.Annotatef(err, "offer %s", o.Name)
			}
			views = append(views, v)
		}
		return nil
	})
	return views, errors.Trace(err)
}

// SAAS is what the model has consumed by that name; errors.NotFound if there is none.
func (m *Model) SAAS(ctx context.Context, name string) (SAASDoc, error) {
	var s SAASDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		s, err = r.saas(name)
		return errors.Trace(err)
	})
	return s, errors.Trace(err)
}

// Consumed are all that the model has consumed, by name.
func (m *Model) Consumed(ctx context.Context) ([]SAASDoc, error) {
	var all []SAASDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		all, err = list[SAASDoc](r, saasPrefix)
		return errors.Trace(err)
	})
	return all, errors.Trace(err)
}
