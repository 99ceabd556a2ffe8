package check

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
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

// maxClaims bounds how many claims are tried.
const maxClaims = 4

// ofAWorld are parts of facts that are other ones in another world, as in which the scenario is kept: UUIDs,
// and the addresses of units.
var ofAWorld = pattern.New(`\b[0-9a-f]{8}-[0-9a-f]{4}-|\b\d+\.\d+\.\d+\.\d+\b`)

// ofFileMode is what follows the name of a file in a fact.
var ofFileMode = pattern.New(` [-a-z]{10}, \d+ bytes, [0-9a-f]+$`)

// countOfSecrets begins the fact how many secrets somebody has. That it is as many as on the other way isn't
// claimed: where the charm makes too many on both, a mended one makes fewer.
const countOfSecrets = "secrets of "

// claimed is a claim about a difference that "same" has told in a line.
type claimed struct {
	difference string
	lines      []string
}

// claims are what could be claimed in place of "same": statuses and the like before databags, and those before
// files, of which only the names are. What a file or a databag has in it may be of the world that it is in.
func claims(why string) (all []claimed) {
	for line := range strings.Lines(atMarked.Regexp().ReplaceAllString(why, "")) {
		line = strings.TrimSuffix(line, "\n")
		sign, fact, _ := strings.Cut(line, " ")
		add := func(claim, fact string) {
			if fact = strings.TrimSpace(fact); fact != "" && !ofAWorld.MatchString(fact) {
				all = append(all, claimed{line, []string{"facts", claim + "'" + strings.ReplaceAll(fact, "'", "''") + "'"}})
			}
		}
		if strings.HasPrefix(fact, "file ") {
			if sign == "~" {
				continue
			}
			fact = ofFileMode.Regexp().ReplaceAllString(fact, "")
		}
		switch sign {
		case "-":
			add("has ", fact)
		case "+":
			add("! has ", fact)
		case "~":
			key, values, _ := strings.Cut(fact, ": ")
			if was, is, ok := strings.Cut(values, " -> "); ok {
				if !strings.HasPrefix(key, countOfSecrets) {
					add("has ", key+" "+was)
				}
				add("! has ", key+" "+is)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b claimed) int { return cmp.Compare(a.rank(), b.rank()) })
	return all[:min(len(all), maxClaims)]
}

func (c claimed) rank() int {
	switch _, fact, _ := strings.Cut(c.difference, " "); {
	case strings.HasPrefix(fact, "file "):
		return 2
	case strings.HasPrefix(fact, "databag "):
		return 1
	}
	return 0
}

// plainly is a scenario that compares two ways as one that claims outright what they differ in, as short
// as it was found; ok: there is one.
func (s *shrinking) plainly(lines []string, f *failed) (_ []string, _ *failed, ok bool, err error) {
	e, ok := eitherOf(lines)
	if !ok {
		return lines, f, false, nil
	}
	compared := s.cause
	s.until = time.Now().Add(shrinkTime) // for all claims
	for _, c := range claims(f.why) {
		if s.promise == Upgrade && c.rank() == 1 && c.lines[1][0] == '!' {
			continue // what a new version publishes may be what is wrong with it
		}
		e.claim = c.lines
		g, err := s.played(e.setUp, slices.Concat(e.other, e.claim))
		if err != nil {
			return nil, nil, false, err
		}
		if g == nil || g.misuse || g.at != len(e.fails())-1 {
			continue
		}
		_, s.cause = whatHappened(s.promise, g)
		if holds, err := s.holds(e, e.setUp, 1); err != nil {
			return nil, nil, false, err
		} else if !holds {
			continue
		}
		short, err := s.fewer(e)
		if err != nil {
			return nil, nil, false, err
		}
		// What is so by chance may have been so whenever it was looked at, and what was made in the set-up is the
		// same as often as that is gone back to.
		if holds, err := s.holds(short, nil, repeats); err != nil {
			return nil, nil, false, err
		} else if !holds {
			continue
		}
		out := short.fails()
		return out, &failed{line: g.line, at: len(out) - 1, why: first(f.why, c.difference)}, true, nil
	}
	s.cause, s.until = compared, time.Now().Add(shrinkTime)
	return lines, f, false, nil
}

// first is why two ways differ, with that difference before the others.
func first(why, difference string) string {
	head, rest, _ := strings.Cut(why, "\n")
	lines := []string{head, difference}
	for line := range strings.Lines(rest) {
		if line = strings.TrimSuffix(line, "\n"); line != difference {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// holds says whether the claim holds on the way on which it is to, so many times. setUp is what needs to be
// done but once: the scenario's, or nothing.
func (s *shrinking) holds(e either, setUp []string, times int) (bool, error) {
	for range times {
		if err := s.ctx.Err(); err != nil {
			return false, errors.Trace(err)
		}
		if h, err := s.played(setUp, e.holds()[len(setUp):]); err != nil || h != nil {
			return false, err
		}
	}
	return true, nil
}

// fewer leaves out of both ways what isn't needed.
func (s *shrinking) fewer(e either) (either, error) {
	e, err := s.dropping(e, func(e either) int { return len(e.other) }, either.withoutOther)
	if err == nil {
		e, err = s.dropping(e, func(e either) int { return len(e.setUp) }, either.withoutSetUp)
	}
	return e, err
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
			g, err := s.failsAfter(try.setUp, slices.Concat(try.other, try.claim))
			if err == nil && g != nil && g.at == len(try.fails())-1 {
				var holds bool
				if holds, err = s.holds(try, try.setUp, 1); holds {
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
// the other one; false: one of them has none that does, and so is what is different, or hooks would have
// had their time on the other way alone. Both settle in the end.
func (e either) withoutOther(begin, end int) (either, bool) {
	var out []int
	settled := lastIndex(e.way, "settle")
	other := slices.Clone(e.other)
	for i, line := range other {
		if call, ok := strings.CutPrefix(line, "run --background "); ok {
			other[i] = "run " + call
		}
	}
	for i := begin; i < end; i++ {
		if i == lastIndex(other, "settle") {
			return e, false
		}
		nth := 0
		for _, before := range other[:i] {
			if before == other[i] {
				nth++
			}
		}
		at := slices.IndexFunc(e.way, func(line string) bool {
			if line == other[i] {
				nth--
			}
			return nth < 0
		})
		if at < 0 || at == settled {
			return e, false
		}
		out = append(out, at)
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
