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
	// Units whose own documents changed, Applications whose documents,
	// configuration or leadership did, Relations with their scopes and
	// settings, Machines.
	Units        map[model.UnitName]bool
	Applications map[string]bool
	Relations    map[model.RelationID]bool
	Machines     map[string]bool
	// Model: its configuration changed.
	Model bool
	// Status: nothing but statuses changed.
	Status bool
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
		if kind != "status" && kind != "status-history" {
			c.Status = false
		}
		switch kind {
		case "unit":
			c.Units[model.UnitName(rest)] = true
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
