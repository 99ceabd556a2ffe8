package state

import (
	"context"
	"fmt"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// RegisterPayload notes a payload of the unit, in the place of one of the same
// class and id.
func (m *Model) RegisterPayload(ctx context.Context, unit model.UnitName, p model.Payload) error {
	return m.changePayloads(ctx, unit, func(there []model.Payload) ([]model.Payload, error) {
		return append(without(there, p.Class, p.ID), p), nil
	})
}

// UnregisterPayload forgets a payload of the unit; it need not be there.
func (m *Model) UnregisterPayload(ctx context.Context, unit model.UnitName, class, id string) error {
	return m.changePayloads(ctx, unit, func(there []model.Payload) ([]model.Payload, error) {
		return without(there, class, id), nil
	})
}

// SetPayloadStatus changes the status of a payload; errors.NotFound without it.
func (m *Model) SetPayloadStatus(ctx context.Context, unit model.UnitName, class, id, status string) error {
	return m.changePayloads(ctx, unit, func(there []model.Payload) ([]model.Payload, error) {
		for i, p := range there {
			if p.Class == class && p.ID == id {
				there[i].Status = status
				return there, nil
			}
		}
		return nil, errors.NewNotFound(nil, fmt.Sprintf("payload %q not found", class+"/"+id))
	})
}

func without(there []model.Payload, class, id string) []model.Payload {
	return slices.DeleteFunc(there, func(p model.Payload) bool { return p.Class == class && p.ID == id })
}

func (m *Model) changePayloads(ctx context.Context, unit model.UnitName, change func([]model.Payload) ([]model.Payload, error)) error {
	_, err := m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		if u.Payloads, err = change(u.Payloads); err != nil {
			return err
		}
		return tx.put(unitKey(unit), u)
	})
	return errors.Trace(err)
}
