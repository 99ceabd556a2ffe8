package state

import (
	"context"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// Change says what a batch of commits has touched, so that only those look
// again whom it concerns. It never says what changed: read that.
type Change struct {
	Rev int64
	// Units whose own documents, pods, or what they have to do, changed, Applications whose documents,
	// configuration or leadership did, Relations with their scopes and
	// settings, Machines with their tasks. Of a unit that has left a scope it is its
	// own as well: it needn't have been its agent that had it leave.
	Units        map[model.UnitName]bool
	Applications map[string]bool
	Relations    map[model.RelationID]*Touched
	Machines     map[string]bool
	// Secrets: there may be something new for those who own or read secrets.
	Secrets bool
	// Model: its configuration changed.
	Model bool
	// Manager: another agent manages it, perhaps, or the same one anew.
	Manager bool
	// Status: nothing but statuses, what tasks say of themselves, and marks that
	// all is settled, changed.
	Status bool
	// Storage: instances, or what is attached where, changed.
	Storage bool
	// Objects: what the Kubernetes API shows changed, and it isn't said by the others.
	Objects bool
	// Cleanups: there may be work for RunCleanups.
	Cleanups bool
	// Asked are the machines, and ManagingHost, whose agents are asked something. Asking:
	// nothing changed but what agents are asked, and put there to be seen.
	Asked  map[string]bool
	Asking bool
	// Tunnels: what hosts are for the isolated units of others changed.
	Tunnels bool
	// Consumed: what the model has consumed of others changed.
	Consumed bool
	// Keys: agents wish for keys for secrets, or were given some.
	Keys bool
	// Resync: anything may have changed.
	Resync bool
}

// Watch tells of what changes in the model after revision from (0: from now)
// until ctx ends; then the channel is closed.
func (m *Model) Watch(ctx context.Context, from int64) (<-chan Change, error) {
	changes, err := m.WatchOf(ctx, []store.Keys{store.Below(m.prefix())}, from)
	return changes, errors.Trace(err)
}

// WatchOf is Watch of these keys alone, which are those of Concerning or some of the
// model's.
func (m *Model) WatchOf(ctx context.Context, of []store.Keys, from int64) (<-chan Change, error) {
	batches, err := m.store.Watch(ctx, of, from)
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
		Rev: b.Rev, Resync: b.Resync, Status: !b.Resync, Asking: !b.Resync && len(b.Events) > 0,
		Units: map[model.UnitName]bool{}, Applications: map[string]bool{},
		Relations: map[model.RelationID]*Touched{}, Machines: map[string]bool{},
		Asked: map[string]bool{},
	}
	for _, e := range b.Events {
		kind, rest := splitKey(strings.TrimPrefix(e.Key, m.prefix()))
		c.Status, c.Asking = c.Status && tellsOnly(kind), c.Asking && asks(kind)
		switch kind {
		case "unit", "pod":
			c.Units[model.UnitName(rest)] = true
		case "task-of":
			if words := strings.SplitN(rest, "/", 3); len(words) == 3 {
				c.Units[model.UnitName(words[0]+"/"+words[1])] = true
			}
		case "task-on":
			id, _ := splitKey(rest)
			c.Machines[id] = true
		case "app", "config", "leader", "leader-settings":
			c.Applications[rest] = true
		case "relation-of":
			app, _, _ := strings.Cut(rest, "/")
			c.Applications[app] = true
		case "relation", "scope", "settings":
			c.touched(kind, rest)
		case "scope-of":
			if words := strings.SplitN(rest, "/", 3); len(words) == 3 && e.Deleted {
				c.Units[model.UnitName(words[0]+"/"+words[1])] = true
			}
		case "secret", "secret-reader", "secret-news":
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
		case questionKind:
			machine, _ := splitKey(rest)
			c.Asked[machine] = c.Asked[machine] || !e.Deleted
		case keyWishKind, keyGiftKind:
			c.Keys = true
		case tunnelKind:
			c.Tunnels = true
		case "saas", "external":
			c.Consumed = true
		case managerKey:
			c.Manager = true
		case "cleanup":
			c.Cleanups = true
		case objectKind, "service":
			c.Objects = true
		}
	}
	return c
}

// tellsOnly says whether documents of that kind only tell what was done: nobody
// has anything to do because of them.
func tellsOnly(kind string) bool {
	switch kind {
	case settledKey, markKey, managerKey, modelConstraintsKey, sshKeysKey, "status", "status-history", "task", "service", objectKind, "containers", questionKind, answerKind, newestKind, tracedKey, loggedKind, loggedNextKey, sealingKey, keyWishKind, keyGiftKind:
		return true
	}
	return false
}

// markOf is the mark of the agent of a machine of ManualProvider.
func markOf(machine string) string { return markKey + "/" + machine }

const (
	settledKey = "settled"
	markKey    = "mark"
	askKey     = "ask-settled"
	objectKind = "object"
)

// Mark writes something that nobody reads and returns its revision: once a
// watch has come to it, all that was written before has come too. machine is that of
// an agent that has joined, else empty: marks of others needn't be told.
func (m *Model) Mark(ctx context.Context, machine string) (int64, error) {
	key := markKey
	if machine != "" {
		key = markOf(machine)
	}
	rev, err := m.update(ctx, func(tx *txn) error { return tx.put(key, tx.now()) }, store.Relaxed)
	return rev, errors.Trace(err)
}

// Rev is the newest revision of the store: with it there is nothing that Watch
// has still to tell of.
func (m *Model) Rev(ctx context.Context) (int64, error) {
	rev, err := m.view(ctx, func(docs) error { return nil })
	return rev, errors.Trace(err)
}
