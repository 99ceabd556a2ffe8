package state

import (
	"context"
	"encoding/json"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// Newest is what a host's agent has put into the model of its newest runs and lines: what is
// left of them where it can't be asked any more. Body is JSON that the model doesn't look into.
type Newest struct {
	At   time.Time       `json:"at"`
	Body json.RawMessage `json:"body"`
}

const newestKind = "newest"

func newestKey(machine string) string { return newestKind + "/" + machine }

// PutNewest puts it there, in place of what was there. The agent is that of a machine, or of
// ManagingHost. The error is store.ErrTooLarge for what is longer than a document can be.
func (m *Model) PutNewest(ctx context.Context, machine string, body json.RawMessage) error {
	_, err := m.update(ctx, func(tx *txn) error { return tx.put(newestKey(machine), Newest{tx.now(), body}) }, store.Relaxed)
	return errors.Trace(err)
}

// Newest is what the agent of a machine, or of ManagingHost, has put there last; false: nothing.
func (m *Model) Newest(ctx context.Context, machine string) (n Newest, there bool, err error) {
	_, err = m.view(ctx, func(r docs) (err error) {
		n = Newest{}
		there, err = r.find(newestKey(machine), &n)
		return errors.Trace(err)
	})
	return n, there, errors.Trace(err)
}
