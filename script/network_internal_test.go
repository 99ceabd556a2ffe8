package script

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

func TestNetworkLinesAreRead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ line, want string }{
		{"heal", "{heal [] [] 0s 0} <nil>"},
		{"app/0 down", "{down [app/0] [] 0s 0} <nil>"},
		{"app/0 up", "{up [app/0] [] 0s 0} <nil>"},
		{"app/0 delay 200ms", "{delay [app/0] [] 200ms 0} <nil>"},
		{"app/0 delay 0s", "{delay [app/0] [] 0s 0} <nil>"},
		{"app/0 loss 10%", "{loss [app/0] [] 0s 1000} <nil>"},
		{"app/0 loss 0.5%", "{loss [app/0] [] 0s 50} <nil>"},
		{"app/0 loss 100%", "{loss [app/0] [] 0s 10000} <nil>"},
		{"partition app/0,b/1 c/2", "{partition [app/0 b/1] [c/2] 0s 0} <nil>"},
		{"", "expected a unit, and what happens to its network"},
		{"heal app/0", `"heal" is not a unit`},
		{"app/0", "expected a unit, and what happens to its network"},
		{"app/0 down now", `"down" has the wrong arguments`},
		{"app/0 delay", `"delay" has the wrong arguments`},
		{"app/0 delay 200", `"200" is not a delay like 200ms or 2s`},
		{"app/0 delay -1s", `"-1s" is not a delay like 200ms or 2s`},
		{"app/0 loss 101%", `"101%" is not a percentage from 0% to 100%`},
		{"app/0 loss NaN%", `"NaN%" is not a percentage from 0% to 100%`},
		{"app/0 heal", `"heal" is not down, up, delay or loss`},
		{"partition app/0 app/1,", `"" is not a unit`},
		{"partition app/0 app/1 app/2", "expected two groups of units"},
	} {
		o, err := parseNetwork(strings.Fields(test.line))
		got := fmt.Sprintf("{%s %v %v %s %d} %v", o.do, o.units, o.others, o.delay, o.loss, err)
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.line, got, test.want)
		}
	}
}

func TestFaultsOfTheNetworkAddUp(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lines string
		want  isolate.NetFaults
	}{
		{"a/0 down; heal", isolate.NetFaults{}},
		{"a/0 delay 1s; a/0 loss 1%; b/0 down", isolate.NetFaults{Cables: map[string]isolate.CableFault{"a/0": {Delay: time.Second, Loss: 100}, "b/0": {Down: true}}}},
		{"a/0 delay 1s; a/0 loss 1%; a/0 delay 0s; a/0 loss 2%", isolate.NetFaults{Cables: map[string]isolate.CableFault{"a/0": {Loss: 200}}}},
		{"a/0 delay 1s; a/0 down; a/0 up", isolate.NetFaults{Cables: map[string]isolate.CableFault{"a/0": {}}}},
		{
			"partition a/0,a/1 b/0; partition b/0 c/0; a/1 up",
			isolate.NetFaults{Cables: map[string]isolate.CableFault{"a/1": {}}, Parted: []isolate.Parted{{One: []string{"a/0"}, Other: []string{"b/0"}}, {One: []string{"b/0"}, Other: []string{"c/0"}}}},
		},
	} {
		var faults isolate.NetFaults
		for _, line := range strings.Split(test.lines, ";") {
			o, err := parseNetwork(strings.Fields(line))
			if err != nil {
				t.Fatal(err)
			}
			was := fmt.Sprint(faults)
			next := o.apply(faults, func(u model.UnitName) string { return string(u) })
			if fmt.Sprint(faults) != was {
				t.Errorf("%s: %s has changed what was", test.lines, line)
			}
			faults = next
		}
		if fmt.Sprint(faults) != fmt.Sprint(test.want) {
			t.Errorf("%s: got %+v, want %+v", test.lines, faults, test.want)
		}
	}
}
