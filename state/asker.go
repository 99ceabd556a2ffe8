package state

import (
	"context"
	"encoding/json"

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

// AskedByOwner says whether the owner of the store asks agents for whoever uses the model, with
// bounds on how many questions there are at a time.
func (m *Model) AskedByOwner() bool {
	_, is := m.asker()
	return is
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
