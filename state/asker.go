package state

import (
	"context"
	"encoding/json"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// Asker is a store whose owner asks agents for who uses it. So somebody who may only read the
// documents gets what agents alone have.
type Asker interface {
	store.Store
	// AskAgent is Ask of the model with that UUID.
	AskAgent(ctx context.Context, model, machine string, body json.RawMessage) (json.RawMessage, error)
	// AskSettled is AskSettled of that model.
	AskSettled(ctx context.Context, model string) (rev int64, err error)
}

// asker is the model's store, if its owner asks.
func (m *Model) asker() (Asker, bool) {
	s := m.store
	if c, ok := s.(checked); ok {
		s = c.Store
	}
	a, ok := s.(Asker)
	return a, ok
}

// ByUUID opens the model with that UUID; NotFound if there is none.
func (c *Controller) ByUUID(ctx context.Context, uuid string) (*Model, error) {
	infos, err := c.Models(ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, info := range infos {
		if info.UUID == uuid {
			return c.open(info), nil
		}
	}
	return nil, errors.NotFoundf("model with the UUID %q", uuid)
}
