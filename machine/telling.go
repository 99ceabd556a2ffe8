package machine

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/state"
)

// telling has what the agents of all units here want people to see, and sees to
// it that the store gets it. It is safe for use by many goroutines.
type telling struct {
	health *health
	clock  clock.Clock
	log    *slog.Logger

	mu    sync.Mutex
	units map[string]*desire // by the unit's id
	again chan struct{}      // has room for one: "something wasn't told"
	few   untold
	// waits are for what is told once it has lasted; see end.
	waits sync.WaitGroup
	// images says of those that are being fetched how far they are, by their references.
	images map[string]string
}

func newTelling(c Config, h *health) *telling {
	t := &telling{health: h, clock: c.Clock, log: c.Log, units: map[string]*desire{}, images: map[string]string{}, again: make(chan struct{}, 1)}
	h.look = func() {
		for _, d := range t.all("") {
			d.poke()
		}
	}
	return t
}

// fetching notes how far an image is.
func (t *telling) fetching(p oci.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := p.Text(); text != "" {
		t.images[p.Reference] = text
		return
	}
	delete(t.images, p.Reference)
}

// fetched are the images that are being fetched, and how far they are.
func (t *telling) fetched() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.images)
}

// desire is how a unit is to look, as far as the store doesn't have it yet.
type desire struct {
	telling *telling
	name    model.UnitName
	id      string
	model   *state.Model // as the unit has it
	idle    func()       // is called once all is told
	poke    func()       // has the unit look again
	// turn is had by whoever writes of the unit what could be overtaken: it has
	// room for one.
	turn chan struct{}

	mu     sync.Mutex
	want   state.Report
	wanted int // counts what was wanted
	// lasts has the store told of what is wanted of the agent once that has lasted;
	// nil: that is nothing that passes.
	lasts *wait
	begun int // counts what may pass
}

// wait is for what is told once it has lasted. Over is called once nobody waits any more.
type wait struct {
	timer clock.Timer
	over  func()
}

// stop ends a wait, unless that is over by itself.
func (w *wait) stop() {
	if w.timer.Stop() {
		w.over()
	}
}

// end ends what waits to be told, and returns once nothing is written any more. The agents
// of the units have ended before.
func (t *telling) end() {
	for _, d := range t.all("") {
		d.mu.Lock()
		if d.lasts != nil {
			d.lasts.stop()
		}
		d.mu.Unlock()
	}
	t.waits.Wait()
}

// lasting is how long a unit's agent must have been at something for the store to have
// that while it goes on. Whoever asks the agent sees it at once (Word), and the history
// of the unit has it once it is over: most hooks are shorter, and to write of each twice
// would be half of what the store has to do.
const lasting = time.Second

// of is the desire of a unit, which outlives the unit's agent.
func (t *telling) of(name model.UnitName, id string, m *state.Model, idle, poke func()) *desire {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := &desire{telling: t, name: name, id: id, model: m, idle: idle, poke: poke, turn: make(chan struct{}, 1)}
	if former, ok := t.units[id]; ok {
		former.passed()
		d.turn, d.want = former.turn, former.untold()
		t.few.drop(former)
	}
	t.units[id] = d
	d.note()
	return d
}

// forget drops what was to be told of a unit that is gone.
func (t *telling) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d, ok := t.units[id]; ok {
		t.few.drop(d)
		delete(t.units, id)
	}
}

// all are the desires of the units of a model; empty: of all.
func (t *telling) all(uuid string) []*desire {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*desire
	for _, d := range t.units {
		if uuid == "" || d.model.UUID() == uuid {
			all = append(all, d)
		}
	}
	return all
}

// told says whether the store has all that it is to have by now of a model's units;
// empty: of all. It looks at those alone of which something was wanted, as it is asked
// after each hook.
func (t *telling) told(uuid string) bool { return t.untold(uuid) == "" }

// untold is one of those units of which it doesn't.
func (t *telling) untold(uuid string) model.UnitName {
	for _, d := range t.few.all() {
		if (uuid == "" || d.model.UUID() == uuid) && d.owes() && t.has(d) {
			return d.name
		}
	}
	return ""
}

// has says whether a desire is that of a unit which is there, and of its present agent.
func (t *telling) has(d *desire) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.units[d.id] == d
}

// run tells what couldn't be told, until ctx ends.
func (t *telling) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.again:
		}
		for try := 0; !t.told(""); try++ {
			hope := t.health.hoped()
			select {
			case <-ctx.Done():
				t.lastTry(ctx)
				return
			case <-t.clock.After(min(100*time.Millisecond<<min(try, 10), retellAtMost)):
			case <-hope:
				try = 0
			}
			for _, d := range t.all("") {
				if d.owes() && d.tryTell(ctx) {
					d.idle()
				}
			}
		}
	}
}

// retellAtMost is the longest time between two tries to tell.
const retellAtMost = 5 * time.Second

// lastTry tells what it can before the agent ends.
func (t *telling) lastTry(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	for _, d := range t.all("") {
		d.tell(ctx)
	}
}

// untold is what the store doesn't have yet.
func (d *desire) untold() state.Report {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.want
}

// owes says whether there is something that the store is to have by now.
func (d *desire) owes() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.want
	if d.lasts != nil {
		now.Agent = nil // it may pass
	}
	return !now.Empty()
}

// say has people see something, now if the store takes it, and else later.
func (d *desire) say(ctx context.Context, r state.Report) {
	d.mu.Lock()
	d.add(r)
	d.mu.Unlock()
	d.tell(ctx)
}

// sayIfLasts has people see what the agent of the unit is at: who asks the agent now,
// and the store's readers if it lasts.
func (d *desire) sayIfLasts(ctx context.Context, r state.Report) {
	ctx = context.WithoutCancel(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(r)
	d.begun++
	as := d.begun
	d.telling.waits.Add(1)
	over := sync.OnceFunc(d.telling.waits.Done)
	d.lasts = &wait{over: over}
	d.lasts.timer = d.telling.clock.AfterFunc(lasting, func() {
		defer over()
		d.mu.Lock()
		goesOn := d.lasts != nil && d.begun == as
		if goesOn {
			d.lasts = nil
		}
		d.mu.Unlock()
		if !goesOn {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, lastWords)
		defer cancel()
		d.tell(ctx)
		d.idle() // the unit may have had nothing more to do meanwhile
	})
}

// add adds to what is wanted. What the agent was at until then, and the store wasn't
// told of, has passed. Its caller holds mu.
func (d *desire) add(r state.Report) {
	if r.Agent != nil {
		d.pass()
	}
	d.want = d.want.Then(r)
	d.wanted++
	d.note()
}

// passed says that what the agent of the unit was at is over.
func (d *desire) passed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pass()
}

// pass is passed for who holds mu.
func (d *desire) pass() {
	if d.lasts == nil {
		return
	}
	d.lasts.stop()
	d.lasts = nil
	if d.want.Agent != nil {
		d.want = d.want.Then(state.Report{Passed: []model.Status{*d.want.Agent}})
		d.want.Agent = nil
	}
}

// tryTell is tell, unless somebody writes of the unit meanwhile, who may wait for
// long: then it is false.
func (d *desire) tryTell(ctx context.Context) bool {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
		d.write(ctx)
		return true
	default:
		return false
	}
}

// tell writes what is wanted when it is its turn. What can't be written is tried
// again by the run of the telling.
func (d *desire) tell(ctx context.Context) {
	give, err := d.hold(ctx)
	if err != nil {
		d.later()
		return
	}
	defer give()
	d.write(ctx)
}

// write writes what is wanted, in its turn; of a unit that is gone there is nothing
// to tell.
func (d *desire) write(ctx context.Context) {
	d.mu.Lock()
	want, as := d.want, d.wanted
	d.mu.Unlock()
	if want.Empty() {
		return
	}
	err := d.model.Tell(ctx, d.name, want)
	if err == nil || errors.Is(err, errors.NotFound) || errors.Is(err, state.ErrManaged) {
		d.mu.Lock()
		defer d.mu.Unlock()
		defer d.note()
		if d.wanted == as {
			d.want = state.Report{}
		} else { // whoever has added to it meanwhile need not tell soon
			d.want = without(d.want, want)
		}
		return
	}
	if !errors.Is(err, errNotWritten) && ctx.Err() == nil {
		d.telling.log.Error("cannot write the status of a unit", "unit", d.name, "err", err)
	}
	d.later()
}

// later has the run of the telling try again.
func (d *desire) later() {
	select {
	case d.telling.again <- struct{}{}:
	default:
	}
}

// hold keeps anything from being told until give is called.
func (d *desire) hold(ctx context.Context) (give func(), err error) {
	select {
	case d.turn <- struct{}{}:
		return func() { <-d.turn }, nil
	case <-ctx.Done():
		return nil, errors.Trace(ctx.Err())
	}
}

// overtake drops what was to be told that something newer in the store has made
// untrue: a status of the workload, or the failed run that has committed by now.
func (d *desire) overtake(workload, failed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted++
	if workload {
		d.want.Workload = nil
	}
	if failed {
		d.want.Failed = nil
	}
	d.note()
}
