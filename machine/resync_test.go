package machine_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// bell is a clock that says when the agent waits for the time of its next look
// at everything.
type bell struct {
	*lab.Clock
	armed chan struct{}
}

// rounds is machine.Config.Rounds.
func (b bell) rounds(_ context.Context, d time.Duration) <-chan func() {
	due := make(chan func(), 1)
	b.AfterFunc(d, func() { due <- func() {} })
	if d == machine.ResyncInterval {
		b.armed <- struct{}{}
	}
	return due
}

// TestAModelInWhichNothingHappensIsLeftAlone: it isn't looked at all over, for
// then the agent would write anew that all is settled.
func TestAModelInWhichNothingHappensIsLeftAlone(t *testing.T) {
	t.Parallel()
	clock := bell{lab.NewClock(time.Now()), make(chan struct{}, 100)}
	w := newWorldWith(t, func(c *machine.Config) {
		c.Clock, c.Rounds = clock, clock.rounds
		// Leases are kept by another clock.
		c.Controller = state.NewController(c.Controller.Store(), clock)
	})
	if err := w.model.SetModelConfig(w.ctx, map[string]string{state.UpdateStatusInterval: "0"}, nil); err != nil {
		t.Fatal(err)
	}
	w.deploy("app", w.charm(plain, "true\n"), 2)
	w.settle()
	<-clock.armed
	pass := func() int64 {
		clock.Set(clock.Now().Add(machine.ResyncInterval))
		<-clock.armed
		var rev int64
		if _, err := w.controller.Store().View(w.ctx, func(r store.Reader) error { rev = r.Rev(); return nil }); err != nil {
			t.Fatal(err)
		}
		return rev
	}
	before := pass()
	for range 3 {
		if after := pass(); after != before {
			t.Errorf("the model went from revision %d to %d", before, after)
		}
	}
	w.wantHooks("app/0", boot...)
}

// muffled is a store of which a watch loses the next batch that has a key with
// that end.
type muffled struct {
	store.Store
	lose atomic.Pointer[string]
	lost chan struct{}
}

// Watch is part of store.Store.
func (m *muffled) Watch(ctx context.Context, of []store.Keys, from int64) (<-chan store.Batch, error) {
	in, err := m.Store.Watch(ctx, of, from)
	if err != nil {
		return nil, err
	}
	out := make(chan store.Batch)
	go func() {
		defer close(out)
		for b := range in {
			end := m.lose.Load()
			if end != nil && slices.ContainsFunc(b.Events, func(e store.Event) bool { return strings.HasSuffix(e.Key, *end) }) &&
				m.lose.CompareAndSwap(end, nil) {
				m.lost <- struct{}{}
				continue
			}
			select {
			case out <- b:
			case <-ctx.Done(): // in is closed then
			}
		}
	}()
	return out, nil
}

// TestALostNoticeIsMadeUpForThoughTheModelHasSettledSince: what it was about lies
// before the revision at which the agent says that nothing is left to do.
func TestALostNoticeIsMadeUpForThoughTheModelHasSettledSince(t *testing.T) {
	t.Parallel()
	clock := bell{lab.NewClock(time.Now()), make(chan struct{}, 100)}
	var store *muffled
	w := newWorldWith(t, func(c *machine.Config) {
		store = &muffled{Store: c.Controller.Store(), lost: make(chan struct{}, 1)}
		c.Clock, c.Rounds, c.Controller = clock, clock.rounds, state.NewController(store, clock)
	})
	if err := w.model.SetModelConfig(w.ctx, map[string]string{state.UpdateStatusInterval: "0"}, nil); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, body := range map[string]string{"metadata.yaml": plain, "config.yaml": "options: {n: {type: int}}", "dispatch": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.deploy("app", w.add(dir), 1)
	w.settle()
	<-clock.armed
	end := "/config/app"
	store.lose.Store(&end)
	if err := w.model.SetConfig(w.ctx, "app", map[string]string{"n": "2"}, nil); err != nil {
		t.Fatal(err)
	}
	<-store.lost
	w.settle()
	w.wantHooks("app/0", boot...)
	clock.Set(clock.Now().Add(machine.ResyncInterval))
	<-clock.armed
	w.settle()
	w.wantHooks("app/0", append(slices.Clone(boot), "config-changed")...)
}
