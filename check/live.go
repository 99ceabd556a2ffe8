package check

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/juju/errors"
)

// live has a player learn the charm's life while others try what needs none of it, and adds what there is to be tried
// in it. From then on the time is counted.
func (c *search) live(ctx context.Context, p *player) {
	w := c.world
	var err error
	if c.unlived {
		err = p.learnLife(ctx, &w)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = time.Now().Add(c.For)
	switch {
	case err != nil:
		if c.failed == nil && ctx.Err() == nil {
			c.failed = errors.Annotate(err, "cannot learn the charm's life")
		}
		return
	case c.unlived:
		c.life, c.unlived = w, false
		c.queue = withLife(c.queue, probes(w, slices.DeleteFunc(slices.Clone(c.Promises), func(name string) bool { return !ofALife(name) }), rand.New(rand.NewPCG(c.Seed, 1))))
	}
	if c.Resume == nil {
		begun := 0
		for _, n := range c.report.Tried {
			begun += n
		}
		c.tell("%d scenarios", begun+len(c.queue))
	}
}

// withLife puts the probes of a life among others, so that each promise gets its share.
func withLife(all, life []probe) (mixed []probe) {
	const each = 6 // others to one of them
	for len(life) > 0 {
		n := min(each, len(all))
		mixed = append(append(mixed, life[0]), all[:n]...)
		life, all = life[1:], all[n:]
	}
	return append(mixed, all...)
}
