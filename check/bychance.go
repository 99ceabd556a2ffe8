package check

import (
	"slices"
	"strings"

	"github.com/juju/errors"
)

// Not all that a scenario fails at is the charm's fault. What a charm makes up anew each time, such as a password,
// differs between any two ways; and an action may refuse where it makes no sense.

// twiceMarked are lines whose last one compares with a mark, but that go the way to the mark twice, so that what
// differs each time isn't compared. false: there is no mark that is gone to so.
func twiceMarked(lines []string) ([]string, bool) {
	last := len(lines) - 1
	claim := split(lines[last])
	if claim[0] != "same" {
		return nil, false
	}
	mark := "mark " + claim[len(claim)-1]
	at := slices.Index(lines, mark)
	if at < 0 || mark != markRelated && !slices.ContainsFunc(lines[at:], func(l string) bool { return strings.HasPrefix(l, "restore ") }) {
		return nil, false // in the same world nothing is to be another one
	}
	begin := -1
	for i, line := range lines[:at] {
		switch verb, _, _ := strings.Cut(line, " "); verb {
		case "snapshot":
			begin = i
		case "restore", "mark":
			return nil, false
		}
	}
	if begin < 0 {
		lines = append([]string{"snapshot fresh"}, lines...)
		begin, at = 0, at+1
	}
	name := strings.TrimPrefix(lines[begin], "snapshot ")
	again := slices.Concat([]string{"restore " + name}, lines[begin+1:at], []string{mark})
	return slices.Insert(slices.Clone(lines), at+1, again...), true
}

// markRelated marks how a relation that was made anew has to look.
const markRelated = "mark related"

// byChance says whether a probe fails only at what differs each time. If it fails at something else too, it returns the
// probe that compares just that, and how it fails.
func (p *player) byChance(pr probe, f *failed) (_ probe, _ *failed, chance bool, err error) {
	whole := append(slices.Clone(pr.setUp), pr.lines()...)[:f.at+1]
	lines, ok := twiceMarked(whole)
	if !ok {
		return pr, f, false, nil
	}
	setUp := pr.setUp
	if len(setUp) > len(lines) || !slices.Equal(setUp, lines[:len(setUp)]) {
		setUp = nil
	}
	var g *failed
	switch err := p.play(setUp, lines[len(setUp):]); {
	case err == nil:
		return pr, f, true, nil
	case !errors.As(err, &g):
		return pr, f, false, errors.Trace(err)
	}
	_, was := whatHappened(pr.promise, f)
	if _, is := whatHappened(pr.promise, g); is == was || g.misuse || g.line != f.line {
		return pr, f, false, nil
	}
	return probe{promise: pr.promise, parts: [][]string{lines}}, g, false, nil
}

// sure leaves out of a probe what it fails at by chance; no failure: nothing is left that nobody knows.
func (c *search) sure(p *player, pr probe, f *failed, cause string) (probe, *failed, string, error) {
	pr, g, chance, err := p.byChance(pr, f)
	if chance {
		g = nil
	}
	if err != nil || g == f {
		return pr, g, cause, err
	}
	c.mu.Lock()
	delete(c.known, cause) // it may yet be the first line of what is no chance
	c.mu.Unlock()
	if chance {
		return pr, nil, cause, nil
	}
	_, cause = whatHappened(pr.promise, g)
	if c.isKnown(cause, pr.promise, "") {
		g = nil
	}
	return pr, g, cause, nil
}

// refused says whether a failure is an action that has refused. One with a traceback hasn't meant to.
func (p *player) refused(f *failed) bool {
	words := split(f.line)
	if words[0] != "run" || len(words) < 3 || strings.Contains(f.why, "hook failed") || !strings.Contains(f.why, "with return code") {
		return false
	}
	told, err := p.do("log", "--new", words[1])
	return err == nil && !strings.Contains(told.Stdout, traceback)
}

const traceback = "Traceback (most recent call last)"

// skipping is the probe without a line, wherever it has it.
func (p probe) skipping(line string) probe {
	without := func(lines []string) []string {
		return slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return l == line })
	}
	q := probe{promise: p.promise, setUp: without(p.setUp), first: without(p.first), end: without(p.end)}
	for _, part := range p.parts {
		q.parts = append(q.parts, without(part))
	}
	return q
}

// skip tries a probe again without the line at which it has failed.
func (c *search) skip(pr probe, line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report.Tried[pr.promise]--; len(pr.skipping(line).lines()) > 0 {
		c.queue = append(c.queue, pr.skipping(line))
	}
}
