package state_test

import (
	"maps"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

// TestWordsOnApplicationsAndMachines: they are laid over those that were there, and an empty
// one takes one away.
func TestWordsOnApplicationsAndMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 1)
	w.ok(w.AnnotateApplication(w.ctx, "mysql", map[string]string{"x": "1", "y": "2"}))
	w.ok(w.AnnotateApplication(w.ctx, "mysql", map[string]string{"x": "", "z": "3", "none": ""}))
	w.ok(w.AnnotateMachine(w.ctx, "0", map[string]string{"rack": "a"}))
	app, err := w.Application(w.ctx, "mysql")
	w.ok(err)
	machine, err := w.Machine(w.ctx, "0")
	w.ok(err)
	if !maps.Equal(app.Annotations, map[string]string{"y": "2", "z": "3"}) || !maps.Equal(machine.Annotations, map[string]string{"rack": "a"}) {
		t.Errorf("annotations are %v and %v", app.Annotations, machine.Annotations)
	}
	if err := w.AnnotateMachine(w.ctx, "7", nil); !errors.Is(err, errors.NotFound) {
		t.Errorf("of a machine that there isn't: %v", err)
	}
}

// TestEndpointsAreExposedUntilTheApplicationIsnt: an endpoint that the charm doesn't have is
// refused.
func TestEndpointsAreExposedUntilTheApplicationIsnt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 0)
	if err := w.ExposeEndpoints(w.ctx, "mysql", map[string]state.ExposedTo{"nosuch": {}}); !errors.Is(err, errors.NotFound) {
		t.Errorf("an endpoint that there isn't: %v", err)
	}
	w.ok(w.ExposeEndpoints(w.ctx, "mysql", map[string]state.ExposedTo{"": {}, "juju-info": {CIDRs: []string{"10.0.0.0/8"}}}))
	app, err := w.Application(w.ctx, "mysql")
	w.ok(err)
	if !app.Exposed || len(app.ExposedEndpoints) != 2 {
		t.Errorf("exposed %v by %v", app.Exposed, app.ExposedEndpoints)
	}
	w.ok(w.SetExposed(w.ctx, "mysql", false))
	if app, err = w.Application(w.ctx, "mysql"); err != nil || app.Exposed || len(app.ExposedEndpoints) != 0 {
		t.Errorf("then %v by %v, %v", app.Exposed, app.ExposedEndpoints, err)
	}
}
