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

func TestWhatIsDoneInVainIsLeftOut(t *testing.T) {
	t.Parallel()
	pr := eitherWay([]string{"deploy a"}, []string{"settle"}, []string{"kill-agent at ended a/0 install", "restart-agent", "settle"}, "")
	const claim = "advance 10m"
	pr.parts[0][len(pr.parts[0])-1] = claim
	s, _ := asPlayed(claim, "deploy a", "kill-agent at ended a/0 install", "restart-agent")
	lines := append(slices.Clone(pr.setUp), pr.lines()...)
	got, f, err := s.unrestored(lines, &failed{line: claim, at: len(lines) - 1, why: "no"})
	if want := []string{"deploy a", "kill-agent at ended a/0 install", "restart-agent", "settle", claim}; err != nil || !slices.Equal(got, want) || f.at != len(want)-1 {
		t.Errorf("%v, %+v: %q", err, f, got)
	}
}

// versions play an application whose version is missing at the end if its unit was killed, unless it is
// told so by an option, as the real one tells it.
func versions(t *testing.T, facts string) *shrinking {
	t.Helper()
	s := &shrinking{ctx: context.Background(), promise: Killed, until: time.Now().Add(time.Hour)}
	s.play = func(setUp, lines []string) error {
		lines = slices.Concat(setUp, lines)
		deployed, killed, version, said := false, false, false, ""
		for i, line := range lines {
			fail := func(why string) error { return &failed{line: line, at: i, why: why} }
			negated := strings.HasPrefix(line, "! ")
			switch words := split(strings.TrimPrefix(line, "! ")); words[0] {
			case "deploy":
				deployed = true
			case "kill-agent":
				killed = true
			case "settle":
				if !deployed {
					return fail("nothing is deployed")
				}
				version = !killed
			case "facts":
				if said = facts; !version {
					said = strings.ReplaceAll(facts, "version 2", "version 1")
				}
			case "has":
				if strings.Contains(said, strings.Trim(words[1], "'")) == negated {
					return fail("it isn't so")
				}
			}
		}
		return nil
	}
	return s
}

func TestAComparisonBecomesAClaim(t *testing.T) {
	t.Parallel()
	way := []string{"config b=1", "deploy a", "config a=1", "settle", "advance 10m", "settle"}
	other := []string{"config b=1", "deploy a", "kill-agent at ended a/0 install", "config a=1", "restart-agent", "advance 10m", "settle"}
	pr := eitherWay([]string{"add-secret a"}, way, other, "files")
	lines := append(slices.Clone(pr.setUp), pr.lines()...)
	last := lines[len(lines)-1]
	for why, want := range map[string][]string{
		"~ a/0 version: 2 -> 1\n- a/0 other 3":                 {"deploy a", "kill-agent at ended a/0 install", "restart-agent", "settle", "facts", "has 'a/0 version 2'"},
		"+ a/0 random 12345\n- a/0 version 2\n+ a/0 version 1": {"deploy a", "kill-agent at ended a/0 install", "restart-agent", "settle", "facts", "has 'a/0 version 2'"},
		"+ a/0 version 1":    {"deploy a", "kill-agent at ended a/0 install", "restart-agent", "settle", "facts", "! has 'a/0 version 1'"},
		"+ a/0 random 12345": nil,
	} {
		s := versions(t, "a/0 opens 80\na/0 version 2\n")
		f := &failed{line: last, at: len(lines) - 1, why: "not as at mark \"expected\":\n" + why}
		_, s.cause = whatHappened(Killed, f)
		cause := s.cause
		got, g, ok, err := s.plainly(lines, f)
		switch {
		case err != nil:
			t.Fatal(err)
		case want == nil && (ok || !slices.Equal(got, lines) || s.cause != cause):
			t.Errorf("%q has become %q", why, got)
		case want != nil && (!ok || !slices.Equal(got, want) || g.at != len(want)-1 || len(g.why) != len(f.why)):
			t.Errorf("%q has become %q, %+v; want %q", why, got, g, want)
		}
		if fails, tried, err := s.repeated(got); want != nil && (err != nil || fails != repeats || tried != repeats) {
			t.Errorf("it fails %d times of %d: %v", fails, tried, err)
		}
	}
}

func TestOnlyTwoWaysFromOneSetUpBecomeAClaim(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"deploy a|mark before|config a=1|same before",
		"snapshot begin|deploy a|mark expected|deploy b|restore begin|same expected",
		"snapshot begin|deploy a|mark expected|restore begin|deploy a|mark other|same expected",
		"snapshot begin|deploy a|mark expected|restore begin|deploy a|same other",
		"snapshot begin|deploy a|mark expected|restore begin|deploy a|same expected a/1=a/0",
		"snapshot begin|deploy a|mark expected|restore begin|deploy a|stdout x",
	} {
		if e, ok := eitherOf(strings.Split(text, "|")); ok {
			t.Errorf("%s is %+v", text, e)
		}
	}
}

// TestWhatIsClaimed: nothing that is another one in another world, of files only the names, and what says
// most comes first.
func TestWhatIsClaimed(t *testing.T) {
	t.Parallel()
	for why, want := range map[string]string{
		"- file a/0 /etc/x -rw-r--r--, 3 bytes, 0a1b2c3d\n- a/0 version 2":            "has 'a/0 version 2'|has 'file a/0 /etc/x'",
		"+ file a/0 /etc/x y drwxr-xr-x, 0 bytes, e3b0c442":                           "! has 'file a/0 /etc/x y'",
		"~ file a/0 /etc/x: -rw-r--r--, 3 bytes, 0a1b2c3d -> -rw-r--r--, 4 bytes, ff": "",
		"- databag a:b a/0 host = 10.1.2.3":                                           "",
		"- databag a:b a host = {\"uuid\":\"8c0f2a9e-0d9c-4a7a-8f7e-1b2c3d4e5f60\"}":  "",
		"~ databag a:b a/0 n =: 1 -> 12":                                              "has 'databag a:b a/0 n = 1'|! has 'databag a:b a/0 n = 12'",
		"~ secrets of a: 5 -> 11":                                                     "! has 'secrets of a 11'",
		"+ a/0 status message it's done":                                              "! has 'a/0 status message it''s done'",
		"… and 3 more":                                                                "",
	} {
		var got []string
		for _, c := range claims("not as at mark \"expected\":\n" + why) {
			if c.lines[0] != "facts" || len(c.lines) != 2 {
				t.Errorf("%q claims %q", why, c.lines)
			}
			got = append(got, c.lines[1])
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q claims %q, want %q", why, got, want)
		}
	}
}

// TestWhatIsSoByChanceIsNoClaim: it isn't reported as a fact.
func TestWhatIsSoByChanceIsNoClaim(t *testing.T) {
	t.Parallel()
	pr := eitherWay(nil, []string{"deploy a", "settle"}, []string{"deploy a", "kill-agent at ended a/0 install", "restart-agent", "settle"}, "")
	lines := pr.lines()
	s := versions(t, "a/0 version 2\n")
	sound, played := s.play, 0
	s.play = func(setUp, lines []string) error {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "kill-agent") }) {
			if played++; played == 4 {
				return &failed{line: lines[len(lines)-1], at: len(setUp) + len(lines) - 1, why: "by chance"}
			}
		}
		return sound(setUp, lines)
	}
	f := &failed{line: "same expected", at: len(lines) - 1, why: "not as at mark \"expected\":\n~ a/0 version: 2 -> 1"}
	_, s.cause = whatHappened(Killed, f)
	if got, g, ok, err := s.plainly(lines, f); err != nil || ok && !strings.HasPrefix(got[len(got)-1], "! has") || !ok && (g != f || !slices.Equal(got, lines)) {
		t.Errorf("%v %v: %q", ok, err, got)
	}
}

func TestFactsAreWordsOfPython(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		`'a "b" c'`:        `"a \"b\" c"`,
		`'{"ca":"x\ny"}'`:  `"{\"ca\":\"x\\ny\"}"`,
		`'^a\.b$'`:         `r"^a\.b$"`,
		`'ends in \'`:      `"ends in \\"`,
		"'a\tb\\c'":        `"a\tb\\c"`,
		`'it''s $NOTHING'`: `"it's $NOTHING"`,
	} {
		if got := pythonWord(word); got != want {
			t.Errorf("%s is %s, want %s", word, got, want)
		}
	}
}

func TestADifferenceIsSaidInWords(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]string{
		"- a/0 version 2":                         "a/0 version 2 is missing",
		"+ a/0 opens 80/tcp":                      "a/0 opens 80/tcp shouldn't be there",
		"~ a/0 status: active -> blocked":         "a/0 status is blocked, not active",
		"~ databag a:b a/0 n =: 1 -> 2":           "databag a:b a/0 n is 2, not 1",
		"~ file a/0 /x: -rw-r--r-- -> -rw-r--r--": "file a/0 /x is another one",
		"start: KeyError: 'x'":                    "start: KeyError: 'x'",
	} {
		if got := inWords(what); got != want {
			t.Errorf("%q is %q, want %q", what, got, want)
		}
	}
}

// TestWhatIsMadeOnceIsNoClaim: a value that the set-up makes is the same as often as that is gone back to, and
// another one in a new world.
func TestWhatIsMadeOnceIsNoClaim(t *testing.T) {
	t.Parallel()
	pr := eitherWay([]string{"deploy a"}, []string{"config b=1", "settle"}, []string{"config b=1", "kill-agent at ended a/0 config-changed", "restart-agent", "settle"}, "")
	lines := append(slices.Clone(pr.setUp), pr.lines()...)
	s := versions(t, "a/0 version 2\n")
	sound := s.play
	s.play = func(setUp, lines []string) error {
		if len(setUp) == 0 && !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "kill-agent") }) {
			return &failed{line: lines[len(lines)-1], at: len(lines) - 1, why: "another version was made"}
		}
		return sound(setUp, lines)
	}
	f := &failed{line: "same expected", at: len(lines) - 1, why: "not as at mark \"expected\":\n- a/0 version 2"}
	_, s.cause = whatHappened(Killed, f)
	if got, _, ok, err := s.plainly(lines, f); err != nil || ok {
		t.Errorf("%v: %q", err, got)
	}
}
