package state

import (
	"context"
	"encoding/json"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
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

// PutNewest puts it there, in place of what was there. The agent is that of a machine, and is
// named as it has joined, or of ManagingHost. The error is NotFound where the model, or the
// machine with that agent, isn't there any more, and store.ErrTooLarge for what is longer than a
// document can be.
func (m *Model) PutNewest(ctx context.Context, machine, agent string, body json.RawMessage) error {
	_, err := m.update(ctx, func(tx *txn) error {
		if machine != ManagingHost {
			if doc, err := tx.machine(machine); err != nil || doc.Agent != agent || doc.Life == model.Dead {
				return errors.NewNotFound(err, "machine "+machine+" with its agent")
			}
		} else if _, err := tx.Get(modelsPrefix + m.Name()); err != nil {
			return errors.Trace(err)
		}
		return tx.put(newestKey(machine), Newest{tx.now(), body})
	}, store.Relaxed)
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

// Joined is how many hosts have joined the model, which needn't be there now.
func (m *Model) Joined(ctx context.Context) (n int, err error) {
	_, err = m.view(ctx, func(r docs) error {
		hosts, err := r.joined()
		n = len(hosts)
		return errors.Trace(err)
	})
	return n, errors.Trace(err)
}

// asks says whether a document is about what agents are asked, or put there to be seen.
func asks(kind string) bool {
	return kind == questionKind || kind == answerKind || kind == newestKind
}
