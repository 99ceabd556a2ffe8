package state_test

import (
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// A store of a former format isn't taken over while agents work on it.
func TestFormerAgentsAreThoseThatAreThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 2)
	ask := func() string {
		said := ""
		_, err := w.store.View(w.ctx, func(r store.Reader) error {
			if err := state.FormerAgents(r); err != nil {
				said = err.Error()
			}
			return nil
		})
		w.ok(err)
		return said
	}
	joined := func(own bool) string {
		said := ""
		_, err := w.store.View(w.ctx, func(r store.Reader) error {
			if err := state.FormerMachines(r, func(uuid, machine string) bool { return own && uuid == w.UUID() && machine == "2" }); err != nil {
				said = err.Error()
			}
			return nil
		})
		w.ok(err)
		return said
	}
	w.is("nobody is there", ask(), "")
	lease, err := w.store.Grant(w.ctx, time.Hour)
	w.ok(err)
	_, err = w.Manage(w.ctx, state.ManagerDoc{Agent: "a", Run: "1"}, lease, state.Stay)
	w.ok(err)
	if said := ask(); !strings.Contains(said, "the manager of model") {
		t.Errorf("with a manager: %q", said)
	}
	w.ok(w.Appear(w.ctx, lease, state.MachineDoc{ID: "1"}))
	if said := ask(); !strings.Contains(said, "(machine 1 of model ") || !strings.Contains(said, "unitd shutdown") {
		t.Errorf("with a machine: %q", said)
	}
	w.is("of those that have joined nobody is there", joined(false), "")
	id, token := w.addMachine()
	w.ok(w.join(token, "b"))
	w.ok(w.Appear(w.ctx, lease, state.MachineDoc{ID: id}))
	if said := joined(false); !strings.Contains(said, "(machine 2 of model ") {
		t.Errorf("with one that has joined: %q", said)
	}
	w.is("the caller's own", joined(true), "")
	w.ok(w.store.Revoke(w.ctx, lease))
	w.is("those that have joined have ended", joined(false), "")
	w.is("they have ended", ask(), "")
}
