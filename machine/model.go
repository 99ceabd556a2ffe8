package machine

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/tools/wire"
)

// modelAgent runs the agents of one model's units. Everything in it is for the
// goroutine of run.
type modelAgent struct {
	Config
	model    *state.Model
	dir      string // models/<uuid>
	lease    *lease
	leases   <-chan struct{}
	log      *slog.Logger
	debugLog *debuglog.Log
	rebooter *rebooter
	present  *present
	health   *health
	spares   *spares
	telling  *telling
	moved    <-chan struct{}
	reopen   <-chan struct{}
	outside  func(context.Context, model.UnitName, wire.Request) wire.Reply
	units    map[model.UnitName]*running
	ended    chan model.UnitName
	idle     chan struct{} // has room for one: "a unit has found nothing to do"
	// rev is the revision up to which the agent has reacted; mark that of the
	// mark that hasn't come back yet, see tellSettled; dirty says that there
	// were changes since.
	rev, mark int64
	dirty     bool
	following
	// looked is the newest revision when all was looked at for the last time.
	looked int64
	// own makes the units' own hook tools.
	own       *tools.Own
	turns     turns
	slots     *slots
	handing   *handing
	storeroom *storeroom
	directory *directory
	wiring    *wiring
	cluster   *cluster
	commands  *commands
	answering *answering
	recent    *recent // runs
	shipping  *shipping
	sharing   *keysharing
	externals *externals
	// again is when all is looked at once more, after something has failed;
	// failures counts how often in a row.
	again <-chan time.Time
	// unclean is when cleanUp is tried again, uncleaned how often it has failed in a row.
	unclean   <-chan time.Time
	uncleaned int
	failures  int
	// nested counts the units here that have principals.
	nested int
	// elsewhere are units that other agents host, as of the last look at them.
	elsewhere map[model.UnitName]bool
	// standing are the ids of machines of this host that are there without units.
	standing map[string]bool
	// endpoints are those of relations that changes were told of, by id.
	endpoints map[model.RelationID][]model.Endpoint
	// rolling are the applications that have units which wait for another pod.
	rolling map[string]bool
	// told is for Config.Tracer.
	told   *causesTold
	noting <-chan time.Time // when what was told is to be noted; nil: it is, or nothing was
	// stuck are the names of directories that can't be removed.
	stuck map[string]bool
	wait  sync.WaitGroup
}

// running is a unit whose agent was started here.
type running struct {
	*unit
	stop context.CancelFunc
	// gone is closed once the model has no such unit, or has it as Dead, and the
	// agent was told to stop.
	gone chan struct{}
	// err is why the agent ended, once it has.
	err error
}

func newModelAgent(c Config, m *state.Model, l *lease, leases <-chan struct{}, r *rebooter) *modelAgent {
	return &modelAgent{
		Config: c, model: m, lease: l, leases: leases, rebooter: r, handing: newHanding(nil),
		dir: ModelDir(c.Dir, m.UUID()), own: c.ownTools(),
		units: map[model.UnitName]*running{}, ended: make(chan model.UnitName), idle: make(chan struct{}, 1),
		elsewhere: map[model.UnitName]bool{}, standing: map[string]bool{}, stuck: map[string]bool{}, rolling: map[string]bool{}, endpoints: map[model.RelationID][]model.Endpoint{},
		recent: newRecent(),
	}
}

// ModelDir is where an agent keeps what it has of a model: "agents" with a
// directory for each unit, "history", "recordings", and "debug.log". dir is
// Config.Dir.
func ModelDir(dir, uuid string) string { return filepath.Join(dir, "models", uuid) }

// LogPath is the log of a model, and HistoryDir has the histories of its units.
func LogPath(dir, uuid string) string { return filepath.Join(ModelDir(dir, uuid), logName) }

// HistoryDir has the histories of a model's units; see package history.
func HistoryDir(dir, uuid string) string { return filepath.Join(ModelDir(dir, uuid), "history") }

func (a *modelAgent) run(ctx context.Context) (err error) {
	if err := a.manage(ctx); err != nil {
		return errors.Trace(err)
	}
	for _, d := range []string{filepath.Join(a.dir, "agents"), HistoryDir(a.Dir, a.model.UUID())} {
		if err := a.Disk.MkdirAll(d, 0o700); err != nil {
			return errors.Annotate(err, "cannot make the model's directory")
		}
	}
	if a.debugLog, err = debuglog.Open(a.Disk, LogPath(a.Dir, a.model.UUID())); err != nil {
		return errors.Trace(err)
	}
	defer a.debugLog.Close()
	a.log = slog.New(debuglog.Handler{Log: a.debugLog, Entity: "machine-" + a.id(), Module: "unitd", Level: slog.LevelInfo, Now: a.Clock.Now})
	defer a.health.logTo(a.log)()
	a.answering = a.newAnswering()
	a.shipping = a.newShipping()
	defer a.shipping.end(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer a.drain()
	defer cancel()
	a.storeroom = newStoreroom(a.Config, a.model, a.joined(), a.log, a.tellIdle)
	a.storeroom.round(ctx) // before any hook: the host may have rebooted
	a.wait.Add(1)
	go func() {
		defer a.wait.Done()
		a.storeroom.run(ctx)
	}()
	a.wiring = newWiring(a.Config, a.model, a.directory, a.log, a.tellIdle)
	a.wait.Add(1)
	go func() {
		defer a.wait.Done()
		a.wiring.run(ctx)
	}()
	a.cluster = newCluster(a.model, a.Disk, a.dir, a.Clock, func() string { return a.present.now().Hostname })
	a.wait.Add(1)
	go func() {
		defer a.wait.Done()
		a.answering.run(ctx)
	}()
	a.wait.Add(1)
	go func() {
		defer a.wait.Done()
		a.shipping.run(ctx)
	}()
	a.sharing = a.newKeysharing()
	a.sharing.first(ctx) // before any hook needs them
	a.wait.Add(1)
	go func() {
		defer a.wait.Done()
		a.sharing.run(ctx)
	}()
	a.externals = a.newExternals()
	if a.manager != nil {
		a.wait.Add(1)
		go func() {
			defer a.wait.Done()
			a.externals.run(ctx)
		}()
	}
	a.commands = a.newCommands()
	a.wait.Add(1)
	go func() {
		defer a.wait.Done()
		a.commands.run(ctx)
	}()
	if err := a.watch(ctx); err != nil {
		return errors.Trace(err)
	}
	return a.loop(ctx)
}

// tellIdle says that a unit, or the storeroom, has found nothing to do.
func (a *modelAgent) tellIdle() {
	select {
	case a.idle <- struct{}{}:
	default:
	}
}

// drain waits for the units' agents, the storeroom and commands, which have been told to stop.
func (a *modelAgent) drain() {
	go func() {
		a.wait.Wait()
		close(a.ended)
	}()
	for range a.ended {
	}
}

// everything is the change that stands for any.
var everything = state.Change{Resync: true, Cleanups: true}

func (a *modelAgent) loop(ctx context.Context) error {
	defer a.noteAtLast(ctx)
	defer a.busy("")
	err := a.react(ctx, everything)
	resync := a.round(ctx, ResyncInterval)
	for {
		hope := a.health.hoped()
		// Before the first change too: without units there may never be one.
		if err == nil && a.again == nil {
			err = a.tellSettled(ctx)
		}
		if errors.Is(err, ErrMachineGone) || errors.Is(err, state.ErrManaged) || errors.Is(err, store.ErrDamaged) {
			return errors.Trace(err)
		}
		if err == nil {
			err = a.widen(ctx)
		}
		if err != nil {
			a.tryAgain(ctx, err)
		}
		err = nil
		select {
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		case c, ok := <-a.changes:
			if !ok {
				return errors.Trace(cmp.Or(ctx.Err(), errors.New("the watch of the model has ended")))
			}
			err = a.react(ctx, c)
		case name := <-a.ended:
			err = a.unitsEnded(ctx, name)
		case <-a.idle:
		case <-a.leases:
			if err = a.manage(ctx); err == nil {
				err = a.appear(ctx, slices.Collect(maps.Keys(a.standing))...)
			}
			if err == nil {
				err = a.claimFor(ctx, slices.Collect(maps.Values(a.units)))
			}
		case <-a.moved:
			a.wiring.heedHost()
			err = a.tellHost(ctx)
		case <-a.reopen:
			err = errors.Trace(a.debugLog.Look())
		case <-hope:
			if a.again != nil {
				err = a.lookAgain(ctx)
			}
		case <-a.again:
			err = a.lookAgain(ctx)
		case <-a.unclean:
			a.cleanUp(ctx)
		case <-a.noting:
			a.noteTold(ctx)
		case over := <-resync:
			err = errors.Trace(a.debugLog.Look()) // one that was deleted takes no more space
			a.wiring.heedHost()
			a.wiring.heedTunnel()
			if failed := a.resync(ctx); failed != nil {
				err = failed
			}
			resync = a.round(ctx, ResyncInterval)
			over()
		}
	}
}

// tryAgain has all looked at anew after a while, longer each time: what went
// wrong is the store's matter, most likely, and no reason to end hooks.
func (a *modelAgent) tryAgain(ctx context.Context, err error) {
	if ctx.Err() != nil || a.again != nil {
		return
	}
	if !errors.Is(err, errNotWritten) { // that is said once
		a.log.Error("cannot follow the model", "err", err, "tries", a.failures+1)
	}
	a.busy("the agent tries again: " + err.Error())
	a.again = a.Clock.After(min(100*time.Millisecond<<min(a.failures, 10), trouble))
	a.failures++
}

// lookAgain looks at all, after something has failed.
func (a *modelAgent) lookAgain(ctx context.Context) error {
	a.again = nil
	err := a.lookAtAll(ctx)
	if err == nil {
		a.failures = 0
	}
	return errors.Trace(err)
}

// tellSettled says that all is done, once nobody here has anything to do: what
// "unitd wait" waits for. What a unit has written just before it had nothing
// more to do may concern another one and not have come back by the watch yet;
// so a mark is written first, and counts once it has come back and everybody
// still has nothing to do.
func (a *modelAgent) tellSettled(ctx context.Context) error {
	busy, waiting := a.quiet()
	if busy == "" && !a.Containers.settled(ctx, a.model.UUID()) {
		busy = "a container is coming up, or its Pebble has something to tell"
	}
	a.busy(busy)
	if busy != "" {
		return nil
	}
	return a.answer(ctx, waiting)
}

// answer says that all is done, or takes the next step towards that; quiet and the containers were asked before.
// That takes its time, and a unit may have got something to do meanwhile.
func (a *modelAgent) answer(ctx context.Context, waiting []model.UnitName) (err error) {
	switch {
	case a.mark == 0 && (a.dirty || len(waiting) > 0), a.mark > 0 && a.rev >= a.mark && a.dirty:
		a.dirty = false
		a.mark, err = a.model.Mark(ctx, a.joined())
	case a.mark > 0 && a.rev >= a.mark && len(waiting) > 0:
		a.mark, a.dirty = 0, true
		a.letIn(waiting)
	case a.mark > 0 && a.rev >= a.mark && a.allSettled():
		err = a.model.SetSettled(ctx, a.joined(), a.mark)
		a.mark = 0
	case a.mark > 0 && a.rev >= a.mark && a.someStand():
		if a.Still != nil {
			a.Still(a.mark)
			a.mark = 0
		}
	case a.mark > 0 && a.rev >= a.mark:
		a.mark, a.dirty = 0, true // as it had when the mark was written
	}
	return errors.Trace(err)
}

// allSettled says whether no unit stands still at a Point either.
func (a *modelAgent) allSettled() bool {
	for _, u := range a.units {
		if !u.settled() {
			return false
		}
	}
	return true
}
