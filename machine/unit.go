package machine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/footprint"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/tools/wire"
	"github.com/unitd/unitd/uniter"
	"github.com/unitd/unitd/uniter/resolver"
)

// unit is one unit on this machine: what the doors of its agent work with.
// Everything but poke and settled is for the goroutine of the agent.
type unit struct {
	name model.UnitName
	// id tells it from others that had, or will have, its name; model is the
	// model as this one has it.
	id        string
	principal model.UnitName
	machine   string
	model     *state.Model
	patient   *state.Model // as hook tools have it
	lookout   *state.Lookout
	clock     clock.Clock
	log       *slog.Logger
	debugLog  *debuglog.Log
	present   *present
	health    *health
	spares    *spares
	desire    *desire
	lease     *lease
	disk      durable.Disk
	dir       string // agents/unit-x-0
	// toolsDir has the unit's own hook tools; in its cell, if it has one.
	toolsDir *tools.Dir
	// warmPython has its hooks find a Python that stands ready, by the last look. warm is
	// what they find; nil: they don't, and if endedWarm, they don't any more.
	warmPython bool
	warm       *tools.Warm
	endedWarm  bool
	// cells are the agent's; cell is the unit's own, or its principal's. client is
	// the program of hook tools, dataDir Config.Dir, shared the directories that all
	// units see; outside answers callers in the cell that are in no hook.
	cells          *isolate.Cells
	wiring         *wiring
	cluster        *cluster
	cell           atomic.Pointer[cell]
	system         atomic.Pointer[model.System] // see listenToSystem
	inCell         atomic.Bool                  // see whileCellRuns
	tellingMachine sync.Mutex
	giveUpCell     func()                          // ends the agent as if the cell had ended
	facing         atomic.Pointer[isolate.HostEnd] // see face
	client         string
	dataDir        string
	shared         []string
	environment    []string // Config.Environment
	outside        func(context.Context, model.UnitName, wire.Request) wire.Reply
	history        string
	recent         *recent
	charm          *charmdir.Deployer
	charms         *charmdir.Store // the host's
	runner         *runner.Runner
	handing        *handing
	runs           atomic.Pointer[program] // the hook's that runs; see hold
	calls          *calls                  // of the run that goes on
	handed         *HandedRun              // what a former agent has handed over; nil: nothing
	former         former
	server         *tools.Server
	turns          *turns
	slots          *slots
	slotBack       func() // gives back the one that the unit has
	gate           gate
	gated          bool // there is a Config.Gate
	runTwice       func() bool
	changed        chan struct{} // has room for one
	rebooter       *rebooter
	// lost is closed when the unit's cell has ended, or its agent is to.
	lost     <-chan struct{}
	observer func(Event)
	atPoint  func(context.Context, Point) error
	instead  func(uuid string, unit model.UnitName, run int64, h hooks.Info) string
	passed   func(model string, unit model.UnitName) time.Time
	// secretsPassed is Config.SecretsPassed, and maskAgain when hideKnown is to look again.
	secretsPassed func(model string, unit model.UnitName) time.Time
	maskAgain     time.Time
	// runAround is Config.Around, secretID that of Config; listening is told of the calls of the
	// program that runs, and nil if nobody listens.
	runAround func(context.Context, Program, RunProgram) runner.Outcome
	secretID  func(modelName string, unit model.UnitName) (model.SecretID, error)
	listening atomic.Pointer[func(tools.Call)]

	// pokes counts the pokes; idleAt is how many of them the agent had heard
	// of when it last found nothing to do. idle is told then.
	pokes, idleAt atomic.Int64
	// poking is held while pokes and changed are made to agree.
	poking sync.Mutex
	// due is when it looks again by itself.
	due     deadline
	looking int64
	queued  atomic.Pointer[turn] // what it waits for
	// busy: the agent waits for its turn, or runs a hook, and does not look.
	busy atomic.Bool
	idle func()
	// fresh: this agent was the first to take the unit on, has said then that it initialises, and hasn't
	// deployed a charm since.
	fresh bool
	// held: what is due couldn't be done, and is tried again at due.
	held atomic.Bool
	// coming: one of its containers is about to be up.
	coming atomic.Bool
	// until is when the hook that runs has taken too long, in ns of Unix time.
	until atomic.Int64
	// unlimited lifts the time-out of the hook that runs.
	unlimited func()

	// seen and proxy are what the model said when it was last looked at, host is
	// what was known of the host then. An agent that waits needs neither them nor running.
	seen      *resolver.Remote
	seenRev   int64          // the revision that the store was read at then
	proxy     [2]hooks.Proxy // for charms, for any program
	host      Host
	timeout   time.Duration // of its hooks; 0: none
	lockGroup string
	// recordsPebble: recordings have what hooks ask of Pebbles; see tapPebbles.
	recordsPebble bool
	// causes knows what the charm was told, by name.
	causes causes
	// believed is the charm that the agent took to be deployed then; lose ends
	// the agent, to begin anew.
	believed string
	lose     func()
	// pod is state.UnitDoc.Pod; inPod is what such a unit has beside a machine's.
	// containers is Config.Containers.
	pod        bool
	inPod      *pod
	containers *Containers
	// ready tells of the pod of a container unit; nil: it is none.
	ready *readiness
	// reboot is state.UnitDoc.Reboot as the agent began.
	reboot string
	// inError is state.UnitDoc.Failed as of the last look.
	inError int64
	// doing is the task that runs; nil: none does. ending is by whom it can be
	// ended.
	doing  *doing
	ending ending
	// tracer is Config.Tracer; traced is the newest run.
	tracer Tracer
	traced traced
	// running is what is known of the newest run beside what the journal has.
	running *history.Entry
	// notes are for the history, with the next run that ends.
	notes []string
	// taking is the recording of the run that goes on, taken that of the newest
	// one that has ended; nil: none, or it is kept already.
	taking *taking
	taken  *recording.Recording
	keeper *recording.Keeper
	// files follows what hooks do to files.
	files   footprint.Tracker
	keeping sync.WaitGroup
	// mask has the secrets that are not to get into the log; masked: also those of former agents.
	mask   mask
	masked bool
	// fetching is held while a resource's file is got.
	fetching sync.Mutex
	version  string // Config.Version
	// recorded is nil until the agent has looked for the first time.
	recorded *recorded
}

// poke makes the unit's agent look at the model again.
func (u *unit) poke() {
	u.poking.Lock()
	defer u.poking.Unlock()
	u.pokes.Add(1)
	select {
	case u.changed <- struct{}{}:
	default:
	}
}

// heed notes that the agent looks, and has heard of all pokes so far: it needn't
// look again because of one of them.
func (u *unit) heed() {
	u.poking.Lock()
	defer u.poking.Unlock()
	u.looking = u.pokes.Load()
	select {
	case <-u.changed:
	default:
	}
}

// What is known of a unit's model and newest run while its agent waits: nothing.
var (
	unseen resolver.Remote
	notRun history.Entry
)

// settle notes that the agent has nothing to do, as of when it last looked,
// until a time (zero: until the model changes).
func (u *unit) settle(until time.Time) {
	u.recordingKept()
	u.due.set(until)
	u.idleAt.Store(u.looking)
	u.idle()
}

// settled says whether the agent has looked since it was last poked, has found
// nothing to do, and isn't about to look again because its time has come.
func (u *unit) settled() bool { return !u.held.Load() && u.waits() }

// waits says whether the agent does nothing before its time has come, or somebody
// pokes it, as a container does that comes up.
func (u *unit) waits() bool {
	return !u.coming.Load() && !u.cellEnds() && u.idleAt.Load() == u.pokes.Load() && !u.due.over(u.clock.Now()) && (u.ready == nil || u.ready.settled())
}

func (u *unit) config() *uniter.Config {
	return &uniter.Config{
		Unit: u.name, ID: u.id, Dir: u.dir, Disk: u.disk, Clock: u.clock, Log: u.log,
		Jitter:      func() float64 { return 2*rand.Float64() - 1 },
		Mask:        u.mask.text,
		Observe:     u.observe,
		Changed:     u.changed,
		Deployed:    u.charm.Deployed,
		Deploy:      u.deploy,
		Replace:     u.replace,
		RunHook:     u.runHook,
		Commit:      u.commit,
		Tasks:       u.taskDoors(),
		EndLeftover: u.endLeftover,
		EnterScope: func(ctx context.Context, id model.RelationID) error {
			there, _ := model.Settings{}.Apply(u.addressSettings())
			err := u.model.EnterScope(ctx, u.name, id, there)
			if errors.Is(err, state.ErrCannotEnterScope) {
				return nil // it is going already: the next look will show
			}
			return errors.Trace(err)
		},
		DetachStorage: func(ctx context.Context, id model.StorageID) error { return u.model.EndAttachment(ctx, u.name, id) },
		LeaveScope:    func(ctx context.Context, id model.RelationID) error { return u.model.LeaveScope(ctx, u.name, id) },
		MarkDying:     func(ctx context.Context) error { return u.model.SetDying(ctx, u.name) },
		MarkDead:      func(ctx context.Context) error { return u.model.SetDead(ctx, u.name) },
		Hope:          u.health.hoped,
		Lock:          u.begin,
		Report:        u.report,
		Handed:        u.handedDoors(),
	}
}

func (u *unit) observe(ctx context.Context, l resolver.Local) (resolver.Remote, error) {
	u.heed()
	u.believed = l.Charm
	s, err := u.lookout.Snapshot(ctx)
	gone := errors.Is(err, errors.NotFound)
	if u.recorded == nil && (err == nil || gone) {
		newest := l.Run
		if err == nil {
			newest = max(newest, s.Unit.Run)
		}
		u.catchUp(l.Ended, newest)
	}
	if gone {
		return resolver.Remote{Now: u.clock.Now(), Gone: true}, nil
	}
	if err != nil {
		return resolver.Remote{}, errors.Trace(err)
	}
	if err := u.hideKnown(ctx, s); err != nil {
		return resolver.Remote{}, errors.Trace(err)
	}
	moved, err := u.face(ctx, s.Told.Addresses)
	if err == nil && moved {
		s, err = u.lookout.Snapshot(ctx)
	}
	if err != nil {
		return resolver.Remote{}, errors.Trace(err)
	}
	endpoints, err := endpointsOf(ctx, u.model, u.name, l.Charm)
	if err != nil {
		return resolver.Remote{}, errors.Trace(err)
	}
	seen := remote(s, endpoints, u.clock.Now())
	u.seenRev = s.Rev
	u.seen, u.proxy = &seen, [2]hooks.Proxy{proxyOf(s.ModelConfig, "juju-"), proxyOf(s.ModelConfig, "")}
	if u.passed != nil {
		u.seen.StatusPassed = u.passed(u.model.UUID(), u.name)
	}
	if u.secretsPassed != nil {
		u.seen.SecretsPassed = u.secretsPassed(u.model.UUID(), u.name)
	}
	u.inError = s.Unit.Failed
	u.host = u.hostNow()
	u.seen.Want.Boot = u.boot()
	if err := u.seeUsers(ctx, s, l); err != nil {
		return resolver.Remote{}, errors.Trace(err)
	}
	if err := u.attachStorage(s.Storage); err != nil {
		return resolver.Remote{}, errors.Trace(err)
	}
	if err := u.seeAccount(ctx, s.Told.Trust); err != nil {
		return resolver.Remote{}, errors.Trace(err)
	}
	if err := u.seePod(ctx, s, l); err != nil {
		return resolver.Remote{}, errors.Trace(err)
	}
	u.timeout, u.lockGroup = s.HookTimeout, s.Application.LockGroup
	u.warmPython = s.WarmPython
	u.files.Follow(s.ModelConfig[state.RecordFiles])
	u.recordsPebble = s.Application.RecordPebble == state.RecordsPebble
	u.causes.look(s, l.Seen.Config)
	return seen, nil
}

// endLeftover ends the processes of a run in which an agent was killed.
func (u *unit) endLeftover(ctx context.Context, run uniter.Run) {
	within := ""
	if c := u.cell.Load(); c != nil {
		within = c.Groups()
	}
	found, left := runner.EndRun(ctx, u.runner.Cgroups, u.runMark(run), within)
	tellEnded(u.log, u.name, run.Hook.Name(), found, left)
}

func (u *unit) logLine(e debuglog.Entry) {
	e.Entity, e.Message = u.name.Tag(), u.mask.text(e.Message)
	if e.Time.IsZero() {
		e.Time = u.clock.Now()
	}
	if err := u.debugLog.Write(e); err != nil {
		u.log.Error("cannot write the log", "err", err)
	}
	if u.observer != nil {
		u.observer(Event{Kind: LogLine, Unit: u.name, Model: u.model.Name(), Log: e})
	}
}

// trouble is how long an agent that failed waits before it is started again.
const trouble = 10 * time.Second
