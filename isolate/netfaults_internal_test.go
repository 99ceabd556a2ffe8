package isolate

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestFramesAreDroppedAsFaultsSay(t *testing.T) {
	t.Parallel()
	cable := func(f CableFault) NetFaults { return NetFaults{Cables: map[string]CableFault{"a": f}} }
	for _, test := range []struct {
		name   string
		faults NetFaults
		want   string
	}{
		{"nothing is wrong", cable(CableFault{}), ""},
		{"down is both ways, for the host too", cable(CableFault{Down: true}), "arriving a> 10000, departing >a 10000"},
		{"what the cell sends is lost", cable(CableFault{Loss: 5}), "arriving a> 5"},
		{"what is late comes by another port, and is lost there", cable(CableFault{Delay: time.Second, Loss: 5}), "arriving a> 10000, departing >late-a 10000, arriving late-a> 5"},
		{"what is late is late no more when the cable is down", cable(CableFault{Delay: time.Second, Down: true}), "arriving a> 10000, departing >late-a 10000, arriving late-a> 10000, departing >a 10000"},
		{"groups are parted pair by pair", NetFaults{Parted: []Parted{{[]string{"a"}, []string{"b", "c"}}}}, "crossing a>b 10000, crossing b>a 10000, crossing a>c 10000, crossing c>a 10000"},
		{
			"also from who is late",
			NetFaults{Cables: map[string]CableFault{"b": {Delay: 1}}, Parted: []Parted{{[]string{"a"}, []string{"b"}}}},
			"arriving b> 10000, departing >late-b 10000, crossing a>b 10000, crossing late-b>a 10000",
		},
	} {
		var got []string
		for _, r := range test.faults.rules(func(key string) ports { return ports{key, "late-" + key} }) {
			got = append(got, fmt.Sprintf("%s %s>%s %d", r.at, r.in, r.out, r.chance))
		}
		if text := strings.Join(got, ", "); text != test.want {
			t.Errorf("%s: got %s, want %s", test.name, text, test.want)
		}
	}
}
