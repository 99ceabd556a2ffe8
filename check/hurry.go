package check

import (
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
)

const (
	// usualPatience is how long a world may take to do what is due, if its deployment takes no longer.
	usualPatience = 2 * time.Minute
	// hurriedLines is how many times as long as any before a line of a scenario may take that is known not
	// to settle, and leastHurried at least: else each trial to make it shorter takes Params.Patience.
	hurriedLines = 5
	leastHurried = 20 * time.Second
)

// trials is how a probe that has failed is tried again: with less patience if it hasn't settled, and if
// something has settled before, so that it is known how long that takes.
func (p *player) trials(pr probe, f *failed) (play func(setUp, steps []string) error, hurried bool) {
	if whole := pr.upTo(f); strings.HasPrefix(f.why, unsettled) && slices.Contains(whole[:f.at], "settle") {
		return p.hurried, true
	}
	return p.play, false
}

// hurried is play with less patience.
func (p *player) hurried(setUp, steps []string) error {
	p.hurry.Store(int64(max(leastHurried, hurriedLines*p.slowest)))
	defer p.hurry.Store(0)
	return p.play(setUp, steps)
}

// upTo are the lines of a probe up to the one that has failed.
func (p probe) upTo(f *failed) []string {
	return append(slices.Clone(p.setUp), p.lines()...)[:f.at+1]
}

// patiently plays what trials in a hurry have left with all patience. If it doesn't fail then, it is the whole
// probe that has failed.
func (p *player) patiently(lines []string, pr probe, f *failed) ([]string, *failed, error) {
	var g *failed
	switch err := p.play(nil, lines); {
	case err == nil:
		return pr.upTo(f), f, nil
	case !errors.As(err, &g):
		return nil, nil, errors.Trace(err)
	}
	return lines, g, nil
}
