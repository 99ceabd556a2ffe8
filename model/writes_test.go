package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestWritesAreToldInLines(t *testing.T) {
	t.Parallel()
	version, one := "2.1", "1"
	c := Changes{
		Relations: map[RelationID]RelationChange{
			4: {Unit: Settings{"url": "http://x/", "old": ""}, Application: Settings{"cert": strings.Repeat("x", 2000)}},
			2: {Unit: Settings{"text": "two\nlines"}},
		},
		LeaderSettings:  Settings{"who": "me", "gone": ""},
		State:           map[string]*string{"b": nil, "a": &one},
		Ports:           []PortChange{{Range: PortRange{80, 80, "tcp"}}, {Range: PortRange{53, 53, "udp"}, Close: true}},
		WorkloadVersion: &version,
		Reboot:          RebootAfter,
	}
	relation := func(id RelationID) string { return fmt.Sprintf("db:%d", id) }
	want := []string{
		`db:2 app/0 text="two\nlines"`, `db:4 app/0 old deleted`, `db:4 app/0 url=http://x/`, `db:4 app cert=(2000 bytes)`,
		`leader-settings gone deleted`, `leader-settings who=me`, `state a=1`, `state b deleted`,
		`port 80/tcp opened`, `port 53/udp closed`, `workload-version=2.1`, `reboot after`,
	}
	if got := c.Writes("app/0", relation); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Changes{}).Writes("app/0", relation); len(got) != 0 {
		t.Errorf("nothing was written, got %q", got)
	}
	many := Changes{LeaderSettings: Settings{}}
	for i := range 250 {
		many.LeaderSettings[fmt.Sprint(i)] = "x"
	}
	if got := many.Writes("app/0", relation); len(got) != 101 || got[100] != "and 150 more" {
		t.Errorf("got %d lines, the last %q", len(got), got[len(got)-1])
	}
}
