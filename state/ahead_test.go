package state_test

import "testing"

// TestAStatusAsksAsMuchOfManyUnits: each question is a round trip where the store is on
// another host.
func TestAStatusAsksAsMuchOfManyUnits(t *testing.T) {
	t.Parallel()
	asked := map[int]int{}
	for _, units := range []int{1, 40} {
		w := newWorld(t)
		w.deploy(mysql, units)
		c := &counting{Store: w.store}
		s, err := w.Through(c).Status(w.ctx)
		w.ok(err)
		if len(s.Applications) != 1 || len(s.Applications[0].Units) != units || len(s.Machines) != units {
			t.Errorf("it has %d applications, %d machines", len(s.Applications), len(s.Machines))
		}
		asked[units] = c.asked
	}
	if asked[1] != asked[40] || asked[1] > 20 {
		t.Errorf("it asks %v questions, by units", asked)
	}
}
