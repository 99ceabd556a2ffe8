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
	defer close(c.lived)
	w := c.world
	var err error
	known := !c.unlived
	if c.unlived {
		known, err = p.learnLife(&w, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.over(ctx)
		})
	}
	if n := c.begun(ctx, w, known, err); known && err == nil && c.Resume == nil {
		c.tell("%d scenarios", n)
	}
}

// begun has what needs the charm's life tried as well, as far as it's known, and begins to count the time. It returns how
// many scenarios there are, with those that were tried.
func (c *search) begun(ctx context.Context, w World, known bool, err error) (scenarios int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = time.Now().Add(c.For)
	c.report.Odd = append(c.report.Odd, w.Odd[len(c.world.Odd):]...)
	switch {
	case err != nil && c.failed == nil && ctx.Err() == nil:
		c.failed = errors.Annotate(err, "cannot learn the charm's life")
	case err == nil && known && c.unlived:
		c.life, c.unlived = w, false
		c.queue = withLife(c.queue, probes(w, slices.DeleteFunc(slices.Clone(c.Promises), func(name string) bool { return !ofALife(name) }), rand.New(rand.NewPCG(c.Seed, 1))))
		c.suspected = false // the others are suspects as well
		c.suspect()
	}
	scenarios = len(c.queue)
	for _, n := range c.report.Tried {
		scenarios += n
	}
	return scenarios
}

// withLife spreads the probes of a life among the others, one to six.
func withLife(all, life []probe) (mixed []probe) {
	const each = 6
	for len(life) > 0 {
		n := min(each, len(all))
		mixed = append(append(mixed, life[0]), all[:n]...)
		life, all = life[1:], all[n:]
	}
	return append(mixed, all...)
}
