package agent

import (
	"log/slog"
	"testing"

	"github.com/unitd/unitd/machine"
)

// TestNobodyMeasuresUnlessAsked: then there is nothing between the agent and its store, and nothing that
// hooks are told to. It is why what isn't asked for costs nothing.
func TestNobodyMeasuresUnlessAsked(t *testing.T) {
	t.Setenv(otlpVariable, "")
	var h Host
	m, err := h.Measure(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.End()
	log := slog.New(slog.DiscardHandler)
	c := machine.Config{Log: log}
	if err := m.Attach(&c, false); err != nil {
		t.Fatal(err)
	}
	if h.between != nil || c.Tracer != nil || c.Observer != nil || c.Ready != nil || c.Log != log {
		t.Errorf("something measures: %+v", c)
	}
}
