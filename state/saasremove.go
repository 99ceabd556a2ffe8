package state

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// RemoveSAAS removes what a model has consumed, with its relations: in order, and by Abandon
// at once. The error is NotFound if there is none. Source: docs/spec/juju-clients.md §11.6.
func (m *Model) RemoveSAAS(ctx context.Context, name string, how Force) error {
	_, err := m.update(ctx, func(tx *txn) error {
		s, err := tx.saas(name)
		if err != nil {
			return errors.Trace(err)
		}
		s.Life = model.Dying
		if s.Relations > 0 {
			// Whoever is cut off after this leaves the rest to the agent.
			if err := tx.queue(cleanupDoc{SAAS: &goingSAAS{Name: name, Force: how}}); err != nil {
				return errors.Trace(err)
			}
		}
		return tx.putOrRemoveSAAS(s)
	})
	if err != nil {
		return errors.Trace(err)
	}
	return unfinished(m.finishSAAS(ctx, goingSAAS{Name: name, Force: how}))
}

// goingSAAS is a SAAS whose relations are to go.
type goingSAAS struct {
	Name  string `json:"name"`
	Force Force  `json:"force,omitempty"`
}

// finishSAAS does the rest of a RemoveSAAS, if there is any.
func (m *Model) finishSAAS(ctx context.Context, of goingSAAS) error {
	var rels []RelationDoc
	_, err := m.view(ctx, func(r docs) error {
		rels = nil
		s, err := r.saas(of.Name)
		if errors.Is(err, errors.NotFound) || err == nil && s.Life == model.Alive {
			return nil
		}
		if err == nil {
			rels, err = r.relationsOf(of.Name)
		}
		return errors.Trace(err)
	})
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(m.destroyRelations(ctx, rels, of.Force))
}

// destroyRelations removes relations with that much force, a few at a time.
func (m *Model) destroyRelations(ctx context.Context, rels []RelationDoc, how Force) error {
	for some := range fitting(rels) {
		_, err := m.update(ctx, func(tx *txn) error {
			for _, r := range some {
				if err := tx.destroyRelation(r.ID, how); err != nil {
					return errors.Annotatef(err, "cannot remove relation %q", r.Key)
				}
			}
			return nil
		})
		if err != nil || how != Abandon {
			if err != nil {
				return errors.Trace(err)
			}
			continue
		}
		for _, r := range some {
			if err := m.abandonRelation(ctx, r.ID, newCounter(0, nil)); err != nil {
				return errors.Annotatef(err, "cannot remove relation %q", r.Key)
			}
		}
	}
	return nil
}
