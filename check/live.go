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
		promises := slices.DeleteFunc(slices.Clone(c.Promises), func(name string) bool { return !ofALife(name) })
		c.queue = spread(probes(w, promises, rand.New(rand.NewPCG(c.Seed, 1))), c.queue, 6)
		c.suspected = false // the others are suspects as well
		c.suspect()
	}
	scenarios = len(c.queue)
	for _, n := range c.report.Tried {
		scenarios += n
	}
	return scenarios
}

// idle is what a player does for whom nothing is left to be tried: it walks, but waits for the charm's life first, with
// which there is more.
func (c *search) idle(ctx context.Context, p *player) {
	select {
	case <-c.lived:
		c.walk(ctx, p)
		return
	default:
	}
	select {
	case <-c.lived:
	case <-ctx.Done():
	}
}

// leaveLife reports as left what couldn't be tried as the charm's life isn't known: at least one scenario of each promise.
func (c *search) leaveLife() {
	for _, name := range c.Promises {
		if c.unlived && ofALife(name) {
			c.report.Left[name]++
		}
	}
}
