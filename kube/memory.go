package kube

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Memory is Objects in the memory of one process, for tests. The zero value is
// an empty one.
type Memory struct {
	mu       sync.Mutex
	rev      int64
	model    Model
	records  map[string]Record
	watchers map[chan int64]bool
}

// SetModel says what the model is now.
func (m *Memory) SetModel(model Model) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.model = model
	m.changed()
}

// View implements Objects.
func (m *Memory) View(ctx context.Context) (View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return View{m.rev, m.model, slices.Collect(maps.Values(m.records))}, ctx.Err()
}

// Put implements Objects.
func (m *Memory) Put(ctx context.Context, rec Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records[rec.Key].Rev != rec.Rev {
		return ErrConflict
	}
	if len(rec.Value) > 1<<20 {
		return ErrTooLarge
	}
	m.changed()
	if rec.Value == nil {
		delete(m.records, rec.Key)
		return ctx.Err()
	}
	if m.records == nil {
		m.records = map[string]Record{}
	}
	rec.Rev = m.rev
	m.records[rec.Key] = rec
	return ctx.Err()
}

// Watch implements Objects.
func (m *Memory) Watch(ctx context.Context, from int64) (<-chan int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := make(chan int64, 1)
	if m.watchers == nil {
		m.watchers = map[chan int64]bool{}
	}
	m.watchers[c] = true
	if from != 0 && from < m.rev {
		c <- m.rev
	}
	context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watchers, c)
		close(c)
	})
	return c, nil
}

// changed counts a revision and tells of it; a watcher that hasn't read the last
// one yet will look again anyway.
func (m *Memory) changed() {
	m.rev++
	for c := range m.watchers {
		select {
		case c <- m.rev:
		default:
		}
	}
}
