package state

import (
	"context"
	"encoding/json"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// FailureDoc is what is known of the failed run that a unit is in error by.
type FailureDoc struct {
	Run int64 `json:"run"`
	// Remembered is all that the unit's agent remembers, in the agent's own
	// form; empty where that is too much.
	Remembered json.RawMessage `json:"remembered,omitempty"`
}

// Failure is what is known of the run that a unit is in error by. The error is
// NotValid for a unit that isn't in error, and AlreadyExists for one that is
// resolved: those of Resolve.
func (m *Model) Failure(ctx context.Context, name model.UnitName) (FailureDoc, error) {
	var doc FailureDoc
	_, err := m.view(ctx, func(r docs) error {
		doc = FailureDoc{}
		u, err := r.unit(name)
		if err != nil {
			return errors.Trace(err)
		}
		if err := u.resolvable(); err != nil {
			return err
		}
		_, err = r.find(failureKey(name), &doc)
		if doc.Run != u.Failed {
			doc = FailureDoc{Run: u.Failed}
		}
		return errors.Trace(err)
	})
	return doc, errors.Trace(err)
}
