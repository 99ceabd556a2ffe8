package machine

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// modelAgent runs the agents of one model's units. Everything in it is for the
// goroutine of run.
type modelAgent struct {
	Config
	model    *state.Model
	toolsDir string
	dir      string // models/<uuid>
	lease    *lease
	leases   <-chan struct{}
	log      *slog.Logger
	debugLog *debuglog.Log
	rebooter *rebooter
	units    map[model.UnitName]*running
	ended    chan model.UnitName
	idle     chan struct{} // has room for one: "a unit has found nothing to do"
	// rev is the revision up to which the agent has reacted; mark that of the
	// mark that hasn't come back yet, see tellSettled; dirty says that there
	// were changes since.
	rev, mark int64
	dirty     bool
	// turns are the machines' locks, by machine.
	turns map[string]chan struct{}
	// related are the applications of a relation, which never change.
	related map[model.RelationID][]string
	wait    sync.WaitGroup
}

// running is a unit whose agent was started here.
type running struct {
	*unit
	stop context.CancelFunc
	// err is why the agent ended, once it has.
	err error
}

func newModelAgent(c Config, m *state.Model, toolsDir string, l *lease, leases <-chan struct{}, r *rebooter) *modelAgent {
	return &modelAgent{
		Config: c, model: m, toolsDir: toolsDir, lease: l, leases: leases, rebooter: r,
		dir:   ModelDir(c.Dir, m.UUID()),
		units: map[model.UnitName]*running{}, ended: make(chan model.UnitName), idle: make(chan struct{}, 1),
		turns: map[string]chan struct{}{}, related: map[model.RelationID][]string{},
	}
}

// ModelDir is where an agent keeps what it has of a model: "agents" with a
// directory for each unit, "history", and "debug.log". dir is Config.Dir.
func ModelDir(dir, uuid string) string { return filepath.Join(dir, "models", uuid) }

// LogPath is the log of a model, and HistoryDir has the histories of its units.
func LogPath(dir, uuid string) string { return filepath.Join(ModelDir(dir, uuid), "debug.log") }

// HistoryDir has the histories of a model's units; see package history.
func HistoryDir(dir, uuid string) string { return filepath.Join(ModelDir(dir, uuid), "history") }

func (a *modelAgent) run(ctx context.Context) (err error) {
	for _, d := range []string{filepath.Join(a.dir, "agents"), HistoryDir(a.Dir, a.model.UUID())} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return errors.Annotate(err, "cannot make the model's directory")
		}
	}
	if a.debugLog, err = debuglog.Open(LogPath(a.Dir, a.model.UUID())); err != nil {
		return errors.Trace(err)
	}
	defer a.debugLog.Close()
	a.log = slog.New(debuglog.Handler{Log: a.debugLog, Entity: "machine-0", Module: "unitd", Level: slog.LevelInfo})
	ctx, cancel := context.WithCancel(ctx)
	defer a.drain()
	defer cancel()
	changes, err := a.model.Watch(ctx, 0)
	if err != nil {
		return errors.Trace(err)
	}
	return a.loop(ctx, changes)
}

// drain waits for the units' agents, which have been told to stop.
func (a *modelAgent) drain() {
	go func() {
		a.wait.Wait()
		close(a.ended)
	}()
	for range a.ended {
	}
}

func (a *modelAgent) loop(ctx context.Context, changes <-chan state.Change) error {
	err := a.react(ctx, state.Change{Resync: true, Cleanups: true})
	for {
		// Before the first change too: without units there may never be one.
		if err == nil {
			err = a.tellSettled(ctx)
		}
		if err != nil {
			return errors.Trace(err)
		}
		select {
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		case c, ok := <-changes:
			if !ok {
				return errors.New("the watch of the model has ended")
			}
			err = a.react(ctx, c)
		case name := <-a.ended:
			err = a.unitEnded(ctx, name)
		case <-a.idle:
		case <-a.leases:
			err = a.claimFor(ctx, slices.Collect(maps.Values(a.units)))
		}
	}
}

// tellSettled says that all is done, once nobody here has anything to do: what
// "unitd wait" waits for. What a unit has written just before it had nothing
// more to do may concern another one and not have come back by the watch yet;
// so a mark is written first, and counts once it has come back and everybody
// still has nothing to do.
func (a *modelAgent) tellSettled(ctx context.Context) (err error) {
	for _, u := range a.units {
		if !u.settled() {
			return nil
		}
	}
	switch {
	case a.mark == 0 && a.dirty:
		a.dirty = false
		a.mark, err = a.model.Mark(ctx)
	case a.mark > 0 && a.rev >= a.mark && a.dirty:
		a.dirty = false
		a.mark, err = a.model.Mark(ctx)
	case a.mark > 0 && a.rev >= a.mark:
		err = a.model.SetSettled(ctx, a.mark)
		a.mark = 0
	}
	return errors.Trace(err)
}

// react does what a change asks of the agent itself, and pokes the units that
// it may concern.
func (a *modelAgent) react(ctx context.Context, c state.Change) error {
	a.rev = max(a.rev, c.Rev)
	if c.Status && !c.Resync {
		return nil
	}
	a.dirty = true
	if c.Resync || a.hasNew(c) {
		if err := a.reconcile(ctx); err != nil {
			return errors.Trace(err)
		}
	}
	if err := a.lead(ctx, c); err != nil {
		return errors.Trace(err)
	}
	if c.Cleanups {
		if err := a.model.RunCleanups(ctx); err != nil {
			a.log.Error("cannot clean up", "err", err)
		}
	}
	return a.poke(ctx, c)
}

// hasNew says whether the change is about a unit that isn't hosted yet.
func (a *modelAgent) hasNew(c state.Change) bool {
	for u := range c.Units {
		if _, ok := a.units[u]; !ok {
			return true
		}
	}
	return c.Model
}

func (a *modelAgent) poke(ctx context.Context, c state.Change) error {
	apps := map[string]bool{}
	for id := range c.Relations {
		names, err := a.applicationsOf(ctx, id)
		if err != nil {
			return errors.Trace(err)
		}
		for _, name := range names {
			apps[name] = true
		}
	}
	for name, u := range a.units {
		app := name.Application()
		if c.Resync || c.Model || c.Units[name] || c.Units[u.principal] || c.Applications[app] || apps[app] || c.Machines[u.machine] {
			u.poke()
		}
		if c.Units[name] && u.principal != "" {
			if p, ok := a.units[u.principal]; ok {
				p.poke()
			}
		}
	}
	return nil
}

// applicationsOf are the applications of a relation; none for one that was
// gone before it was ever seen.
func (a *modelAgent) applicationsOf(ctx context.Context, id model.RelationID) ([]string, error) {
	if names, ok := a.related[id]; ok {
		return names, nil
	}
	r, err := a.model.Relation(ctx, id)
	if errors.Is(err, errors.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, e := range r.Endpoints {
		a.related[id] = append(a.related[id], e.Application)
	}
	return a.related[id], nil
}

// reconcile starts the agents of units that have none, takes Dead units away,
// and clears away what is left of units that the model doesn't have.
func (a *modelAgent) reconcile(ctx context.Context) error {
	units, err := a.model.Units(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	var starting []*running
	there := map[string]bool{}
	for _, doc := range units {
		there[doc.Name.Tag()] = true
		if _, ok := a.units[doc.Name]; ok {
			continue
		}
		switch {
		case doc.Life == model.Dead || doc.Life == model.Dying && !doc.Deployed:
			if err := a.takeAway(ctx, doc); err != nil {
				a.log.Error("cannot remove a unit", "unit", doc.Name, "err", err)
			}
		default:
			starting = append(starting, a.add(doc))
		}
	}
	a.clear(there)
	if len(starting) == 0 {
		return errors.Trace(a.finish(ctx))
	}
	// Leadership and presence come before the agents: one that finds itself
	// without the leadership that it had would resign.
	if err := a.claimFor(ctx, starting); err != nil {
		return errors.Trace(err)
	}
	for _, u := range starting {
		a.start(ctx, u)
	}
	return nil
}

// finish takes a model away that is Dying and empty.
func (a *modelAgent) finish(ctx context.Context) error {
	info, err := a.model.Info(ctx)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil || info.Life == model.Alive {
		return errors.Trace(err)
	}
	_, err = a.model.RemoveIfEmpty(ctx)
	return errors.Trace(err)
}

// clear removes the directories of units that the model doesn't have.
func (a *modelAgent) clear(there map[string]bool) {
	dir := filepath.Join(a.dir, "agents")
	entries, err := os.ReadDir(dir)
	if err != nil {
		a.log.Error("cannot look for former units", "err", err)
	}
	for name := range a.units {
		there[name.Tag()] = true
	}
	for _, e := range entries {
		if !there[e.Name()] {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				a.log.Error("cannot remove what is left of a unit", "err", err)
			}
		}
	}
}

// takeAway removes a unit that has no agent.
func (a *modelAgent) takeAway(ctx context.Context, doc state.UnitDoc) error {
	if err := os.RemoveAll(filepath.Join(a.dir, "agents", doc.Name.Tag())); err != nil {
		return errors.Trace(err)
	}
	if doc.Life != model.Dead {
		if err := a.model.SetDead(ctx, doc.Name); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(a.model.RemoveUnit(ctx, doc.Name))
}

// add makes a unit one of those hosted here; start starts its agent.
func (a *modelAgent) add(doc state.UnitDoc) *running {
	turn, ok := a.turns[doc.Machine]
	if !ok {
		turn = make(chan struct{}, 1)
		a.turns[doc.Machine] = turn
	}
	u := &running{unit: &unit{
		name: doc.Name, principal: doc.Principal, machine: doc.Machine,
		model: a.model, clock: a.Clock, log: a.log, debugLog: a.debugLog, host: a.Host,
		dir: filepath.Join(a.dir, "agents", doc.Name.Tag()), toolsDir: a.toolsDir,
		history: HistoryDir(a.Dir, a.model.UUID()),
		turn:    turn, changed: make(chan struct{}, 1), observer: a.Observer, atPoint: a.At, rebooter: a.rebooter,
		idle: func() {
			select {
			case a.idle <- struct{}{}:
			default:
			}
		},
	}}
	u.idleAt.Store(-1)
	a.units[doc.Name] = u
	return u
}

func (a *modelAgent) start(ctx context.Context, u *running) {
	ctx, u.stop = context.WithCancel(ctx)
	if conf, _, err := a.model.ModelConfig(ctx); err == nil {
		u.proxy = hooks.Proxy{
			HTTP: conf["juju-http-proxy"], HTTPS: conf["juju-https-proxy"],
			FTP: conf["juju-ftp-proxy"], No: conf["juju-no-proxy"],
		}
		if u.proxy.HTTP == "" && u.proxy.HTTPS == "" && u.proxy.FTP == "" {
			u.proxy.No = ""
		}
	}
	a.wait.Add(1)
	go func() {
		defer a.wait.Done()
		u.err = u.run(ctx)
		a.ended <- u.name
	}()
}

// unitEnded takes away a unit whose agent has ended because the unit is Dead
// or gone; an agent that has failed is started again after a while.
func (a *modelAgent) unitEnded(ctx context.Context, name model.UnitName) error {
	u := a.units[name]
	u.stop()
	if u.err != nil && ctx.Err() == nil && !errors.Is(u.err, errors.NotFound) {
		a.log.Error("the unit's agent has stopped", "unit", name, "err", u.err)
		message := u.err.Error()
		_ = a.model.SetStatus(ctx, state.AgentStatus, string(name), model.Status{Status: model.StatusFailed, Message: message})
		a.wait.Add(1)
		go func() {
			defer a.wait.Done()
			select {
			case <-ctx.Done():
				return
			case <-a.Clock.After(trouble):
			}
			// Ended once more: with no error it is looked at anew.
			u.err = nil
			a.ended <- name
		}()
		return nil
	}
	delete(a.units, name)
	if ctx.Err() != nil {
		return nil
	}
	doc, err := a.model.Unit(ctx, name)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return errors.Trace(err)
	}
	if err != nil || doc.Life == model.Dead {
		if err := u.remove(); err != nil {
			a.log.Error("cannot remove a unit", "unit", name, "err", err)
		}
	}
	return errors.Trace(a.reconcile(ctx))
}

// lead claims what leaderships have no holder: for the unit that led last, if
// it is here, else for the one with the lowest number.
func (a *modelAgent) lead(ctx context.Context, c state.Change) error {
	apps := map[string][]*running{}
	for name, u := range a.units {
		if app := name.Application(); c.Resync || c.Applications[app] {
			apps[app] = append(apps[app], u)
		}
	}
	for _, units := range apps {
		if err := a.claim(ctx, units); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

func (a *modelAgent) claimFor(ctx context.Context, starting []*running) error {
	apps := map[string][]*running{}
	machines := map[string]bool{}
	for _, u := range starting {
		machines[u.machine] = true
		apps[u.name.Application()] = nil
	}
	for id := range machines {
		if err := a.model.SetMachine(ctx, a.Host.machine(id)); err != nil && !errors.Is(err, errors.NotFound) {
			return errors.Trace(err)
		}
		if err := a.model.SetPresence(ctx, id, a.lease.current()); err != nil {
			return errors.Trace(err)
		}
	}
	for name, u := range a.units {
		if _, ok := apps[name.Application()]; ok {
			apps[name.Application()] = append(apps[name.Application()], u)
		}
	}
	for _, units := range apps {
		if err := a.claim(ctx, units); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// claim claims the leadership of the application of units, all of which are
// here.
func (a *modelAgent) claim(ctx context.Context, units []*running) error {
	slices.SortFunc(units, func(x, y *running) int { return model.CompareUnits(x.name, y.name) })
	now, last, err := a.model.Leadership(ctx, units[0].name.Application())
	if err != nil {
		return errors.Trace(err)
	}
	candidates := make([]model.UnitName, 0, len(units)+1)
	for _, first := range []model.UnitName{now, last} {
		if first != "" && a.units[first] != nil {
			candidates = append(candidates, first)
		}
	}
	if now != "" && len(candidates) == 0 || now != "" && candidates[0] != now {
		return nil // it is led from elsewhere
	}
	for _, u := range units {
		candidates = append(candidates, u.name)
	}
	for _, name := range candidates {
		leads, err := a.model.ClaimLeadership(ctx, name, a.lease.current())
		if err != nil && !errors.Is(err, errors.NotFound) {
			return errors.Trace(err)
		}
		if leads {
			return nil
		}
	}
	return nil
}
