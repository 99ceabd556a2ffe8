package machine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// TestAFailureThatTheStoreDidNotTakeIsToldLater, once it takes it, and nothing is
// called settled before.
func TestAFailureThatTheStoreDidNotTakeIsToldLater(t *testing.T) {
	t.Parallel()
	var s *faultyStore
	refused := make(chan struct{}, 100)
	w := newWorldWith(t, func(c *machine.Config) {
		c.At = func(_ context.Context, p machine.Point) error {
			if p.Name == machine.PointEnded && p.Hook.Kind == hooks.ConfigChanged {
				s.set(func() {
					s.update = func(context.Context) error {
						refused <- struct{}{}
						return errUnreachable
					}
				})
			}
			return nil
		}
	})
	s = w.withFaults()
	w.noRetries()
	w.deploy("app", w.charm(plain, `[ "$JUJU_HOOK_NAME" != config-changed ] || exit 3`), 1)
	for range 4 {
		<-refused
	}
	rev, err := w.model.AskSettled(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := w.model.Settled(w.ctx, rev); done || err != nil {
		t.Errorf("settled: %v, %v", done, err)
	}
	s.set(func() { s.update = nil })
	w.settle()
	st, err := w.model.Status(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	unit := st.Applications[0].Units[0]
	if unit.Workload.Status != model.StatusError || unit.Workload.Message != `hook failed: "config-changed"` || unit.Failed == 0 {
		t.Errorf("it is %+v", unit)
	}
	if got, err := w.model.Failure(w.ctx, "app/0"); err != nil || got.Remembered == nil {
		t.Errorf("of its failure is known: %+v, %v", got, err)
	}
}

// TestHostAFullEtcdHidesNoFailure: what it doesn't take any more is had from the agent
// itself, and told once its alarm is disarmed.
func TestHostAFullEtcdHidesNoFailure(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t, "--quota-backend-bytes", "4194304", "--auto-compaction-mode", "revision", "--auto-compaction-retention", "1")
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fill := func(ctx context.Context) error {
		for {
			_, err := c.Put(ctx, "ballast", strings.Repeat("x", 1<<20))
			if errors.Is(err, rpctypes.ErrNoSpace) {
				break
			}
			if err != nil {
				t.Errorf("etcd can't be filled: %v", err)
				return err
			}
			time.Sleep(20 * time.Millisecond) // it counts its size only every second or two
		}
		for { // until then it takes what is small
			if l, err := c.AlarmList(ctx); err != nil || len(l.Alarms) > 0 {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	w := newWorldOn(t, t.TempDir(), etcdtest.OpenURL(t, "etcd://"+server.Endpoint+"/full"), func(c *machine.Config) {
		c.At = func(ctx context.Context, p machine.Point) error {
			if p.Name == machine.PointEnded && p.Hook.Kind == hooks.ConfigChanged {
				return fill(ctx)
			}
			return nil
		}
	})
	w.noRetries()
	w.deploy("app", w.charm(plain, `[ "$JUJU_HOOK_NAME" != config-changed ] || exit 3`), 1)
	for !t.Failed() {
		said, err := machine.Ask(t.Context(), w.dir)
		if err != nil {
			t.Fatal(err)
		}
		s, err := w.model.Status(w.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if said.See(s); strings.Contains(said.Trouble, "is full: compact and defragment it") && s.Applications[0].Units[0].Workload.Status == model.StatusError {
			if agent := s.Applications[0].Units[0].Agent; agent.Status != model.StatusFailed || !strings.Contains(agent.Message, "the store can't be written to: etcd at ") {
				t.Errorf("its agent is %+v", agent)
			}
			if s.Applications[0].Status.Status != model.StatusError || said.Told(w.model.UUID()) {
				t.Errorf("it says %+v, %v", s.Applications[0].Status, said)
			}
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	ok := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.Delete(w.ctx, "ballast")
	ok(got, err)
	ok(c.Compact(w.ctx, got.Header.Revision))
	ok(c.Defragment(w.ctx, server.Endpoint))
	ok(c.AlarmDisarm(w.ctx, &clientv3.AlarmMember{}))
	w.settle()
	w.until("the failure is told", func(s *state.FullStatus) bool {
		return s.Applications[0].Units[0].Workload.Status == model.StatusError
	})
	if said, err := machine.Ask(t.Context(), w.dir); err != nil || said.Trouble != "" || !said.Told(w.model.UUID()) {
		t.Errorf("the agent still says %+v, %v", said, err)
	}
}
