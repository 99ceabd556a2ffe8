package state

import (
	"context"
	"maps"

	"github.com/juju/errors"
)

// GrantOffer notes what a user may do with an offer, as there is one user; an empty access
// takes all back. The error is NotFound where there is no such offer. Source:
// docs/spec/juju-clients.md §11.2, §13.1.
func (m *Model) GrantOffer(ctx context.Context, name, user, access string) error {
	_, err := m.update(ctx, func(tx *txn) error {
		o, err := tx.offer(name)
		if err != nil {
			return errors.Trace(err)
		}
		o.Access = annotated(maps.Clone(o.Access), map[string]string{user: access})
		return tx.put(offerKey(name), o)
	})
	return errors.Trace(err)
}
