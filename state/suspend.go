package state

import (
	"context"
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Suspend suspends relations, all of them or none: their units leave them, as
// if they were removed. They keep their ids, and what is in their databags. The
// message says why, for people; the newest one holds. Errors: NotFound, and
// NotValid for a relation that is being removed, for a peer relation, and for one
// across models in the model that has consumed: only where it is offered it can be
// suspended. Source: docs/spec/juju-clients.md §11.2.
func (m *Model) Suspend(ctx context.Context, message string, ids ...model.RelationID) error {
	return m.changeSuspension(ctx, "suspend", ids, func(r *RelationDoc) { r.Suspended, r.SuspendedMessage = true, message })
}

// Resume takes Suspend back: the units enter the relations as if they were new.
// It is no error if one isn't suspended; the errors are those of Suspend.
func (m *Model) Resume(ctx context.Context, ids ...model.RelationID) error {
	return m.changeSuspension(ctx, "resume", ids, func(r *RelationDoc) { r.Suspended, r.SuspendedMessage = false, "" })
}

func (m *Model) changeSuspension(ctx context.Context, verb string, ids []model.RelationID, change func(*RelationDoc)) error {
	_, err := m.update(ctx, func(tx *txn) error {
		for _, id := range ids {
			r, err := tx.relation(id)
			switch {
			case errors.Is(err, errors.NotFound):
				return errors.NewNotFound(nil, fmt.Sprintf("relation %d not found (not found)", id))
			case err != nil:
				return errors.Trace(err)
			case r.IsPeer():
				return errors.NewNotValid(nil, fmt.Sprintf("cannot %s relation %q: it is a peer relation", verb, r.Key))
			case r.Life != model.Alive:
				return errors.NewNotValid(nil, fmt.Sprintf("cannot %s relation %q: it is being removed", verb, r.Key))
			}
			if r.Across != nil && !r.Across.Offering {
				return errors.NewNotValid(nil, fmt.Sprintf("cannot set suspend status for %q which is not associated with an offer", r.Key))
			}
			was := r.Suspended
			if change(&r); r.Across != nil && r.Suspended != was {
				r.Across.Since = tx.now()
			}
			if err := tx.putRelation(r); err != nil {
				return errors.Trace(err)
			}
		}
		return nil
	})
	return errors.Trace(err)
}

// FindRelation finds the one relation between two applications that the
// arguments mean, which are those of AddRelation; NotFound where there is none,
// NotValid for several.
func (m *Model) FindRelation(ctx context.Context, a, b string) (RelationDoc, error) {
	var rel RelationDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		rel, err = r.findRelation(a, b)
		return errors.Trace(err)
	})
	return rel, errors.Trace(err)
}
