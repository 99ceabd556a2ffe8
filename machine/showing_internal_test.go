package machine

import (
	"testing"
	"time"

	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/workload"
)

// TestWhatPeopleSeeOfAContainer by what was seen of it, one after the other.
func TestWhatPeopleSeeOfAContainer(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	image, err := oci.Parse("host")
	if err != nil {
		t.Fatal(err)
	}
	want := []workload.Container{{Name: "web", Image: oci.Source{Reference: image}}}
	up := func(boot string, restarts int) workload.State {
		return workload.State{Name: "web", Phase: workload.Running, Pebble: pebble.State{Boot: boot}, Restarts: restarts}
	}
	in := func(phase workload.Phase, fault string) workload.State {
		return workload.State{Name: "web", Phase: phase, Fault: fault}
	}
	type step struct {
		seen     workload.State
		state    state.ContainerState
		boot     string
		restarts int
		since    int // in seconds after noon, of which each step takes one
	}
	former := state.ContainersDoc{Containers: []state.ContainerDoc{
		{Name: "web", State: state.ContainerRunning, Boot: "1", Restarts: 2, Since: noon.Add(-time.Minute)},
	}}
	for name, row := range map[string]struct {
		found state.ContainersDoc
		pod   int
		steps []step
	}{
		"it comes, ends and comes again": {steps: []step{
			{in(workload.Fetching, ""), "fetching", "", 0, 1}, {in(workload.Starting, ""), "starting", "", 0, 2}, {up("1", 0), "running", "1", 0, 3},
			{up("1", 0), "running", "1", 0, 3}, {in(workload.Waiting, "it has ended"), "waiting", "1", 0, 5}, {up("2", 1), "running", "2", 1, 6},
		}},
		"another agent finds it as it was": {found: former, steps: []step{
			{in(workload.Fetching, ""), "running", "1", 2, -60}, {up("1", 0), "running", "1", 2, -60}, {up("2", 1), "running", "2", 3, 3},
		}},
		"it has ended while no agent was there": {found: former, steps: []step{
			{in(workload.Fetching, ""), "running", "1", 2, -60}, {up("2", 0), "running", "2", 3, 2}, {up("2", 0), "running", "2", 3, 2},
		}},
		"it can't be had any more": {found: former, steps: []step{
			{in(workload.Waiting, "no image"), "waiting", "1", 2, 1}, {in(workload.Fetching, "no image"), "fetching", "1", 2, 2},
		}},
		"the unit has other containers": {found: former, pod: 1, steps: []step{{in(workload.Fetching, ""), "fetching", "", 0, 1}, {up("1", 0), "running", "1", 0, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShowing(row.found)
			if _, ok := s.picture(nil, noon); ok {
				t.Error("there are containers before it is known which")
			}
			s.want(want, row.pod)
			for i, step := range row.steps {
				doc, ok := s.picture([]workload.State{step.seen}, noon.Add(time.Duration(i+1)*time.Second))
				if !ok || len(doc.Containers) != 1 {
					t.Fatalf("step %d: %+v", i, doc)
				}
				s.shown = doc
				c := doc.Containers[0]
				if c.State != step.state || c.Boot != step.boot || c.Restarts != step.restarts || c.Since.Sub(noon) != time.Duration(step.since)*time.Second {
					t.Errorf("step %d: it is %+v, want %+v", i, c, step)
				}
			}
		})
	}
}
