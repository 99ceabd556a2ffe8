package check

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// asPlayed are scenarios of which the last line fails if all of these lines come before it, in this order.
func asPlayed(claim string, needs ...string) (*shrinking, *int) {
	played := 0
	f := &failed{line: claim, why: "no"}
	_, cause := whatHappened(Frugal, f)
	return &shrinking{ctx: context.Background(), promise: Frugal, cause: cause, until: time.Now().Add(time.Hour), play: func(_, lines []string) error {
		played++
		left := needs
		for i, line := range lines {
			switch {
			case line == claim && len(left) == 0:
				return &failed{line: claim, at: i, why: "no"}
			case len(left) > 0 && line == left[0]:
				left = left[1:]
			}
		}
		return nil
	}}, &played
}

func TestAFindingOfOnePartIsWithoutTheOthers(t *testing.T) {
	t.Parallel()
	const claim = `! stdout 'x'`
	part := func(n string) []string {
		return []string{"restore begin", "config a=" + n, "settle", "calls a/0 config-changed", claim}
	}
	pr := probe{promise: Frugal, setUp: []string{"deploy a", "settle"}, first: []string{"snapshot begin"}, parts: [][]string{part("1"), part("2"), part("3")}}
	for _, tc := range []struct {
		about string
		needs []string
		want  string
	}{
		{"it fails by itself", []string{"deploy a", "config a=2", "calls a/0 config-changed"}, "deploy a|config a=2|calls a/0 config-changed|" + claim},
		{"it needs one before it", []string{"deploy a", "config a=1", "config a=2", "calls a/0 config-changed"},
			"deploy a|snapshot begin|restore begin|config a=1|settle|calls a/0 config-changed|" + claim + "|restore begin|config a=2|settle|calls a/0 config-changed|" + claim},
	} {
		t.Run(tc.about, func(t *testing.T) {
			t.Parallel()
			s, played := asPlayed(claim, tc.needs...)
			lines := append(slices.Clone(pr.setUp), pr.lines()...)
			lines, f, fails, tried, err := s.shortest(pr, &failed{line: claim, at: len(pr.setUp) + len(pr.first) + 2*len(part("1")) - 1, why: "no"})
			if err != nil || fails != tried || tried != repeats {
				t.Fatalf("%v, it fails %d times of %d", err, fails, tried)
			}
			if got := strings.Join(lines, "|"); got != tc.want || f.at != len(lines)-1 {
				t.Errorf("after %d plays, line %d:\n%s\nwant\n%s", *played, f.at, got, tc.want)
			}
		})
	}
}

func TestUnitsOfAStubAreCounted(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{"stub-join a": 1, "stub-join a 7": 7} {
		if n := joining(split(line)); n != want {
			t.Errorf("%q adds %d units, want %d", line, n, want)
		}
	}
}
