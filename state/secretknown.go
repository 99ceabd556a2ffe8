package state

import (
	"context"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// KnownSecrets are the contents of secrets that a unit may have read or written: all revisions of
// its own and of its application's, and of others the one that it reads and the latest, also if it
// may not read them any more. What can't be opened isn't among them.
func (m *Model) KnownSecrets(ctx context.Context, unit model.UnitName) (known []model.SecretContent, err error) {
	_, err = m.view(ctx, func(r docs) error {
		known = nil
		u, err := r.unit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		own, err := r.secretsOf(u, true)
		if err != nil {
			return errors.Trace(err)
		}
		for _, s := range own {
			var revisions []int
			for _, rev := range s.Revisions {
				revisions = append(revisions, rev.Revision)
			}
			if known, err = r.addContents(known, s.ID, revisions); err != nil {
				return errors.Trace(err)
			}
		}
		read, err := r.secretsOnceRead(u)
		if err != nil {
			return errors.Trace(err)
		}
		for _, s := range read {
			if slices.ContainsFunc(own, func(o model.SecretInfo) bool { return o.ID == s.ID }) {
				continue
			}
			var c consumerDoc
			if _, err := r.find(secretsReadBy(u.ID)+string(s.ID), &c); err != nil {
				return errors.Trace(err)
			}
			if known, err = r.addContents(known, s.ID, slices.Compact([]int{c.Revision, s.Latest().Revision})); err != nil {
				return errors.Trace(err)
			}
		}
		return nil
	})
	return known, errors.Trace(err)
}

// addContents adds what can be opened of the revisions of a secret that are there.
func (d docs) addContents(to []model.SecretContent, id model.SecretID, revisions []int) ([]model.SecretContent, error) {
	for _, rev := range revisions {
		content, err := d.secretContent(id, rev)
		switch {
		case errors.Is(err, errors.NotFound), errors.Is(err, ErrSealed):
			continue
		case err != nil:
			return nil, errors.Trace(err)
		}
		to = append(to, content)
	}
	return to, nil
}
