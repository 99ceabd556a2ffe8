// Package labagent is the agent of a test world: one like any other, with the inside
// of package lab in the place of the host's clock, and with all that the script tells
// it by a socket to do. It is a process of its own, so that it can be killed.
package labagent

import (
	"context"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/script/memory"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// Serve runs the agent of the test world that this process's environment names, until
// the context ends or the script does. The script tells it by the socket what to do;
// it logs to log, with the times of the world. rebooting: the world's host is to be
// started anew.
func Serve(ctx context.Context, h *agent.Host, log io.Writer, socket string) (rebooting bool, err error) {
	now, ok, err := agent.LabTime()
	if err != nil {
		return false, err
	}
	if !ok {
		return false, agent.Wrongf("%s has no time", agent.NowVariable)
	}
	lock, err := agent.TakeLock()
	if err != nil {
		return false, err
	}
	defer lock.Release()
	dir, err := agent.DataDir()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := newWorld(ctx, cancel, dir, now)
	if err != nil {
		return false, err
	}
	defer w.store.Close()
	defer context.AfterFunc(ctx, w.held.Shut)() // it couldn't end
	h.Use(state.NewController(w.held, w.clock).WithSealer(agent.Sealer(dir, nil)))
	c, err := h.Config()
	if err != nil {
		return false, err
	}
	c.Log = agent.NewLogBy(log, w.clock.Now)
	w.configure(&c)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return false, errors.Annotate(err, "cannot listen for the script")
	}
	defer listener.Close()
	w.serve(ctx, &c)
	go func() { _ = w.server.Serve(listener) }() // ends with the listener
	agent.TellReady()
	err = agent.Run(ctx, c)
	if w.alone.Load() {
		if err := c.Cells.Halt(); err != nil {
			return false, err
		}
	}
	if w.reboots || errors.Is(err, context.Canceled) {
		return w.reboots, nil
	}
	return false, err
}

// world is what an agent in a test world is given.
type world struct {
	end   func() // of the agent
	clock *lab.Clock
	// store is the world's, held the agent's view of it, and outside that of who
	// meddles past it.
	store    store.Store
	held     *lab.Store
	outside  *state.Controller
	order    *lab.Order
	rounds   *lab.Rounds
	faults   *lab.Faults
	statuses *lab.Statuses
	server   *lab.Server

	alone   atomic.Bool // whoever runs the script was killed, and takes nothing away
	reboots bool        // set once, and read when all has ended
}

// newWorld is the world of a data directory; end ends its agent.
func newWorld(ctx context.Context, end func(), dir string, now time.Time) (*world, error) {
	w := &world{end: end, clock: lab.NewClock(now), order: &lab.Order{}}
	var err error
	if w.store, err = lab.OpenStore(ctx, dir, os.Getenv(lab.StoreVariable), w.clock.Quiet()); err != nil {
		return nil, err
	}
	w.held = &lab.Store{Store: w.store, Clock: w.clock}
	w.held.Hold(true) // until the script wants something to happen
	// A leader is deposed past the agent's own view of the store.
	w.outside = state.NewController(w.store, w.clock)
	w.rounds = &lab.Rounds{Clock: w.clock}
	w.faults = &lab.Faults{Depose: func(ctx context.Context, uuid, application string) error {
		return deposeIn(ctx, w.outside, uuid, application)
	}}
	w.statuses = &lab.Statuses{Clock: w.clock, Picture: func(ctx context.Context, uuid string) (model.Picture, error) {
		return pictureOf(ctx, w.outside, uuid)
	}}
	return w, nil
}

// configure has an agent be in the world.
func (w *world) configure(c *machine.Config) {
	if dir := os.Getenv(lab.SharedVariable); dir != "" {
		c.Shared, c.Environment = []string{dir}, []string{lab.WorkVariable + "=" + dir}
	}
	if more := os.Getenv(lab.EnvironmentVariable); more != "" {
		c.Environment = append(c.Environment, strings.Split(more, "\n")...)
	}
	if c.Cells != nil {
		c.Cells.Closed, c.Cells.Seed = os.Getenv(lab.ClosedVariable) != "", os.Getenv(lab.SeedVariable)
	}
	c.Mounts = false // a world can be killed at any time, and nothing of it stays
	c.Clock, c.Rounds, c.Gate = w.clock, w.rounds.After, w.order.Next
	c.StatusPassed, c.SecretsPassed = w.statuses.Passed, w.statuses.SecretsPassed
	c.At = func(ctx context.Context, p machine.Point) error {
		w.statuses.At(ctx, p)
		return w.faults.At(ctx, p)
	}
	c.Instead = w.faults.Instead
	if dir := os.Getenv(memory.DirVariable); dir != "" {
		known := &memory.Memory{
			Dir: dir, Way: os.Getenv(memory.WayVariable), Seed: os.Getenv(memory.SeedVariable), World: c.Dir, Real: w.meddled,
		}
		c.Around, c.SecretID = known.Around, known.SecretID
	}
	c.Containers = &machine.Containers{}
	c.Reboot = func() error {
		w.reboots = true
		w.end()
		return nil
	}
}

// meddled says whether something is to happen to a hook, or to its disk, so that it must be
// run.
func (w *world) meddled(p machine.Program) bool {
	return w.server.DiskFull() || w.held.Lost() || slices.ContainsFunc(w.faults.Armed(), func(f lab.Fault) bool {
		return f.Unit == p.Unit && (f.Hook == "" || f.Hook == p.Hook.Name())
	})
}

// serve makes what the script tells what to do, and has the agent ask it.
func (w *world) serve(ctx context.Context, c *machine.Config) {
	server := &lab.Server{
		Clock: w.clock, Faults: w.faults, Rounds: w.rounds, Statuses: w.statuses, Store: w.held, Order: w.order, Containers: c.Containers,
		Gone: func() {
			w.alone.Store(true)
			w.end()
		},
		Depose: func(uuid, application string) error { return deposeIn(ctx, w.outside, uuid, application) },
	}
	c.Twice, c.Still, c.Busy, c.Room = server.Twice.Load, server.Still.Store, server.Busy, server.Room
	host := machine.LocalHost()
	host.Boot = os.Getenv(lab.BootVariable)
	server.Address.Store(os.Getenv(lab.AddressVariable))
	c.Look = func() machine.Host {
		if address, _ := server.Address.Load().(string); address != "" {
			return host.At(address)
		}
		return host
	}
	w.server = server
}

// deposeIn takes the leadership of an application of the model with the UUID.
func deposeIn(ctx context.Context, c *state.Controller, uuid, application string) error {
	m, err := modelWith(ctx, c, uuid)
	if err != nil {
		return err
	}
	return m.Depose(ctx, application)
}

// pictureOf is how the model with the UUID looks.
func pictureOf(ctx context.Context, c *state.Controller, uuid string) (model.Picture, error) {
	m, err := modelWith(ctx, c, uuid)
	if err != nil {
		return nil, err
	}
	return m.Picture(ctx)
}

func modelWith(ctx context.Context, c *state.Controller, uuid string) (*state.Model, error) {
	infos, err := c.Models(ctx)
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		if info.UUID == uuid {
			return c.Open(info), nil
		}
	}
	return nil, errors.NotFoundf("model %s", uuid)
}
