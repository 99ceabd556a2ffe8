package machine_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

const works = `case "$JUJU_HOOK_NAME" in
start) is-leader && status-set active "works as $(config-get --format=json | tr -d ' \n')" && status-set --application active all;;
esac
`

// TestToolsWaitForAStoreThatFails, as commits do: what a hook tells or asks at once
// is tried again for as long as the store can't be written to or read.
func TestToolsWaitForAStoreThatFails(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*faultyStore, func(context.Context) error){
		"written": func(s *faultyStore, fault func(context.Context) error) { s.update = fault },
		"read":    func(s *faultyStore, fault func(context.Context) error) { s.view = fault },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *faultyStore
			w := newWorldWith(t, func(c *machine.Config) {
				c.At = func(_ context.Context, p machine.Point) error {
					if p.Name == machine.PointTool && p.Tool == "is-leader" {
						left := 6
						s.set(func() {
							fail(s, func(context.Context) error {
								s.mu.Lock()
								defer s.mu.Unlock()
								if left--; left < 0 {
									return nil
								}
								return errUnreachable
							})
						})
					}
					return nil
				}
			})
			s = w.withFaults()
			w.noRetries()
			w.deploy("app", w.charm(plain, works), 1)
			w.settle()
			w.wantHooks("app/0", boot...)
			w.worksIn(t)
		})
	}
}

// writesMuch needs many round trips to be committed.
const writesMuch = `case "$JUJU_HOOK_NAME" in
start)
	relation-set -r $(relation-ids ring) a=1; relation-set --app -r $(relation-ids ring) a=1
	open-port 80
	state-set a=1
	application-version-set 1
	status-set active done;;
esac
`

// TestHostACommitGetsThroughToASlowStore: by its many round trips it takes longer than
// the first try has, and is given more time; the hook hasn't failed, and people are told
// meanwhile what it waits for.
func TestHostACommitGetsThroughToASlowStore(t *testing.T) {
	t.Parallel()
	wire := etcdtest.NewWire(t, strings.TrimPrefix(etcdtest.Start(t).Endpoint, "http://"))
	committed := make(chan struct{})
	w := newWorldOn(t, t.TempDir(), etcdtest.OpenURL(t, "etcd://"+wire.Endpoint+"/slow"), func(c *machine.Config) {
		c.At = func(_ context.Context, p machine.Point) error {
			switch {
			case p.Hook.Kind != hooks.Start:
			case p.Name == machine.PointCommit:
				wire.Delay(1500 * time.Millisecond)
			case p.Name == machine.PointCommitted:
				wire.Delay(0)
				close(committed)
			}
			return nil
		}
	})
	w.noRetries()
	w.deploy("app", w.charm(plain+"peers: {ring: {interface: r}}\n", writesMuch), 1)
	said := ""
	for waits := true; waits; {
		word, err := machine.Ask(t.Context(), w.dir)
		if err != nil && !errors.Is(err, machine.ErrSilent) {
			t.Fatal(err)
		}
		said = cmp.Or(said, word.Trouble)
		select {
		case <-committed:
			waits = false
		case <-w.ctx.Done():
			t.Fatal("it doesn't get through")
		case <-time.After(100 * time.Millisecond):
		}
		if f, err := w.model.Failure(w.ctx, "app/0"); err == nil {
			t.Fatalf("the hook has failed: %s", f.Remembered)
		}
	}
	if !strings.Contains(said, "it doesn't answer in time") {
		t.Errorf("the agent says that the store is %q", said)
	}
	w.settle()
	w.wantHooks("app/0", "install", "ring-relation-created", "leader-elected", "config-changed", "start", "ring-relation-changed")
	if got := w.workload("app/0").Message; got != "done" {
		t.Errorf("the hook has set %q", got)
	}
}

func (w *world) worksIn(t *testing.T) {
	t.Helper()
	st, err := w.model.Status(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	app := st.Applications[0]
	if unit := app.Units[0]; unit.Workload.Status != model.StatusActive || unit.Workload.Message != "works as {}" || app.Status.Message != "all" {
		t.Errorf("it is %+v, its application %+v", unit.Workload, app.Status)
	}
}
