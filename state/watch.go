package state

import (
	"context"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// Change says what a batch of commits has touched, so that only those look
// again whom it concerns. It never says what changed: read that.
type Change struct {
	Rev int64
	// Units whose own documents, or what they have to do, changed, Applications whose documents,
	// configuration or leadership did, Relations with their scopes and
	// settings, Machines.
	Units        map[model.UnitName]bool
	Applications map[string]bool
	Relations    map[model.RelationID]bool
	Machines     map[string]bool
	// Secrets: there may be something new for those who own or read secrets.
	Secrets bool
	// Model: its configuration changed.
	Model bool
	// Status: nothing but statuses, what tasks say of themselves, and marks that
	// all is settled, changed.
	Status bool
	// Storage: instances, or what is attached where, changed.
	Storage bool
	// Cleanups: there may be work for RunCleanups.
	Cleanups bool
	// Resync: anything may have changed.
	Resync bool
}

// Watch tells of what changes in the model after revision from (0: from now)
// until ctx ends; then the channel is closed.
func (m *Model) Watch(ctx context.Context, from int64) (<-chan Change, error) {
	batches, err := m.store.Watch(ctx, m.prefix(), from)
	if err != nil {
		return nil, errors.Trace(err)
	}
	out := make(chan Change)
	go func() {
		defer close(out)
		for b := range batches {
			select {
			case out <- m.change(b):
			case <-ctx.Done():
				for range batches { // until the store closes it
				}
				return
			}
		}
	}()
	return out, nil
}

func (m *Model) change(b store.Batch) Change {
	c := Change{
		Rev: b.Rev, Resync: b.Resync, Status: !b.Resync,
		Units: map[model.UnitName]bool{}, Applications: map[string]bool{},
		Relations: map[model.RelationID]bool{}, Machines: map[string]bool{},
	}
	for _, e := range b.Events {
		kind, rest := splitKey(strings.TrimPrefix(e.Key, m.prefix()))
		switch kind {
		case settledKey, markKey, "status", "status-history", "task":
		default:
			c.Status = false
		}
		switch kind {
		case "unit":
			c.Units[model.UnitName(rest)] = true
		case "task-of":
			if words := strings.SplitN(rest, "/", 3); len(words) == 3 {
				c.Units[model.UnitName(words[0]+"/"+words[1])] = true
			}
		case "app", "config", "leader", "leader-settings":
			c.Applications[rest] = true
		case "relation-of":
			app, _, _ := strings.Cut(rest, "/")
			c.Applications[app] = true
		case "relation", "scope", "settings":
			id, _, _ := strings.Cut(rest, "/")
			if n, err := strconv.Atoi(id); err == nil {
				c.Relations[model.RelationID(n)] = true
			}
		case "secret", "secret-reader":
			c.Secrets = true
		case "storage":
			c.Storage = true
		case "attachment":
			c.Storage = true
			if app, rest := splitKey(rest); rest != "" {
				number, _ := splitKey(rest)
				c.Units[model.UnitName(app+"/"+number)] = true
			}
		case "machine":
			c.Machines[rest] = true
		case modelConfigKey:
			c.Model = true
		case "cleanup":
			c.Cleanups = true
		}
	}
	return c
}

const (
	settledKey = "settled"
	markKey    = "mark"
	askKey     = "ask-settled"
)

// settledDoc says up to which revision the model's agent has done all there was.
type settledDoc struct {
	Rev int64 `json:"rev"`
}

// Mark writes something that nobody reads and returns its revision: once a
// watch has come to it, all that was written before has come too.
func (m *Model) Mark(ctx context.Context) (int64, error) {
	rev, err := m.update(ctx, func(tx *txn) error { return tx.put(markKey, tx.now()) }, store.Relaxed)
	return rev, errors.Trace(err)
}

// SetSettled says that all that the model asked for up to a revision is done,
// or waits for a person. It returns the revision at which that is said.
func (m *Model) SetSettled(ctx context.Context, rev int64) (int64, error) {
	at, err := m.update(ctx, func(tx *txn) error { return tx.put(settledKey, settledDoc{rev}) }, store.Relaxed)
	return at, errors.Trace(err)
}

// Rev is the newest revision of the store: with it there is nothing that Watch
// has still to tell of.
func (m *Model) Rev(ctx context.Context) (int64, error) {
	rev, err := m.view(ctx, func(docs) error { return nil })
	return rev, errors.Trace(err)
}

// AskSettled asks the agent to say anew when all is settled. It returns the
// revision that Settled is to be asked about.
func (m *Model) AskSettled(ctx context.Context) (int64, error) {
	rev, err := m.update(ctx, func(tx *txn) error { return tx.put(askKey, tx.now()) }, store.Relaxed)
	return rev, errors.Trace(err)
}

// Settled says whether all up to rev, which AskSettled gave, is settled.
func (m *Model) Settled(ctx context.Context, rev int64) (bool, error) {
	var doc settledDoc
	_, err := m.view(ctx, func(r docs) error {
		_, err := r.find(settledKey, &doc)
		return errors.Trace(err)
	})
	return doc.Rev >= rev, errors.Trace(err)
}
