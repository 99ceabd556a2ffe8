package sim_test

import (
	"os"
	"reflect"
	"testing"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/uniter/sim"
)

// TestTheSameWorldRunsTheSameHooksAThousandTimes: nothing is left to chance, as
// the order in which a map is walked is.
func TestTheSameWorldRunsTheSameHooksAThousandTimes(t *testing.T) {
	t.Parallel()
	worlds, err := sim.Worlds()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range worlds {
		times := 40
		if i == 2 || os.Getenv("UNITD_TEST_LONG") != "" { // a boot with all the relations
			times = 1000
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			for _, line := range []string{"relate cluster:10 app", "relate db:11 mysql", "relate db:9 mysql", "relate web:12 shop", "relate api:13 shop"} {
				c.Actors = append(c.Actors, sim.Actor{Steps: []string{line}})
			}
			for _, unit := range []string{"mysql/10", "mysql/9", "mysql/2"} {
				c.Actors = append(c.Actors, sim.Actor{Steps: []string{"join db:9 " + unit, "join db:11 " + unit, "write db:9 " + unit}})
			}
			w := c.Start
			for _, a := range c.Actors {
				for _, step := range a.Steps {
					if _, err := w.Act(step); err != nil {
						t.Fatal(err)
					}
				}
			}
			var first []hooks.Info
			for i := range times {
				again := w
				again.Local, again.Disk = w.Local, w.Disk
				ran, err := again.Settle(well)
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					first = ran
				}
				if !reflect.DeepEqual(ran, first) {
					t.Fatalf("it ran %v, and then %v", first, ran)
				}
			}
		})
	}
}
