package state

import (
	"context"
	"fmt"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// newRelation is a relation between endpoints, with the next id.
func (t *txn) newRelation(eps []model.Endpoint) (RelationDoc, error) {
	n, err := t.next("relation")
	return RelationDoc{ID: model.RelationID(n), Key: model.RelationKey(eps), Endpoints: eps, Since: t.now(), By: t.by}, errors.Trace(err)
}

// addRelation writes a new relation, which its applications' counts are the
// caller's to see to.
func (t *txn) addRelation(r RelationDoc) error {
	for _, e := range r.Endpoints {
		if err := t.put(relationOfKey(e.Application, r.ID), r.ID); err != nil {
			return errors.Trace(err)
		}
	}
	if err := t.put(relationNameKey(r.Key), r.ID); err != nil {
		return errors.Trace(err)
	}
	return t.put(relationKey(r.ID), r)
}

// addPeers makes the relation of a peer endpoint.
func (t *txn) addPeers(ep model.Endpoint) error {
	r, err := t.newRelation([]model.Endpoint{ep})
	if err != nil {
		return errors.Trace(err)
	}
	return t.addRelation(r)
}

// AddRelation relates two Alive applications, of which one may be known by a name
// that Consume has given it. Each argument is "application" or
// "application:endpoint". via are subnets, for people; there are none but across
// models. Errors have the texts of docs/spec/cli-juju.md §6:
// NotFound for an application and for "no relations found", NotValid for an
// ambiguity, which lists the candidates, AlreadyExists.
func (m *Model) AddRelation(ctx context.Context, a, b string, via ...string) (RelationDoc, error) {
	var rel RelationDoc
	_, err := m.update(ctx, func(tx *txn) (err error) {
		rel, err = tx.relate(a, b, via)
		return errors.Trace(err)
	})
	return rel, errors.Trace(err)
}

func (t *txn) relate(a, b string, via []string) (RelationDoc, error) {
	if err := t.alive(); err != nil {
		return RelationDoc{}, errors.Trace(err)
	}
	left, right, err := t.sides(a, b)
	if err != nil {
		return RelationDoc{}, errors.Trace(err)
	}
	if left.Offered == nil && right.Offered == nil && len(via) > 0 {
		return RelationDoc{}, errors.NewNotSupported(nil, "integration via subnets for non cross model relations not supported")
	}
	eps, err := model.MatchEndpoints(left, right)
	if err != nil {
		return RelationDoc{}, errors.Trace(err)
	}
	key := model.RelationKey(eps)
	id := 0
	found, err := t.find(relationNameKey(key), &id)
	if err != nil {
		return RelationDoc{}, errors.Trace(err)
	}
	switch {
	case found:
		return RelationDoc{}, t.alreadyRelated(key, model.RelationID(id))
	case left.Offered != nil:
		return t.relateAcross(eps[1], eps[0], via)
	case right.Offered != nil:
		return t.relateAcross(eps[0], eps[1], via)
	}
	for _, e := range eps {
		if err := t.join(e); err != nil {
			return RelationDoc{}, errors.Trace(err)
		}
	}
	rel, err := t.newRelation(eps)
	if err != nil {
		return rel, errors.Trace(err)
	}
	return rel, t.addRelation(rel)
}

func (t *txn) alreadyRelated(key string, id model.RelationID) error {
	r, err := t.relation(id)
	if err != nil {
		return errors.Trace(err)
	}
	if r.Life != model.Alive {
		return errors.NewNotValid(nil, fmt.Sprintf("cannot add relation %q: the one of the same name is still being removed", key))
	}
	return errors.NewAlreadyExists(nil, fmt.Sprintf("cannot add relation %q: relation %s already exists", key, key))
}

// join counts a new relation in the endpoint's application, which has to be
// Alive, and below the endpoint's limit.
func (t *txn) join(e model.Endpoint) error {
	app, err := t.application(e.Application)
	if err != nil {
		return errors.Trace(err)
	}
	if app.Life != model.Alive {
		return errors.NewNotValid(nil, fmt.Sprintf("cannot add relation: application %q is not alive", e.Application))
	}
	if e.Limit > 0 {
		rels, err := t.relationsOf(e.Application)
		if err != nil {
			return errors.Trace(err)
		}
		n := 0
		for _, r := range rels {
			if own, _, _ := r.Endpoint(e.Application); own.Name == e.Name {
				n++
			}
		}
		if n >= e.Limit {
			return errors.NewQuotaLimitExceeded(nil, fmt.Sprintf("cannot add relation: establishing a new relation for %s would exceed its maximum relation limit of %d", e, e.Limit))
		}
	}
	app.Relations++
	return t.put(applicationKey(app.Name), app)
}

// sides reads what the arguments refer to, of which one at least is an application of
// this model.
func (d docs) sides(a, b string) (left, right model.Side, err error) {
	if left, err = d.side(a); err != nil {
		return left, right, errors.Trace(err)
	}
	if right, err = d.side(b); err != nil {
		return left, right, errors.Trace(err)
	}
	if left.Offered != nil && right.Offered != nil {
		return left, right, errors.NewNotValid(nil, fmt.Sprintf("cannot add relation between saas applications %q and %q", left.Application, right.Application))
	}
	return left, right, nil
}

// side reads what "application" or "application:endpoint" refers to.
func (d docs) side(arg string) (model.Side, error) {
	s := model.Side{}
	s.Application, s.Endpoint, _ = strings.Cut(arg, ":")
	app, err := d.application(s.Application)
	if errors.Is(err, errors.NotFound) {
		saas, serr := d.saas(s.Application)
		s.Offered = saas.Endpoints
		return s, unless(serr, err)
	}
	if err != nil {
		return s, errors.Trace(err)
	}
	charm, err := d.charm(app.Charm)
	s.Charm = charm.Charm
	return s, errors.Trace(err)
}

// unless is the error of reading a SAAS, or, if there is none, that there is no application.
func unless(saas, application error) error {
	if errors.Is(saas, errors.NotFound) {
		return errors.Trace(application)
	}
	return errors.Trace(saas)
}

// DestroyRelation removes the relation between two applications (seed 000,
// "remove-relation"). The arguments are those of AddRelation.
func (m *Model) DestroyRelation(ctx context.Context, a, b string) error {
	r, err := m.FindRelation(ctx, a, b)
	if err != nil {
		return errors.Trace(err)
	}
	_, err = m.update(ctx, func(tx *txn) error { return tx.destroyRelation(r.ID, Orderly) })
	return errors.Trace(err)
}

// DestroyRelationID is DestroyRelation by the relation's id.
func (m *Model) DestroyRelationID(ctx context.Context, id model.RelationID) error {
	return errors.Trace(m.ForceRelation(ctx, id, Orderly, nil))
}

// findRelation finds the one existing relation that the arguments mean.
func (d docs) findRelation(a, b string) (RelationDoc, error) {
	name, _, _ := strings.Cut(a, ":")
	_, err := d.application(name)
	if errors.Is(err, errors.NotFound) {
		_, serr := d.saas(name)
		err = unless(serr, err)
	}
	if err != nil {
		return RelationDoc{}, errors.Trace(err)
	}
	rels, err := d.relationsOf(name)
	if err != nil {
		return RelationDoc{}, errors.Trace(err)
	}
	var found []RelationDoc
	for _, r := range rels {
		own, other, _ := r.Endpoint(name)
		if !r.IsPeer() && means(a, own) && means(b, other) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return RelationDoc{}, errors.NewNotFound(nil, fmt.Sprintf("relation matching %q not found (not found)", a+" "+b))
	case 1:
		return found[0], nil
	}
	keys := make([]string, len(found))
	for i, r := range found {
		keys[i] = fmt.Sprintf("%q", r.Key)
	}
	return RelationDoc{}, errors.NewNotValid(nil, fmt.Sprintf("ambiguous relation: %q could refer to %s", a+" "+b, strings.Join(keys, "; ")))
}

func means(arg string, e model.Endpoint) bool {
	return arg == e.Application || arg == e.String()
}

// destroyRelation makes an Alive relation Dying; if no unit is in its scope it
// is gone at once. One that isn't Alive, or isn't there, is left, unless there is
// more force than before; but those leave it who can't by themselves any more.
func (t *txn) destroyRelation(id model.RelationID, how Force) error {
	r, err := t.relation(id)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	if r.Life != model.Alive && r.Force >= how {
		return t.strangersLeave(r)
	}
	r.Life, r.Force = model.Dying, max(r.Force, how)
	in, err := t.anybodyIn(id)
	if err != nil {
		return errors.Trace(err)
	}
	if !in {
		return t.removeRelation(r)
	}
	if how == Abandon {
		// Whoever is cut off after this leaves the rest to the agent.
		if err := t.queue(cleanupDoc{Relation: &id}); err != nil {
			return errors.Trace(err)
		}
	}
	if err := t.strangersLeave(r); err != nil {
		return errors.Trace(err)
	}
	return t.putRelation(r)
}

// removeRelation takes the relation away with its last reference; that may be
// the last one to an application that is Dying, which then goes too. Settings
// are left to the cleanup queue: nobody can watch or refer to them any more. Of a
// relation across models both halves go.
func (t *txn) removeRelation(r RelationDoc) error {
	other, half, there, err := t.half(r)
	if err != nil {
		return errors.Trace(err)
	}
	if there {
		if err := other.removeHalf(half); err != nil {
			return errors.Trace(err)
		}
	}
	return t.removeHalf(r)
}

func (t *txn) removeHalf(r RelationDoc) error {
	if err := t.delete(relationKey(r.ID), relationNameKey(r.Key)); err != nil {
		return errors.Trace(err)
	}
	for _, e := range r.Endpoints {
		if err := t.delete(relationOfKey(e.Application, r.ID)); err != nil {
			return errors.Trace(err)
		}
		if r.Across != nil && e.Application != r.Across.Own {
			if err := t.strangerReferenced(r); err != nil {
				return errors.Trace(err)
			}
			continue
		}
		if err := t.referenced(e.Application, 0, -1); err != nil {
			return errors.Trace(err)
		}
	}
	return t.cleanup(settingsOf(r.ID))
}

// RelationsOf are an application's relations by endpoint name, then by id.
func (m *Model) RelationsOf(ctx context.Context, application string) ([]RelationDoc, error) {
	var rels []RelationDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		rels, err = r.relationsOf(application)
		return errors.Trace(err)
	})
	return rels, errors.Trace(err)
}

// Relation reads a relation; errors.NotFound if there is none.
func (m *Model) Relation(ctx context.Context, id model.RelationID) (RelationDoc, error) {
	var rel RelationDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		rel, err = r.relation(id)
		return errors.Trace(err)
	})
	return rel, errors.Trace(err)
}

// RelationIDs are the relations of the model.
func (m *Model) RelationIDs(ctx context.Context) ([]model.RelationID, error) {
	var ids []model.RelationID
	_, err := m.view(ctx, func(r docs) error {
		ids = nil
		rels, err := list[RelationDoc](r, "relation/")
		for _, rel := range rels {
			ids = append(ids, rel.ID)
		}
		return errors.Trace(err)
	})
	return ids, errors.Trace(err)
}
