package machine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/juju/clock"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// faultyStore is a store that fails when told to.
type faultyStore struct {
	store.Store
	mu sync.Mutex
	// view and update are called before each of them, written after an Update
	// that has succeeded; nil: nothing is wrong.
	view, update func(context.Context) error
	written      func() error
}

func (s *faultyStore) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *faultyStore) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	s.mu.Lock()
	fault := s.view
	s.mu.Unlock()
	if fault != nil {
		if err := fault(ctx); err != nil {
			return 0, err
		}
	}
	return s.Store.View(ctx, fn)
}

func (s *faultyStore) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	s.mu.Lock()
	fault, written := s.update, s.written
	s.mu.Unlock()
	if fault != nil {
		if err := fault(ctx); err != nil {
			return 0, err
		}
	}
	rev, err := s.Store.Update(ctx, fn, opts...)
	if err == nil && written != nil {
		err = written()
	}
	return rev, err
}

// withFaults has the world's agent run on a store that can fail; the test
// itself has the one that can't.
func (w *world) withFaults() *faultyStore {
	w.t.Helper()
	w.stop()
	s := &faultyStore{Store: w.controller.Store()}
	w.controller = state.NewController(s, clock.WallClock)
	w.restart()
	return s
}

var errUnreachable = errors.New("the store is out of reach")

// TestAnOrderlyStopFailsNoHook that was announced and hadn't started.
func TestAnOrderlyStopFailsNoHook(t *testing.T) {
	t.Parallel()
	var w *world
	stopped := make(chan struct{})
	w = newWorldWith(t, func(c *machine.Config) {
		c.At = func(ctx context.Context, p machine.Point) error {
			if p.Name != machine.PointHook || p.Hook.Kind != hooks.Start {
				return nil
			}
			select {
			case <-stopped: // it is the second time
			default:
				go func() { w.stop(); close(stopped) }()
				<-ctx.Done()
			}
			return nil
		}
	})
	w.noRetries()
	w.deploy("app", w.charm(plain, "true\n"), 1)
	<-stopped
	w.restart()
	w.settle()
	w.wantHooks("app/0", "install", "leader-elected", "config-changed", "start stopped", "start")
}

// noRetries has failed hooks wait for a person.
func (w *world) noRetries() {
	w.t.Helper()
	if err := w.model.SetModelConfig(w.ctx, map[string]string{state.RetryHooks: "false"}, nil); err != nil {
		w.t.Fatal(err)
	}
}

// TestAStopWhileTheModelCannotBeReached comes as a hook has succeeded: it is
// committed or run again, but was not interrupted.
func TestAStopWhileTheModelCannotBeReached(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault func(*faultyStore)
		want  []string
	}{
		"nothing is written": {
			func(s *faultyStore) { s.update = func(context.Context) error { return errUnreachable } },
			[]string{"install", "leader-elected", "config-changed", "start stopped", "start"},
		},
		"it is written, and nobody knows": {
			func(s *faultyStore) { s.written = func() error { return errUnreachable } },
			[]string{"install", "leader-elected", "config-changed", "start"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *faultyStore
			var w *world
			stopped := make(chan struct{})
			w = newWorldWith(t, func(cfg *machine.Config) {
				cfg.At = func(ctx context.Context, p machine.Point) error {
					if p.Name != machine.PointCommit || p.Hook.Kind != hooks.Start {
						return nil
					}
					select {
					case <-stopped: // it is the second time
					default:
						s.set(func() { c.fault(s) })
						go func() { w.stop(); close(stopped) }()
						<-w.stopping
					}
					return nil
				}
			})
			s = w.withFaults()
			w.noRetries()
			w.deploy("app", w.charm(plain, "true\n"), 1)
			<-stopped
			s.set(func() { s.update, s.written = nil, nil })
			w.restart()
			w.settle()
			w.wantHooks("app/0", c.want...)
		})
	}
}

// TestAnExpiredLeaseEndsNoHook: a unit that is added before the agent has
// noticed gets its machine, and what runs runs on.
func TestAnExpiredLeaseEndsNoHook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	flag := filepath.Join(t.TempDir(), "flag")
	w.deploy("app", w.charm(plain, `
[ "$JUJU_HOOK_NAME" = start ] || exit 0
status-set active working
[ "$JUJU_UNIT_NAME" != app/0 ] || while [ ! -e `+flag+` ]; do sleep 0.01; done
`), 1)
	working := func(unit int) func(*state.FullStatus) bool {
		return func(s *state.FullStatus) bool {
			units := s.Applications[0].Units
			return len(units) > unit && units[unit].Workload.Message == "working"
		}
	}
	w.until("app/0 works", working(0))
	for id := store.LeaseID(4); id > 0; id-- { // not the one that is taken then
		if err := w.controller.Store().Revoke(w.ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.model.AddUnits(w.ctx, "app", 1); err != nil {
		t.Fatal(err)
	}
	w.until("app/1 works", working(1))
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.settle()
	for _, unit := range []model.UnitName{"app/0", "app/1"} {
		if got := w.hooks(unit); slices.Contains(got, "start stopped") {
			t.Errorf("%s ran %v", unit, got)
		}
	}
	log, err := os.ReadFile(machine.LogPath(w.dir, w.model.UUID()))
	if err != nil || strings.Contains(string(log), "cannot follow the model") {
		t.Errorf("it was taken as more than it is: %v\n%s", err, log)
	}
	w.until("one of them leads, and their machines are there", func(s *state.FullStatus) bool {
		leaders := 0
		for _, u := range s.Applications[0].Units {
			if u.Leader {
				leaders++
			}
		}
		return leaders == 1 && s.Machines[0].Present && s.Machines[1].Present
	})
}

// TestAModelThatCannotBeReadEndsNoHook: the agent looks again until it can.
func TestAModelThatCannotBeReadEndsNoHook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.withFaults()
	flag := filepath.Join(t.TempDir(), "flag")
	w.deploy("app", w.charm(plain, `
[ "$JUJU_HOOK_NAME" = start ] || exit 0
status-set active working
while [ ! -e `+flag+` ]; do sleep 0.01; done
`), 1)
	w.until("app/0 works", func(s *state.FullStatus) bool { return s.Applications[0].Units[0].Workload.Message == "working" })
	failed := make(chan struct{}, 3)
	s.set(func() {
		s.view = func(context.Context) error {
			select {
			case failed <- struct{}{}:
			default:
			}
			return errUnreachable
		}
	})
	w.deploy("other", w.charm("name: other\nsummary: s\n", "true\n"), 1)
	for range cap(failed) {
		<-failed
	}
	s.set(func() { s.view = nil })
	w.until("other/0 has started", func(*state.FullStatus) bool { return len(w.hooks("other/0")) == len(boot) })
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.wantHooks("app/0", boot...)
}

// TestAStoreThatSomebodyHoldsOnToKeepsNoAgent: a hook tool that waits for it is
// given up some time after the agent was told to stop.
func TestAStoreThatSomebodyHoldsOnToKeepsNoAgent(t *testing.T) {
	t.Parallel()
	held := make(chan struct{}, 100)
	var s *faultyStore
	var w *world
	w = newWorldWith(t, func(c *machine.Config) {
		c.At = func(_ context.Context, p machine.Point) error {
			if p.Name == machine.PointHook && p.Hook.Kind == hooks.Start {
				s.set(func() {
					s.update = func(ctx context.Context) error {
						held <- struct{}{}
						select {
						case <-ctx.Done():
						case <-w.ctx.Done():
						}
						return errUnreachable
					}
				})
			}
			return nil
		}
	})
	s = w.withFaults()
	w.deploy("app", w.charm(plain, `[ "$JUJU_HOOK_NAME" != start ] || status-set active working`), 1)
	<-held
	w.stop()
	if w.ctx.Err() != nil {
		t.Error("the agent didn't stop")
	}
}

// TestACleanupThatFailsIsDoneAgain, though nothing of the model changes meanwhile.
func TestACleanupThatFailsIsDoneAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.withFaults()
	w.deploy("app", w.charm(plain, "true\n"), 1)
	w.settle()
	failures := 0
	s.set(func() {
		s.update = func(context.Context) error {
			if caller() != "Model.RunCleanups" || failures == 2 {
				return nil
			}
			failures++
			return errUnreachable
		}
	})
	queue := "m/" + w.model.UUID() + "/cleanup/"
	_, err := s.Store.Update(w.ctx, func(tx store.Tx) error { return tx.Put(queue+"999999999", []byte(`{"prefix":"nothing/"}`)) })
	if err != nil {
		t.Fatal(err)
	}
	w.settle() // which doesn't wait for it
	w.until("the cleanup is done", func(*state.FullStatus) bool {
		left := 0
		_, err := s.Store.View(w.ctx, func(r store.Reader) error {
			all, err := r.List(queue)
			left = len(all)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return left == 0
	})
	tries := 0
	s.set(func() { tries = failures })
	if tries != 2 {
		t.Errorf("it was done after %d failures", tries)
	}
}
