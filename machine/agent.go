package machine

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sync/semaphore"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/tools/wire"
)

// leaseTime is Config.LeaseTime where that says nothing. Leases are kept alive at
// a third of it. Source: the field's minute, docs/spec/hook-tools.md §4 ("guarantee
// 30 s").
const leaseTime = time.Minute

// leaderTime is how long a unit that was told that it leads can rely on it.
// Source: docs/spec/hook-tools.md §4.
const leaderTime = 30 * time.Second

// Run hosts the units of all models, or those of Config.Machine, until ctx ends;
// then hooks that run are stopped, to be run again later, and it returns once
// everything has ended. The error is ErrMachineGone once that machine is Dead, or
// gone, and all that it had here is cleared away; see Leave. It is
// state.ErrManaged where, or once, another agent manages the models, and
// store.ErrDamaged once the store was found to be damaged.
func Run(ctx context.Context, c Config) error {
	if c.Cells == nil {
		c.Cells = NewCells(c.Dir, "")
	}
	defer c.Cells.Close()
	c.Disk = c.Cells.Through(c.Disk)
	if err := c.linkOutside(); err != nil {
		return errors.Trace(err)
	}
	c.cgroups = runner.OpenCgroups(c.Dir)
	defer c.cgroups.Close()
	c.charms = c.newCharms()
	c.LeaseTime = cmp.Or(c.LeaseTime, leaseTime)
	if c.Room == nil {
		c.Room = func() error { return RoomOn(c.Dir) }
	}
	watched := newHealth(c)
	c.Controller = c.Controller.Through(watched)
	if c.Provisioners == nil {
		c.Provisioners = provisioners()
	}
	a := &agent{Config: c, models: map[string]*hosted{}, gone: make(chan error, 1), rebooter: &rebooter{carryOut: c.Reboot, log: c.Log}, present: newPresent(c), turns: semaphore.NewWeighted(allTurns), slots: newSlots(cmp.Or(c.HooksAtOnce, hooksHere())), health: watched, spares: watched.spares, telling: newTelling(c, watched), directory: newDirectory(newTunnels(c)), handing: newHanding(c.Handed.Running())}
	defer a.awaitHanded()()
	if c.Machine == nil {
		if err := a.beManager(); err != nil {
			return errors.Trace(err)
		}
	}
	a.lease = &lease{store: c.Controller.Store(), ttl: c.LeaseTime, clock: c.Clock, log: c.Log, holders: map[chan struct{}]bool{}}
	if err := a.lease.grant(ctx, c.Handed.lease()); err != nil {
		return errors.Trace(err)
	}
	defer a.lease.end()
	defer a.spares.give()
	if err := a.manageAll(ctx); err != nil {
		return errors.Trace(err)
	}
	endCommands, err := a.serveCommands(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	defer endCommands()
	if c.Ready != nil {
		c.Ready()
	}
	a.collectCharms()
	err = a.loop(ctx)
	a.collectCharms() // no unit's agent runs any more
	if errors.Is(err, ErrMachineGone) {
		if err := a.leave(ctx); err != nil {
			return errors.Trace(err)
		}
	}
	return err
}

type agent struct {
	Config
	lease    *lease
	rebooter *rebooter
	present  *present
	health   *health
	spares   *spares
	telling  *telling
	// directory has the names of all models.
	directory *directory
	models    map[string]*hosted // by uuid
	turns     *semaphore.Weighted
	slots     *slots
	handing   *handing
	// cleared: what former agents have left of models that are gone is cleared.
	cleared bool
	// gone gets why the agent ends by itself; it has room for one.
	gone chan error
	wait sync.WaitGroup
}

// hosted is a model whose units run here.
type hosted struct {
	stop  context.CancelFunc
	ended chan struct{}
	moved chan struct{} // has room for one: "the host has changed"
	// reopen has room for one: "look for your log".
	reopen chan struct{}
}

func (a *agent) loop(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer a.telling.end()
	defer a.wait.Wait()
	defer cancel()
	watch, err := a.Controller.Watch(ctx, 0)
	if err != nil {
		return errors.Trace(err)
	}
	a.wait.Add(2)
	go func() { defer a.wait.Done(); a.telling.run(ctx) }()
	go func() { defer a.wait.Done(); a.health.room.run(ctx) }()
	alive := a.round(ctx, a.LeaseTime/3)
	for {
		a.reserve()
		if err := a.reconcile(ctx); err != nil && ctx.Err() == nil {
			a.Log.Error("cannot read the models", "err", err)
			a.endIfDamaged(err)
		}
		select {
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		case err := <-a.gone:
			return errors.Trace(err)
		case _, ok := <-watch:
			if !ok { // it ends with ctx, too
				return errors.Trace(cmp.Or(ctx.Err(), error(store.ErrClosed)))
			}
		case <-a.Reopen:
			for _, h := range a.models {
				select {
				case h.reopen <- struct{}{}:
				default: // it hasn't done so yet since the last time
				}
			}
		case over := <-alive:
			alive = a.round(ctx, a.LeaseTime/3)
			a.lookAround() // first: it waits for nobody, and the store can be slow
			if err := a.lease.keep(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errNotWritten) {
				a.Log.Error("cannot keep presence and leadership", "err", err)
				a.endIfDamaged(err)
			}
			a.collectCharms()
			over()
		}
	}
}

// endIfDamaged ends the agent for an error by which the store is damaged: nothing
// that a charm would be told is to be trusted any more.
func (a *agent) endIfDamaged(err error) {
	if errors.Is(err, store.ErrDamaged) {
		a.end(err)
	}
}

// reserve has the store keep its reserve, if it has one.
func (a *agent) reserve() {
	if a.Reserve == nil {
		return
	}
	if err := a.Reserve(); err != nil {
		a.Log.Warn("the store has no reserve of room", "err", err)
	}
}

// reconcile hosts the models that there are.
func (a *agent) reconcile(ctx context.Context) error {
	infos, err := a.Controller.Models(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	there := map[string]bool{}
	for _, info := range infos {
		there[info.UUID] = true
	}
	if !a.cleared {
		a.cleared = true
		a.clearModels(ctx, there)
	}
	if a.Machine != nil && !there[a.Machine.Model] && a.removed(ctx, a.Machine.Model) {
		a.end(ErrMachineGone)
	}
	for _, info := range infos {
		if _, ok := a.models[info.UUID]; !ok && (a.Machine == nil || a.Machine.Model == info.UUID) {
			a.host(ctx, a.Controller.Open(info))
		}
	}
	for uuid, h := range a.models {
		if !there[uuid] {
			h.stop()
			<-h.ended
			delete(a.models, uuid)
			if a.removed(ctx, uuid) {
				a.clearModel(uuid)
			}
		}
	}
	return nil
}

// clearModels clears away what is left of models that went while no agent was
// there.
func (a *agent) clearModels(ctx context.Context, there map[string]bool) {
	entries, err := os.ReadDir(filepath.Join(a.Dir, "models"))
	if err != nil && !os.IsNotExist(err) {
		a.Log.Error("cannot look for former models", "err", err)
	}
	for _, e := range entries {
		if !there[e.Name()] {
			if !a.removed(ctx, e.Name()) {
				continue
			}
			former{dir: a.Dir, uuid: e.Name(), cgroups: a.cgroups, log: a.Log}.endAll(ctx)
			a.clearModel(e.Name())
		}
	}
}

// removed says whether the model was. A store that doesn't know of it proves
// nothing: it may be another one than the model is in, or have been lost.
func (a *agent) removed(ctx context.Context, uuid string) bool {
	gone, err := a.Controller.Gone(ctx, uuid)
	if err != nil {
		a.Log.Error("cannot tell whether a model was removed", "model", uuid, "err", err)
	} else if !gone {
		a.Log.Warn("the store knows nothing of a model that has units here; they are left alone", "model", uuid)
	}
	return err == nil && gone
}

func (a *agent) clearModel(uuid string) {
	if err := a.removeCells(uuid); err != nil {
		a.Log.Error("cannot remove what is left of isolated units", "err", err)
	}
	defer a.charms.Ask()
	if err := charmdir.RemoveTree(a.Disk, ModelDir(a.Dir, uuid)); err != nil {
		a.Log.Error("cannot remove what is left of a model", "err", err)
	}
	// A model goes when its storage has gone; what is there nevertheless is
	// somebody's data.
	_ = a.Disk.Remove(StorageDir(a.Dir, uuid))
}

func (a *agent) host(ctx context.Context, m *state.Model) {
	ctx, stop := context.WithCancel(ctx)
	h := &hosted{stop: stop, ended: make(chan struct{}), moved: make(chan struct{}, 1), reopen: make(chan struct{}, 1)}
	a.models[m.UUID()] = h
	a.wait.Add(1)
	go func() {
		defer a.wait.Done()
		defer close(h.ended)
		defer stop()
		leases, forget := a.lease.hold()
		defer forget()
		for ctx.Err() == nil {
			ma := newModelAgent(a.Config, m, a.lease, leases, a.rebooter)
			ma.reopen = h.reopen
			ma.present, ma.moved, ma.turns.host, ma.slots, ma.handing = a.present, h.moved, a.turns, a.slots, a.handing
			ma.health, ma.telling, ma.spares, ma.directory = a.health, a.telling, a.spares, a.directory
			ma.outside = func(call context.Context, unit model.UnitName, req wire.Request) wire.Reply {
				return a.command(ctx, call, req, caller{m, unit})
			}
			err := ma.run(ctx)
			switch {
			case errors.Is(err, ErrMachineGone):
				a.end(err)
				return
			case errors.Is(err, state.ErrManaged), errors.Is(err, store.ErrDamaged):
				a.end(err) // what its units have here stays
				return
			}
			if err != nil && ctx.Err() == nil {
				a.Log.Error("cannot run the units of a model", "model", m.Name(), "err", err)
				select {
				case <-ctx.Done():
				case <-a.Clock.After(trouble):
				}
			}
		}
	}()
}
