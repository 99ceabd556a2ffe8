package cli

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// TestNothingThatHasFailedCountsAsSettledWell: each kind of trouble is named, with its
// unit and what it is; a model without any has settled.
func TestNothingThatHasFailedCountsAsSettledWell(t *testing.T) {
	t.Parallel()
	well := state.UnitView{UnitDoc: state.UnitDoc{Name: "app/0"}}
	failed := func(f func(*state.UnitView)) state.UnitView {
		u := well
		f(&u)
		return u
	}
	for want, unit := range map[string]state.UnitView{
		"": well,
		`units in error: app/0: hook failed: "start"`: failed(func(u *state.UnitView) {
			u.Workload = model.Status{Status: model.StatusError, Message: `hook failed: "start"`}
		}),
		`units in error: app/0: hook failed: "start" (exit status 1: no such port)`: failed(func(u *state.UnitView) {
			u.Workload = model.Status{Status: model.StatusError, Message: `hook failed: "start"`, Data: map[string]any{"reason": "exit status 1: no such port"}}
		}),
		"units whose agents cannot work: app/0: the unit's machine has ended": failed(func(u *state.UnitView) {
			u.Agent = model.Status{Status: model.StatusFailed, Message: "the unit's machine has ended"}
		}),
		"containers that are not up: app/0: ": failed(func(u *state.UnitView) {
			u.Containers = state.ContainersDoc{Containers: []state.ContainerDoc{{Name: "web", State: state.ContainerWaiting, Fault: "it has ended"}}}
		}),
		"units that keep their former containers: app/0: until app/1 is ready": failed(func(u *state.UnitView) { u.After = "app/1" }),
		"hooks of containers that have failed: app/0: web-pebble-ready (exit status 1)": failed(func(u *state.UnitView) {
			u.Containers = state.ContainersDoc{Containers: []state.ContainerDoc{{
				Name: "web", State: state.ContainerRunning, Boot: "b", Failed: []state.FailedHook{{Hook: "web-pebble-ready", Reason: "exit status 1"}},
			}}}
		}),
		"hooks of containers that have failed in units that go: app/0: web-pebble-ready (exit status 1)": failed(func(u *state.UnitView) {
			u.Life = model.Dying
			u.Containers = state.ContainersDoc{Containers: []state.ContainerDoc{{
				Name: "web", State: state.ContainerRunning, Boot: "b", Failed: []state.FailedHook{{Hook: "web-pebble-ready", Reason: "exit status 1"}},
			}}}
		}),
	} {
		err := settledWith(&state.FullStatus{Applications: []state.ApplicationView{{Units: []state.UnitView{unit}}}}, false)
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), "settled with "+want)):
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
