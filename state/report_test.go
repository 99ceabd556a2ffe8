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

// TestContainersInTheStatusOfAUnit: what is wrong with a container is shown in the
// place of what its charm says and can't know.
func TestContainersInTheStatusOfAUnit(t *testing.T) {
	t.Parallel()
	up := state.ContainerDoc{Name: "db", State: state.ContainerRunning, Boot: "1"}
	isNew := state.ContainerDoc{Name: "web", State: state.ContainerFetching}
	ended := state.ContainerDoc{Name: "web", State: state.ContainerWaiting, Boot: "1", Fault: "it has ended"}
	gone := state.ContainerDoc{Name: "web", State: state.ContainerWaiting, Boot: "1", Fault: "no such image", NoImage: true}
	stopped := state.ContainerDoc{Name: "web", State: state.ContainerStopped, Fault: "it has ended"}
	for name, row := range map[string]struct {
		charm string
		web   state.ContainerDoc
		want  string
	}{
		"all are up":                                   {"active", up, "active charm's"},
		"one is new":                                   {"active", isNew, "waiting waiting for container"},
		"one is new, and the charm says nothing":       {"unknown", isNew, "waiting waiting for container"},
		"one is new, and the charm knows it":           {"waiting", isNew, "waiting charm's"},
		"one has ended":                                {"active", ended, "waiting container web: it has ended"},
		"one has ended, and the charm works: K-135":    {"maintenance", ended, "maintenance charm's"},
		"one has ended, and the charm is blocked":      {"blocked", ended, "blocked charm's"},
		"an image can't be had: K-134":                 {"active", gone, "error container web: no such image"},
		"an image can't be had, and the charm waits":   {"blocked", gone, "error container web: no such image"},
		"an image can't be had, and the charm works":   {"maintenance", gone, "maintenance charm's"},
		"a hook has failed, and an image can't be had": {"error", gone, "error charm's"},
		"a person has stopped one":                     {"active", stopped, "active charm's"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := state.UnitView{Workload: model.Status{Status: row.charm, Message: "charm's"}}
			told := state.ContainersDoc{Containers: []state.ContainerDoc{up, row.web}}
			seen := state.Report{Containers: &told}.Seen(u)
			if got := seen.Workload.Status + " " + seen.Workload.Message; got != row.want {
				t.Errorf("it is seen as %s, want %s", got, row.want)
			}
			all := state.ContainersDoc{Containers: []state.ContainerDoc{up}}
			if again := (state.Report{Containers: &all}).Seen(seen).Workload; again.Status != row.charm || again.Message != "charm's" {
				t.Errorf("once all are up it is %+v", again)
			}
		})
	}
}
