package state_test

import (
	"reflect"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// TestReports: what is wanted later counts, and so does a unit look.
func TestReports(t *testing.T) {
	t.Parallel()
	status := func(word string) *model.Status { return &model.Status{Status: word} }
	failed := state.Report{Agent: status("error"), Failed: &state.FailureDoc{Run: 3}}
	for name, row := range map[string]struct {
		first, then state.Report
		want        state.Report
		seen        string // workload and agent of an active unit at work
	}{
		"nothing":                      {seen: "active executing"},
		"a failed hook":                {then: failed, want: failed, seen: "error idle"},
		"one that is run again":        {failed, state.Report{Agent: status("executing")}, state.Report{Agent: status("executing"), Failed: failed.Failed}, "active executing"},
		"one that is given up":         {failed, state.Report{Agent: status("idle"), Failed: &state.FailureDoc{}}, state.Report{Agent: status("idle"), Failed: &state.FailureDoc{}}, "active idle"},
		"a workload that is the agent": {then: state.Report{Workload: status("terminated")}, want: state.Report{Workload: status("terminated")}, seen: "terminated executing"},
		"one that is the charm's":      {then: state.Report{Workload: status("waiting"), UnlessCharm: true}, want: state.Report{Workload: status("waiting"), UnlessCharm: true}, seen: "active executing"},
		"of two the later":             {state.Report{Workload: status("waiting"), UnlessCharm: true}, state.Report{Workload: status("terminated")}, state.Report{Workload: status("terminated")}, "terminated executing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := row.first.Then(row.then)
			if !reflect.DeepEqual(got, row.want) {
				t.Errorf("got %+v", got)
			}
			u := state.UnitView{UnitDoc: state.UnitDoc{StatusSet: true}, Workload: *status("active"), Agent: *status("executing")}
			if seen := got.Seen(u); seen.Workload.Status+" "+seen.Agent.Status != row.seen {
				t.Errorf("it is seen as %s %s", seen.Workload.Status, seen.Agent.Status)
			}
		})
	}
}
