package check

import (
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
)

// A comparison says that two ways come to the same end, and to show that takes both of them. Who reads
// a finding sees sooner what is wrong if it is said outright: the one way, and a fact that there has
// to be at its end, or that there must not be. That the other way has it so is tried as well, and
// whatever is left out of the one is left out of the other one.

// either is a scenario that compares two ways from a set-up, and what it claims instead.
type either struct{ setUp, way, other, claim []string }

// eitherOf takes a scenario apart as eitherWay has made it; false: it isn't one.
func eitherOf(lines []string) (e either, ok bool) {
	mark := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "mark ") })
	begin := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "snapshot ") })
	last := split(lines[len(lines)-1])
	if begin < 0 || mark < begin || last[0] != "same" || last[len(last)-1] != strings.TrimPrefix(lines[mark], "mark ") ||
		lines[mark+1] != "restore "+strings.TrimPrefix(lines[begin], "snapshot ") {
		return e, false
	}
	for i, line := range lines[:len(lines)-1] {
		switch verb, _, _ := strings.Cut(line, " "); verb {
		case "snapshot", "mark", "restore", "same":
			if i != begin && i != mark && i != mark+1 {
				return e, false
			}
		}
	}
	return either{setUp: lines[:begin], way: lines[begin+1 : mark], other: lines[mark+2 : len(lines)-1]}, true
}

// fails is the scenario whose claim fails, and holds the one whose claim holds.
func (e either) fails() []string { return slices.Concat(e.setUp, e.other, e.claim) }
func (e either) holds() []string { return slices.Concat(e.setUp, e.way, e.claim) }

// maxClaims bounds how many differences are tried as claims.
const maxClaims = 3

// claims are claims about the differences that "same" has told, that which is told first before others.
func claims(why string) (all [][]string) {
	for line := range strings.Lines(atMarked.Regexp().ReplaceAllString(why, "")) {
		sign, fact, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || len(all) == maxClaims {
			continue
		}
		claim := "has "
		switch sign {
		case "-":
		case "+":
			claim = "! has "
		case "~":
			key, values, _ := strings.Cut(fact, ": ")
			was, _, ok := strings.Cut(values, " -> ")
			if !ok {
				continue
			}
			fact = strings.TrimSpace(key + " " + was)
		default:
			continue
		}
		all = append(all, []string{"facts", claim + "'" + strings.ReplaceAll(fact, "'", "''") + "'"})
	}
	return all
}

// plainly is a scenario that compares two ways as one that claims outright what they differ in, as short
// as it was found; ok: there is one.
func (s *shrinking) plainly(lines []string, f *failed) (_ []string, _ *failed, ok bool, err error) {
	e, ok := eitherOf(lines)
	if !ok {
		return lines, f, false, nil
	}
	compared := s.cause
	for _, e.claim = range claims(f.why) {
		g, err := s.played(e.fails())
		if err != nil {
			return nil, nil, false, err
		}
		if g == nil || g.misuse || g.at != len(e.fails())-1 {
			continue
		}
		_, s.cause = whatHappened(s.promise, g)
		if h, err := s.played(e.holds()); err != nil {
			return nil, nil, false, err
		} else if h == nil {
			lines, err = s.fewer(e)
			return lines, &failed{line: g.line, at: len(lines) - 1, why: f.why}, true, err
		}
	}
	s.cause = compared
	return lines, f, false, nil
}

// fewer leaves out of both ways what isn't needed.
func (s *shrinking) fewer(e either) ([]string, error) {
	e, err := s.dropping(e, func(e either) int { return len(e.other) }, either.withoutOther)
	if err == nil {
		e, err = s.dropping(e, func(e either) int { return len(e.setUp) }, either.withoutSetUp)
	}
	return e.fails(), err
}

// dropping leaves out what drop does of a part, as long as the claim fails on the one way alone.
func (s *shrinking) dropping(e either, length func(either) int, drop func(e either, begin, end int) (either, bool)) (either, error) {
	for size := max(1, length(e)/2); size >= 1; size /= 2 {
		for end := length(e); end > 0 && time.Now().Before(s.until); {
			begin := max(0, end-size)
			try, ok := drop(e, begin, end)
			end = begin
			if !ok || !closed(try.holds()) {
				continue
			}
			if err := s.ctx.Err(); err != nil {
				return e, errors.Trace(err)
			}
			g, err := s.fails(try.fails())
			if err == nil && g != nil && g.at == len(try.fails())-1 {
				var h *failed
				if h, err = s.played(try.holds()); err == nil && h == nil {
					e = try
				}
			}
			if err != nil {
				return e, err
			}
		}
	}
	return e, nil
}

// withoutSetUp is a scenario without some lines of its set-up.
func (e either) withoutSetUp(begin, end int) (either, bool) {
	e.setUp = slices.Delete(slices.Clone(e.setUp), begin, end)
	return e, true
}

func lastIndex(lines []string, line string) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i] == line {
			return i
		}
	}
	return -1
}

// withoutOther is a scenario without some lines of the one way, and without those that stand for them in
// the other one; false: hooks would have had their time there alone. Both settle in the end.
func (e either) withoutOther(begin, end int) (either, bool) {
	var out []int
	settled := lastIndex(e.way, "settle")
	for i := begin; i < end; i++ {
		if i == lastIndex(e.other, "settle") {
			return e, false
		}
		nth := 0
		for _, before := range e.other[:i] {
			if before == e.other[i] {
				nth++
			}
		}
		at := slices.IndexFunc(e.way, func(line string) bool {
			if line == e.other[i] {
				nth--
			}
			return nth < 0
		})
		switch verb := split(e.other[i])[0]; {
		case at >= 0 && at != settled:
			out = append(out, at)
		case verb == "settle" || verb == "advance":
			return e, false
		}
	}
	var way []string
	for i, line := range e.way {
		if !slices.Contains(out, i) {
			way = append(way, line)
		}
	}
	e.way, e.other = way, slices.Delete(slices.Clone(e.other), begin, end)
	return e, true
}
