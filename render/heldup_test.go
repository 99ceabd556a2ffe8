package render

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// TestAUnitsMessageSaysWhatHoldsItsAgentUp, beside what the charm has said and the hook
// that runs, or waits in its commit; below the table is the whole of it.
func TestAUnitsMessageSaysWhatHoldsItsAgentUp(t *testing.T) {
	t.Parallel()
	const why = "etcd at https://10.0.0.1:2379 is full: compact and defragment it, then disarm its alarm"
	const trouble = "the store can't be written to: " + why
	long := strings.Repeat("é", 70)
	for _, c := range []struct {
		name           string
		workload       string
		agent          model.Status
		store          string // what is wrong with it
		inTable, below string
	}{
		{"a hook runs, and all is well", "open", model.Status{Status: "executing", Message: "running db-relation-changed hook for db/0"}, "", "(db-relation-changed) open\n", ""},
		{"a hook runs", "open", model.Status{Status: "executing", Message: "running config-changed hook"}, why, "(config-changed) open; " + trouble[:94] + "...\n", trouble},
		{"an action runs", "", model.Status{Status: "executing", Message: "running action dump"}, "it is full", "(action dump); the store can't be written to: it is full\n", "the store can't be written to: it is full"},
		{"its containers are replaced", "open", model.Status{Status: "executing", Message: "replacing the unit's containers"}, "it is full", "open; the store can't be written to: it is full\n", "the store can't be written to: it is full"},
		{"nothing runs", "open", model.Status{Status: "idle"}, "it is full", "open; the store can't be written to: it is full\n", "the store can't be written to: it is full"},
		{"the charm has said nothing", "", model.Status{Status: "idle"}, "it is full", "  the store can't be written to: it is full\n", "the store can't be written to: it is full"},
		{"the charm has said much", long, model.Status{Status: "idle"}, "it is full", long[:2*57] + "...; the store can't be written to: it is full\n", "the store can't be written to: it is full"},
		{"something else is wrong", "open", model.Status{Status: "failed", Message: "waits to run start: the disk is full"}, "", "open; waits to run start: the disk is full\n", "waits to run start: the disk is full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := shop()
			unit := &s.Applications[1].Units[0]
			unit.Workload.Message, unit.Agent = c.workload, c.agent
			word := machine.Word{Trouble: c.store}
			if c.store != "" {
				word.Units = map[string]map[model.UnitName]state.Report{s.Model.UUID: {unit.Name: {}}}
			}
			word.See(s)
			text := StatusTable(s, false, false, true, 0)
			if !strings.Contains(text, c.inTable) {
				t.Errorf("no %q in\n%s", c.inTable, text)
			}
			if below := "\nshop/0: " + c.below + "\n"; strings.Contains(text, "\nshop/0: ") != (c.below != "") || c.below != "" && !strings.Contains(text, below) {
				t.Errorf("below it should be %q in\n%s", c.below, text)
			}
		})
	}
}
