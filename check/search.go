package check

import (
	"cmp"
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/script"
)

// Options say how a charm is checked.
type Options struct {
	// Params say how worlds are.
	Params script.Params
	// For is how long new scenarios are tried, once the charm's world is made; what is found
	// meanwhile is still made short.
	For time.Duration
	// Seed is for what is left to chance.
	Seed uint64
	// Parallel is how many worlds there are at once; 0: one for each processor.
	Parallel int
	// Promises are the names of those that are checked; none: all.
	Promises []string
	// Tell is told in a line what is being done; nil: nobody is.
	Tell func(line string)
	// Trace is told each line that was carried out, and how long that took.
	Trace func(line string, took time.Duration)
}

// search is a check that goes on.
type search struct {
	Options
	world    World
	deadline time.Time

	mu     sync.Mutex
	queue  []probe
	report Report
	known  map[string]int // findings by their causes
	seen   map[string]bool
	failed error
}

// Check finds out which promises a charm breaks. The error says why that can't be found out; a
// report beside it has what was found until then.
func Check(ctx context.Context, s Subject, o Options) (*Report, error) {
	began := time.Now()
	if len(o.Promises) == 0 {
		for _, p := range Promises() {
			o.Promises = append(o.Promises, p.Name)
		}
	}
	if o.Parallel <= 0 {
		o.Parallel = runtime.NumCPU()
	}
	c := &search{Options: o, known: map[string]int{}, seen: map[string]bool{}}
	c.report = Report{Charm: s.Charm.Name, Seed: o.Seed, Tried: map[string]int{}, Left: map[string]int{}, Met: []string{}, Findings: []Finding{}}
	first, err := newPlayer(ctx, s, o.Params, o.Trace)
	if err != nil {
		return nil, errors.Trace(err)
	}
	players := []*player{first}
	defer func() {
		for _, p := range players {
			_ = p.close() // what it has to say of guarantees is unitd's, and no finding
		}
	}()
	c.tell("making a world for %s", s.Charm.Name)
	if c.world, err = first.learn(ctx, slices.Contains(o.Promises, Killed) || slices.Contains(o.Promises, InterruptedInstall)); err != nil {
		var f *failed
		if !errors.As(err, &f) || f.misuse || f.at == 0 || ctx.Err() != nil {
			return nil, errors.Annotate(cmp.Or(ctx.Err(), err), "cannot deploy the charm")
		}
		c.find(ctx, first, probe{promise: EmptyDatabag, parts: [][]string{c.world.bare()}}, f)
		c.look(first)
		return c.end(began), errors.Trace(cmp.Or(ctx.Err(), c.failed))
	}
	chance := rand.New(rand.NewPCG(o.Seed, 0))
	c.queue = probes(c.world, o.Promises, chance)
	c.tell("%d scenarios", len(c.queue))
	for len(players) < min(o.Parallel, len(c.queue)) {
		p, err := newPlayer(ctx, s, o.Params, o.Trace)
		if err != nil {
			return nil, errors.Trace(err)
		}
		players = append(players, p)
	}
	c.deadline = time.Now().Add(o.For)
	var all sync.WaitGroup
	for _, p := range players {
		all.Go(func() { c.work(ctx, p) })
	}
	all.Wait()
	return c.end(began), errors.Trace(cmp.Or(ctx.Err(), c.failed))
}

// end is the report.
func (c *search) end(began time.Time) *Report {
	for _, p := range c.queue {
		c.report.Left[p.promise]++
	}
	c.report.Took = time.Since(began)
	c.report.World, c.report.Odd = c.world.origins(), append(c.report.Odd, c.world.Odd...)
	c.report.Findings = slices.DeleteFunc(c.report.Findings, func(f Finding) bool { return len(f.Steps) == 0 })
	for _, name := range hooks.Names(c.world.Charm, c.world.Application()) {
		if c.seen[name] {
			c.report.Met = append(c.report.Met, name)
		} else {
			c.report.NotMet = append(c.report.NotMet, name)
		}
	}
	slices.SortStableFunc(c.report.Findings, func(a, b Finding) int { return ordinal(a.Promise) - ordinal(b.Promise) })
	return &c.report
}

// ordinal is where a promise is among all.
func ordinal(name string) int {
	return slices.IndexFunc(Promises(), func(p Promise) bool { return p.Name == name })
}

// work tries what there is to be tried until there is no more, or no time.
func (c *search) work(ctx context.Context, p *player) {
	for {
		c.mu.Lock()
		if len(c.queue) == 0 || c.failed != nil || ctx.Err() != nil || time.Now().After(c.deadline) {
			c.mu.Unlock()
			return
		}
		next := c.queue[0]
		c.queue = c.queue[1:]
		c.report.Tried[next.promise]++
		c.mu.Unlock()
		err := p.play(next.setUp, next.lines())
		c.look(p)
		var f *failed
		switch {
		case err == nil:
		case !errors.As(err, &f):
			c.fail(ctx, errors.Annotatef(err, "cannot try %s:\n%s", next.promise, strings.Join(append(slices.Clone(next.setUp), next.lines()...), "\n")))
			return
		case f.misuse:
			c.odd(next, f)
		default:
			c.find(ctx, p, next, f)
		}
	}
}

// look notes the hooks that a player has met.
func (c *search) look(p *player) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for hook := range p.here.seen {
		name, _, _ := strings.Cut(hook, "=")
		name, _, _ = strings.Cut(name, "(")
		c.seen[name] = true
	}
}

func (c *search) fail(ctx context.Context, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil && ctx.Err() == nil {
		c.failed = err
	}
}

// odd notes a scenario that couldn't be carried out.
func (c *search) odd(p probe, f *failed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Odd = append(c.report.Odd, p.promise+": "+f.Error())
}

func (c *search) tell(format string, args ...any) {
	if c.Tell != nil {
		c.Tell(sprintf(format, args...))
	}
}

// find makes a finding of a probe that has failed, unless its cause is known. The rest of the
// probe is tried later.
func (c *search) find(ctx context.Context, p *player, pr probe, f *failed) {
	if f.at >= len(pr.setUp) {
		if rest, ok := pr.without(f.at - len(pr.setUp)); ok && len(pr.parts) > 1 {
			rest.promise = pr.promise
			c.mu.Lock()
			c.queue = append(c.queue, rest)
			c.mu.Unlock()
		}
	}
	_, cause := whatHappened(pr.promise, f)
	if c.isKnown(cause, pr.promise, f.at < len(pr.setUp)) {
		return
	}
	lines := append(slices.Clone(pr.setUp), pr.lines()...)[:f.at+1]
	s := &shrinking{ctx: ctx, player: p, promise: pr.promise, cause: cause, until: time.Now().Add(shrinkTime)}
	lines, f, failed, tried, err := s.shrink(lines, f)
	if err != nil {
		c.fail(ctx, err)
		return
	}
	what, _ := whatHappened(pr.promise, f)
	found := Finding{Promise: pr.promise, What: what, Why: f.why, Cause: cause, Steps: lines, Failed: failed, Tried: tried}
	c.mu.Lock()
	at := c.known[cause]
	found.Also = c.report.Findings[at].Also
	c.report.Findings[at] = found
	c.mu.Unlock()
}

// isKnown says whether there is a finding of that cause, and notes that there is one from now on.
// before: nothing of the promise's own was tried yet.
func (c *search) isKnown(cause, promise string, before bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.known[cause]
	if !known {
		c.known[cause] = len(c.report.Findings)
		c.report.Findings = append(c.report.Findings, Finding{Promise: promise, Cause: cause})
		return false
	}
	if before {
		c.report.Tried[promise]--
		c.report.Left[promise]++
		return true
	}
	if found := &c.report.Findings[at]; found.Promise != promise && !slices.Contains(found.Also, promise) {
		found.Also = append(found.Also, promise)
	}
	return true
}
