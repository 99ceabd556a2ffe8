package machine_test

import (
	"slices"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// TestAHookHasTheModelsProxyAsItIsNow and not as it was when the agent started.
func TestAHookHasTheModelsProxyAsItIsNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("app", w.charm(plain, `status-set active "proxy=${JUJU_CHARM_HTTP_PROXY-} no=${JUJU_CHARM_NO_PROXY-}"`), 1)
	w.settle()
	if got := w.workload("app/0").Message; got != "proxy= no=" {
		t.Errorf("without a proxy the hook has %q", got)
	}
	proxy := map[string]string{"juju-http-proxy": "http://p:1", "juju-no-proxy": "localhost"}
	if err := w.model.SetModelConfig(w.ctx, proxy, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.model.SetTrust(w.ctx, "app", true); err != nil { // config-changed
		t.Fatal(err)
	}
	w.settle()
	if got := w.workload("app/0").Message; got != "proxy=http://p:1 no=localhost" {
		t.Errorf("the hook has %q", got)
	}
}

// TestAPrincipalGoesOnWhileItsFormerSubordinateIsStuck: it can't enter the new
// relation before the old subordinate is gone, and does all else.
func TestAPrincipalGoesOnWhileItsFormerSubordinateIsStuck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.noRetries()
	w.deploy("app", w.charm(plain, "true\n"), 1)
	w.deploy("sub", w.charm("name: sub\nsummary: s\nsubordinate: true\nrequires: {info: {interface: juju-info, scope: container}}\n",
		`[ "$JUJU_HOOK_NAME" != stop ]`), 0)
	relate := func() {
		t.Helper()
		if _, err := w.model.AddRelation(w.ctx, "sub", "app"); err != nil {
			t.Fatal(err)
		}
	}
	subordinates := func(want ...model.UnitName) func(*state.FullStatus) bool {
		return func(s *state.FullStatus) bool {
			return slices.Equal(s.Applications[0].Units[0].Subordinates, want)
		}
	}
	relate()
	w.settle()
	if err := w.model.DestroyRelation(w.ctx, "sub", "app"); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if got := w.agent("sub/0"); got.Status != model.StatusError {
		t.Fatalf("the subordinate is %v", got)
	}
	relate()
	before := len(w.hooks("app/0"))
	if err := w.model.SetTrust(w.ctx, "app", true); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if got := w.hooks("app/0")[before:]; !slices.Equal(got, []string{"config-changed"}) {
		t.Errorf("the principal ran %v", got)
	}
	if got := w.agent("app/0"); got.Status != model.StatusIdle {
		t.Errorf("the principal is %v", got)
	}
	if err := w.model.Resolve(w.ctx, "sub/0", false); err != nil {
		t.Fatal(err)
	}
	w.until("it has a new subordinate", subordinates("sub/1"))
	w.settle()
	if got := w.hooks("sub/1"); !slices.Contains(got, "info-relation-joined(app/0)") {
		t.Errorf("the new subordinate ran %v", got)
	}
}

// agent is the status of a unit's agent.
func (w *world) agent(unit model.UnitName) model.Status {
	w.t.Helper()
	s, err := w.model.StatusOf(w.ctx, state.AgentStatus, string(unit))
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}
