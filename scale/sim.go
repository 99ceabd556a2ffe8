package scale

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/memory"
	"github.com/unitd/unitd/uniter/resolver"
)

const (
	// notice is how long it takes until an agent looks that a change is about.
	notice = 100 * time.Millisecond
	// shortest and longest is what hooks take.
	shortest, longest = time.Second, 3 * time.Second
)

// sim is a simulation.
type sim struct {
	Shape
	clock   *virtual
	chance  *rand.Rand
	store   *counted
	model   *state.Model
	changes <-chan state.Change
	batches <-chan store.Batch
	rev     int64 // up to which the changes have been taken note of
	units   map[model.UnitName]*unit
	hosts   []*host
	// members are the units that are awake, by application, in their order.
	members   map[string][]*unit
	endpoints map[model.RelationID][]model.Endpoint
	followers followers
	future    future
	ticket    int64
	looking   Traffic
	f         *Figures
}

// host is a machine with its agent: units on it run their hooks in turn.
type host struct {
	address string
	units   []*unit
	busy    bool
	waiting []*unit
}

// settings are in a unit's databag from its beginning; see package machine.
func (h *host) settings() model.Settings {
	return model.Settings{"private-address": h.address, "ingress-address": h.address, "egress-subnets": h.address + "/32"}
}

// Run deploys a model and lets its agents work until none has anything to do.
// The error is NotValid for a Shape that can't be.
func Run(ctx context.Context, shape Shape) (*Figures, error) {
	if err := shape.Validate(); err != nil {
		return nil, errors.Trace(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &virtual{Clock: clock.WallClock, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	engine := memory.New(c)
	defer engine.Close()
	s := &sim{
		Shape: shape, clock: c, chance: rand.New(rand.NewPCG(shape.Seed, 1)),
		store: &counted{Store: engine, shared: map[string]int64{}},
		units: map[model.UnitName]*unit{}, members: map[string][]*unit{}, endpoints: map[model.RelationID][]model.Endpoint{}, followers: followers{},
		f: &Figures{Shape: shape},
	}
	if err := s.run(ctx); err != nil {
		return nil, errors.Trace(err)
	}
	return s.f, nil
}

func (s *sim) run(ctx context.Context) error {
	m, err := state.NewController(s.store, s.clock).AddModel(ctx, "scale")
	if err != nil {
		return errors.Trace(err)
	}
	s.model = m
	urls, err := addCharms(ctx, m)
	if err != nil {
		return errors.Trace(err)
	}
	awake := s.services()
	if s.Awake > 0 {
		awake = s.Awake
	}
	for n := awake; n < s.services(); n++ {
		if err := s.documents(ctx, urls, n); err != nil {
			return errors.Trace(err)
		}
	}
	before := &Figures{}
	if err := before.stored(ctx, s.store.Store, nil); err != nil {
		return errors.Trace(err)
	}
	s.store.Traffic, s.store.shared = Traffic{}, map[string]int64{}
	began := s.clock.now
	if err := s.deployed(ctx, urls, awake); err != nil {
		return errors.Trace(err)
	}
	if err := s.play(ctx); err != nil {
		return errors.Trace(err)
	}
	s.f.Settled, s.f.All, s.f.Looking = s.clock.now.Sub(began), s.store.Traffic, s.looking
	s.f.Hot = map[string]int64{}
	for key, n := range s.store.shared {
		s.f.Hot[kindOf(key)] = max(s.f.Hot[kindOf(key)], n)
	}
	if err := s.f.stored(ctx, s.store.Store, before.Kinds); err != nil {
		return errors.Trace(err)
	}
	s.f.Keys, s.f.Bytes, s.f.KeyBytes = s.f.Keys-before.Keys, s.f.Bytes-before.Bytes, s.f.KeyBytes-before.KeyBytes
	return nil
}

// deployed deploys the services that are awake, and puts their units on hosts.
func (s *sim) deployed(ctx context.Context, urls [service]string, awake int) error {
	for n := range awake {
		if err := s.deploy(ctx, s.model, urls, n); err != nil {
			return errors.Trace(err)
		}
	}
	if err := s.watch(ctx); err != nil {
		return errors.Trace(err)
	}
	var all []*unit
	for n := range awake {
		for kind := range kinds {
			app := application(kind, n)
			units, err := s.unitsOf(ctx, app)
			if err != nil {
				return errors.Trace(err)
			}
			s.members[app] = units
			all = append(all, units...)
		}
	}
	s.f.Measured = len(all)
	// As many hosts as there are for so many units, and each service on hosts all
	// over them.
	hosts := max(1, s.Machines*len(all)/s.Units)
	for i := range hosts {
		s.hosts = append(s.hosts, &host{address: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)})
	}
	s.chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, u := range all {
		u.host = s.hosts[i%hosts]
		u.host.units = append(u.host.units, u)
		s.units[u.doc.Name] = u
	}
	for _, h := range s.hosts {
		if err := s.follow(ctx, h); err != nil {
			return errors.Trace(err)
		}
		s.at(time.Duration(s.chance.Int64N(int64(cmp.Or(s.Boot, time.Minute)))), func(ctx context.Context) error { return s.start(ctx, h) })
	}
	return nil
}

func (s *sim) unitsOf(ctx context.Context, app string) ([]*unit, error) {
	var units []*unit
	a, err := s.model.Application(ctx, app)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for n := range a.NextUnit {
		doc, err := s.model.Unit(ctx, model.NewUnitName(app, n))
		if err != nil {
			return nil, errors.Trace(err)
		}
		u := &unit{doc: doc, model: s.model.Of(doc), local: resolver.New(doc.Name)}
		u.local.ID = doc.ID
		u.lookout = u.model.Lookout(doc.Name)
		units = append(units, u)
	}
	return units, nil
}

// start starts the agent of a host: it says that it is there, claims the
// leaderships that are free, and takes its units on.
func (s *sim) start(ctx context.Context, h *host) error {
	lease, err := s.store.Grant(ctx, time.Minute)
	if err != nil {
		return errors.Trace(err)
	}
	for _, u := range h.units {
		told := state.MachineDoc{ID: u.doc.Machine, Hostname: "host-" + h.address, Addresses: []string{h.address}, BaseName: "ubuntu", BaseChannel: "24.04"}
		if err := s.model.Appear(ctx, lease, told); err != nil {
			return errors.Trace(err)
		}
		now, _, err := s.model.Leadership(ctx, u.application())
		if err != nil {
			return errors.Trace(err)
		}
		if now == "" {
			if err := s.claim(ctx, u, lease); err != nil {
				return errors.Trace(err)
			}
		}
		if err := u.model.SetDeployed(ctx, u.doc.Name); err != nil {
			return errors.Trace(err)
		}
		u.phase = asleep
		s.wake(u)
	}
	return errors.Trace(s.tell(ctx))
}

func (s *sim) claim(ctx context.Context, u *unit, lease store.LeaseID) error {
	_, err := s.model.ClaimLeadership(ctx, u.doc.Name, lease)
	return errors.Trace(err)
}

// play goes on until nothing is to happen any more.
func (s *sim) play(ctx context.Context) error {
	for len(s.future) > 0 {
		e := heap.Pop(&s.future).(event)
		s.clock.now = e.at
		if err := e.do(ctx); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// wake has a unit look soon, if it sleeps.
func (s *sim) wake(u *unit) {
	if u.phase == asleep {
		u.phase = due
		s.at(notice, func(ctx context.Context) error { return s.turn(ctx, u, false) })
	}
}

// turn lets a unit look, and do what then is due. inTurn says that it is its
// turn to run a hook on its host.
func (s *sim) turn(ctx context.Context, u *unit, inTurn bool) error {
	fromSleep := u.settled
	op, err := s.look(ctx, u)
	if err != nil {
		return errors.Trace(err)
	}
	if inTurn && op.Verb != resolver.RunHook {
		s.next(u.host)
	}
	switch op.Verb {
	case resolver.Idle:
		u.phase = asleep
		if fromSleep {
			s.f.Vain++
			return nil
		}
		u.settled = true
		if err := u.agentStatus(ctx, model.StatusIdle, ""); err != nil {
			return errors.Trace(err)
		}
		return errors.Trace(s.tell(ctx))
	case resolver.RunHook:
		u.settled = false
		if u.host.busy && !inTurn {
			u.phase = queued
			u.host.waiting = append(u.host.waiting, u)
			return nil
		}
		u.host.busy = true
		if err := s.begin(ctx, u, op); err != nil {
			return errors.Trace(err)
		}
		s.at(shortest+time.Duration(s.chance.Int64N(int64(longest-shortest))), func(ctx context.Context) error { return s.ended(ctx, u) })
		return errors.Trace(s.tell(ctx))
	}
	u.settled = false
	if err := s.do(ctx, u, op); err != nil {
		return errors.Trace(err)
	}
	s.again(u)
	return errors.Trace(s.tell(ctx))
}

// ended is the end of the hook of u.
func (s *sim) ended(ctx context.Context, u *unit) error {
	if err := s.end(ctx, u); err != nil {
		return errors.Trace(err)
	}
	s.next(u.host)
	s.again(u)
	return errors.Trace(s.tell(ctx))
}

// again has a unit look that has done something.
func (s *sim) again(u *unit) {
	u.phase = due
	s.at(0, func(ctx context.Context) error { return s.turn(ctx, u, false) })
}

// next gives the turn on a host to the next unit. It looks anew: time went by.
func (s *sim) next(h *host) {
	h.busy = len(h.waiting) > 0
	if h.busy {
		u := h.waiting[0]
		h.waiting = h.waiting[1:]
		s.at(0, func(ctx context.Context) error { return s.turn(ctx, u, true) })
	}
}

func (s *sim) event(k resolver.EventKind) resolver.Event {
	return resolver.Event{Kind: k, At: s.clock.now, Jitter: 2*s.chance.Float64() - 1}
}

// virtual is the simulation's clock. What is to happen after a while never does:
// all leases are kept alive.
type virtual struct {
	clock.Clock
	now time.Time
}

// Now is part of clock.Clock.
func (v *virtual) Now() time.Time { return v.now }

// AfterFunc is part of clock.Clock.
func (v *virtual) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := v.Clock.AfterFunc(d+time.Hour, f)
	t.Stop()
	return t
}

// event is something that is to happen; ticket orders what happens at one time.
type event struct {
	at     time.Time
	ticket int64
	do     func(context.Context) error
}

func (s *sim) at(in time.Duration, do func(context.Context) error) {
	s.ticket++
	heap.Push(&s.future, event{s.clock.now.Add(in), s.ticket, do})
}

// future is a heap of what is to happen.
type future []event

func (f future) Len() int      { return len(f) }
func (f future) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *future) Push(e any)   { *f = append(*f, e.(event)) }
func (f future) Less(i, j int) bool {
	return f[i].at.Before(f[j].at) || f[i].at.Equal(f[j].at) && f[i].ticket < f[j].ticket
}
func (f *future) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}
