package check

import (
	"strings"
	"testing"
)

// TestTheWayToAMarkIsGoneTwice: from the snapshot before it, or else from the empty world.
func TestTheWayToAMarkIsGoneTwice(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"deploy x;snapshot b;way;mark e;restore b;other;same e":       "deploy x;snapshot b;way;mark e;restore b;way;mark e;restore b;other;same e",
		"deploy x;settle;mark related;other;same --but files related": "snapshot fresh;deploy x;settle;mark related;restore fresh;deploy x;settle;mark related;other;same --but files related",
		"deploy x;settle;mark e;other;same --but files e":             "",
		"snapshot b;way;mark e;restore b;kill;same e":                 "snapshot b;way;mark e;restore b;way;mark e;restore b;kill;same e",
		"deploy x;settle":                             "",
		"deploy x;mark a;other;same b":                "",
		"snapshot b;way;restore b;mark e;same e":      "",
		"deploy x;mark a;other;mark e;another;same e": "",
	} {
		got, ok := twiceMarked(strings.Split(lines, ";"))
		if ok != (want != "") || ok && strings.Join(got, ";") != want {
			t.Errorf("%s: %v %s, want %s", lines, ok, strings.Join(got, ";"), want)
		}
	}
}

func TestALineIsSkippedWhereverItIs(t *testing.T) {
	t.Parallel()
	p := probe{promise: Killed, setUp: []string{"a", "x"}, first: []string{"x", "b"}, parts: [][]string{{"x"}, {"c", "x"}}, end: []string{"x", "d"}}
	q := p.skipping("x")
	if got := strings.Join(append(q.setUp, q.lines()...), " "); got != "a b c d" || q.promise != Killed || len(p.setUp) != 2 {
		t.Errorf("got %q of %v", got, p)
	}
}

// TestADeploymentThatLastsIsNoFault of the charm.
func TestADeploymentThatLastsIsNoFault(t *testing.T) {
	t.Parallel()
	s := shop()
	if err := s.lasting(&failed{why: "not settled after 5m0s: shop/0 is running install hook"}); err == nil || err.Error() != "cannot check shop: it is not settled after 5m0s; give it more time with --for" {
		t.Errorf("got %v", err)
	}
	if err := s.lasting(&failed{why: `shop/0: hook failed: "install"`}); err != nil {
		t.Errorf("got %v", err)
	}
}
