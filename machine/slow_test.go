package machine_test

import (
	"context"
	"testing"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
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
