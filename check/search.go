package check

import (
	"cmp"
	"context"
	"maps"
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
	// For is how long new scenarios are tried, once the charm's world is made and its life is known; what is found
	// meanwhile is still made short.
	For time.Duration
	// Seed is for what is left to chance.
	Seed uint64
	// Parallel is how many worlds there are at once; 0: one for each processor.
	Parallel int
	// Resume is what a former check of the same charm has come to; nil: there was none.
	Resume *Progress
	// Promises are the names of those that are checked; none: all.
	Promises []string
	// Net: units reach the network beyond this host. Else only the first unit does, which is
	// removed again: the others have what its package managers have fetched.
	Net bool
	// FailFast: nothing more is tried once there is a finding whose cause isn't among Known, and that
	// a former check which this one goes on from hadn't.
	FailFast bool
	Known    []string
	// Tell is told in a line what is being done; nil: nobody is.
	Tell func(line string)
	// Trace is told each line that was carried out, and how long that took.
	Trace func(line string, took time.Duration)
}

// search is a check that goes on.
type search struct {
	Options
	world World
	// life is the world with a whole life; unlived: it isn't known yet, and some promises are about it.
	life    World
	unlived bool
	lived   chan struct{} // closed once it is, or won't be

	mu       sync.Mutex
	deadline time.Time // zero: not known yet
	queue    []probe
	walker   *walker
	report   Report
	known    map[string]int // findings by their causes
	// blocked are how many scenarios of each promise couldn't be begun, by a cause that is known.
	blocked map[string]int
	looks   looks
	failed  error
	// suspected: a hook has taken long.
	suspected bool
	// ranOpen: the charm could be deployed where units reach the network.
	ranOpen bool
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
	// What a charm takes to be deployed isn't the charm's fault, but a hook that hangs may not last for ever.
	o.Params.Patience = min(max(o.For, usualPatience), 15*time.Minute)
	if o.Parallel <= 0 {
		o.Parallel = runtime.NumCPU()
	}
	c := &search{Options: o, known: map[string]int{}, blocked: map[string]int{}, looks: newLooks(), lived: make(chan struct{})}
	c.report = Report{Charm: s.Charm.Name, Seed: o.Seed, Tried: map[string]int{}, Left: map[string]int{}, Met: []string{}, Findings: []Finding{}}
	code, err := ownCode(s.Dir)
	if err != nil {
		return nil, err
	}
	s.code = code
	var players []*player
	defer func() {
		for _, p := range players {
			_ = p.close() // what it has to say of guarantees is unitd's, and no finding
		}
	}()
	open := func() error {
		p, err := newPlayer(ctx, s, c.Params, o.Trace)
		if err == nil {
			players = append(players, p)
		}
		return errors.Trace(err)
	}
	release, err := c.fetch(ctx, s)
	defer release()
	if err != nil {
		return nil, errors.Trace(cmp.Or(ctx.Err(), err))
	}
	if err := open(); err != nil {
		return nil, err
	}
	if more, err := c.begin(ctx, s, players[0]); err != nil {
		return nil, err
	} else if !more {
		return c.end(began), errors.Trace(cmp.Or(ctx.Err(), c.failed))
	}
	for len(players) < o.Parallel {
		if err := open(); err != nil {
			return nil, err
		}
	}
	var all sync.WaitGroup
	for i, p := range players {
		all.Go(func() {
			if i == 0 {
				c.live(ctx, p)
			}
			c.work(ctx, p)
		})
	}
	all.Wait()
	return c.end(began), errors.Trace(cmp.Or(ctx.Err(), c.failed))
}

// begin makes the charm's world, but for its life, and what there is to try in it; or it takes both from a former
// check. more: there is something.
func (c *search) begin(ctx context.Context, s Subject, p *player) (more bool, err error) {
	if c.Resume != nil {
		c.resume(s)
		c.tell("going on with %s: %d scenarios are left", s.Charm.Name, len(c.queue))
		return true, nil
	}
	c.tell("making a world for %s", s.Charm.Name)
	if c.world, err = p.learn(ctx); err != nil {
		var f *failed
		if errors.Is(err, errPlaceholder) {
			return false, err
		}
		if !errors.As(err, &f) || f.misuse || f.at == 0 || ctx.Err() != nil {
			return false, errors.Annotate(cmp.Or(ctx.Err(), err), "cannot deploy the charm")
		}
		if len(s.Placeholders) > 0 {
			return false, s.lacking(f)
		}
		if err := s.lasting(f); err != nil {
			return false, err
		}
		if c.report.Closed && c.ranOpen {
			what, _ := whatHappened(EmptyDatabag, f)
			return false, errors.Errorf("cannot check %s: only where units reach the network can it be deployed (%s); use --net", s.Charm.Name, what)
		}
		c.find(ctx, p, probe{promise: EmptyDatabag, parts: [][]string{c.world.bare()}}, f)
		c.look(p)
		return false, nil
	}
	chance := rand.New(rand.NewPCG(c.Seed, 0))
	c.queue = probes(c.world, slices.DeleteFunc(slices.Clone(c.Promises), ofALife), chance)
	c.walker = newWalker(c.world, chance)
	c.unlived = slices.ContainsFunc(c.Promises, ofALife)
	if slices.Contains(c.Promises, OrderOfRelations) {
		c.queue = spread(tours(c.world), c.queue, 1)
	}
	return true, nil
}

// end is the report.
func (c *search) end(began time.Time) *Report {
	c.report.Left = maps.Clone(c.blocked)
	for _, p := range c.queue {
		c.report.Left[p.promise]++
	}
	c.report.Took += time.Since(began)
	c.leaveLife()
	c.report.Placeholders, c.report.Costs = c.world.Placeholders, c.looks.costs.all()
	c.report.World, c.report.Odd = c.world.origins(), append(c.report.Odd, c.world.Odd...)
	c.report.Findings = slices.DeleteFunc(c.report.Findings, func(f Finding) bool { return len(f.Steps) == 0 })
	c.report.Met, c.report.NotMet = []string{}, nil
	for _, name := range hooks.Names(c.world.Charm, c.world.Application()) {
		switch {
		case strings.HasPrefix(name, "juju-info-relation-"): // every charm has that endpoint, and no code for it
		case c.looks.hooks[name]:
			c.report.Met = append(c.report.Met, name)
		default:
			c.report.NotMet = append(c.report.NotMet, name)
		}
	}
	c.report.Lines, c.report.LinesUnknown = c.looks.lines.files(), c.linesUnknown()
	if slices.Contains(c.Promises, OrderOfRelations) {
		c.report.Meetings = c.world.meetings(slices.Sorted(maps.Keys(c.looks.hooks)), c.looks.met)
	}
	slices.SortStableFunc(c.report.Findings, func(a, b Finding) int { return ordinal(a.Promise) - ordinal(b.Promise) })
	if c.walker != nil {
		c.report.Progress = c.progress()
	}
	return &c.report
}

// ordinal is where a promise is among all.
func ordinal(name string) int {
	return slices.IndexFunc(Promises(), func(p Promise) bool { return p.Name == name })
}

// work tries what there is to be tried, and then walks until there is no time.
func (c *search) work(ctx context.Context, p *player) {
	for {
		next, ok, over := c.next(ctx)
		switch {
		case over:
			return
		case !ok:
			c.idle(ctx, p)
			continue
		}
		err := p.play(next.setUp, next.lines())
		c.look(p)
		c.judge(ctx, p, next, err)
	}
}

// next is what is to be tried next; over: there is no time, or no sense in it.
func (c *search) next(ctx context.Context) (next probe, ok, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over(ctx) {
		return probe{}, false, true
	}
	if len(c.queue) == 0 {
		return probe{}, false, false
	}
	next, c.queue = c.queue[0], c.queue[1:]
	c.report.Tried[next.promise]++
	return next, true, false
}

func (c *search) over(ctx context.Context) bool {
	late := !c.deadline.IsZero() && time.Now().After(c.deadline)
	return c.failed != nil || ctx.Err() != nil || late || c.FailFast && c.found()
}

// found says whether there is a finding that has been made short, and that nobody knows.
func (c *search) found() bool {
	return slices.ContainsFunc(c.report.Findings, func(f Finding) bool { return len(f.Steps) > 0 && !slices.Contains(c.Known, f.Cause) })
}

// judge says what comes of a probe.
func (c *search) judge(ctx context.Context, p *player, pr probe, err error) {
	var f *failed
	switch {
	case err == nil:
	case !errors.As(err, &f):
		c.back(ctx, pr)
		c.fail(ctx, errors.Annotatef(err, "cannot try %s:\n%s", pr.promise, strings.Join(append(slices.Clone(pr.setUp), pr.lines()...), "\n")))
	case f.misuse:
		c.odd(pr, f)
		c.rest(pr, f)
	case len(pr.setUp)+len(pr.first) > 0 && p.refused(f):
		c.skip(pr, f.line)
	default:
		c.find(ctx, p, pr, f)
		c.look(p) // what has run meanwhile is nothing new of the next one
	}
}

// look takes what a player has seen, and says whether something of it was new.
func (c *search) look(p *player) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := c.looks.take(&p.looks)
	c.suspect()
	return fresh
}

func (c *search) fail(ctx context.Context, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil && ctx.Err() == nil {
		c.failed = err
	}
}

// maxOdd bounds the scenarios that are told of that couldn't be carried out.
const maxOdd = 20

// odd notes a scenario that couldn't be carried out.
func (c *search) odd(p probe, f *failed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text := p.promise + ": " + f.Error(); len(c.report.Odd) < maxOdd && !slices.Contains(c.report.Odd, text) {
		c.report.Odd = append(c.report.Odd, text)
	}
}

func (c *search) tell(format string, args ...any) {
	if c.Tell != nil {
		c.Tell(sprintf(format, args...))
	}
}

// find makes a finding of a probe that has failed, unless its cause is known. The rest of the
// probe is tried later.
func (c *search) find(ctx context.Context, p *player, pr probe, f *failed) {
	whole, first := pr, f
	if pr.promise == OrderOfRelations && !strings.HasPrefix(f.line, "same ") {
		if other := c.world.blamed(append(slices.Clone(pr.setUp), pr.lines()...)[:f.at+1]); slices.Contains(c.Promises, other) {
			pr.promise = other
		}
	}
	_, cause := whatHappened(pr.promise, f)
	before := ""
	if f.at < len(pr.setUp) {
		before = whole.promise
	}
	if c.isKnown(cause, pr.promise, before) {
		c.rest(whole, first)
		return
	}
	pr, f, cause, err := c.sure(p, pr, f, cause)
	switch {
	case err != nil:
		c.fail(ctx, err)
		c.back(ctx, whole)
		return
	case f == nil:
		c.rest(whole, first)
		return
	}
	play, hurried := p.trials(pr, f)
	s := &shrinking{ctx: ctx, play: play, promise: pr.promise, cause: cause, until: time.Now().Add(shrinkTime)}
	lines, last, failed, tried, err := s.shortest(pr, f)
	if err == nil && hurried {
		lines, last, err = p.patiently(lines, pr, f)
	}
	if err != nil {
		c.fail(ctx, err)
		c.back(ctx, whole)
		return
	}
	c.rest(whole, first)
	what, _ := whatHappened(pr.promise, last)
	found := Finding{Promise: pr.promise, What: inWords(what), Why: last.why, Cause: cause, Steps: lines, Failed: failed, Tried: tried}
	if last.set != "" {
		found.What += c.world.inItsWords(last.set)
	}
	found.File, found.Line = p.source(last)
	c.mu.Lock()
	at := c.known[cause]
	found.Also = c.report.Findings[at].Also
	c.report.Findings[at] = found
	c.mu.Unlock()
}

// rest has what is left of a probe tried later, without the part that has failed.
func (c *search) rest(pr probe, f *failed) {
	if f.at < len(pr.setUp) || len(pr.parts) < 2 {
		return
	}
	if rest, ok := pr.without(f.at - len(pr.setUp)); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.queue = append(c.queue, rest)
	}
}

// back puts a probe back whose trial was broken off, for a check that goes on later.
func (c *search) back(ctx context.Context, pr probe) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(pr.setUp)+len(pr.parts) == 0 || c.report.Tried[pr.promise] == 0 {
		return
	}
	c.report.Tried[pr.promise]--
	c.queue = append([]probe{pr}, c.queue...)
}

// isKnown says whether there is a finding of that cause, and notes that there is one from now on.
// before: it has come before anything of that promise's own was tried; "": it hasn't.
func (c *search) isKnown(cause, promise, before string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.known[cause]
	if !known {
		c.known[cause] = len(c.report.Findings)
		c.report.Findings = append(c.report.Findings, Finding{Promise: promise, Cause: cause})
		return false
	}
	if before != "" {
		c.report.Tried[before]--
		c.blocked[before]++
		return true
	}
	if found := &c.report.Findings[at]; found.Promise != promise && !slices.Contains(found.Also, promise) {
		found.Also = append(found.Also, promise)
	}
	return true
}
