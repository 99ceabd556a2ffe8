package state

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// FailureDoc is what is known of the failed run that a unit is in error by.
type FailureDoc struct {
	Run int64 `json:"run"`
	// Remembered is all that the unit's agent remembers, in the agent's own
	// form; empty where that is too much.
	Remembered json.RawMessage `json:"remembered,omitempty"`
}

// SetFailed says which run has put the unit in error, and what its agent
// remembers; run 0: it is in error no more. Both change at once, so that nobody
// takes what is remembered for another run's.
func (m *Model) SetFailed(ctx context.Context, name model.UnitName, run int64, remembered json.RawMessage) error {
	_, err := m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(name)
		if err != nil {
			return errors.Trace(err)
		}
		if was := u.Failed; was != run {
			u.Failed = run
			if err := tx.put(unitKey(name), u); err != nil {
				return errors.Trace(err)
			}
		}
		if run == 0 {
			return tx.delete(failureKey(name))
		}
		var was FailureDoc
		if _, err := tx.find(failureKey(name), &was); err != nil {
			return errors.Trace(err)
		}
		if was.Run == run && bytes.Equal(was.Remembered, remembered) {
			return nil
		}
		return tx.put(failureKey(name), FailureDoc{Run: run, Remembered: remembered})
	}, store.Relaxed)
	return errors.Trace(err)
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
