package main

import (
	"context"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/cli"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/state"
)

// labCmd is the agent of a test world; see package script/lab. It is not for
// people, who have "unitd test".
func (a *app) labCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "lab SOCKET",
		Short:   "Run the agent of a test world",
		Example: "  UNITD_NOW=2026-01-01T00:00:00Z unitd lab /tmp/lab.socket",
		Hidden:  true,
		Args:    args(1, 1, "no socket specified"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.lab(args[0]) },
	}
}

func (a *app) lab(socket string) error {
	now, ok, err := labTime()
	if err != nil {
		return err
	}
	if !ok {
		return usagef("%s has no time", nowVariable)
	}
	lock, err := takeLock()
	if err != nil {
		return err
	}
	defer lock.release()
	dir, err := dataDir()
	if err != nil {
		return err
	}
	clock := lab.NewClock(now)
	s, err := lab.OpenStore(a.ctx, dir, os.Getenv(lab.StoreVariable), clock.Quiet())
	if err != nil {
		return err
	}
	defer s.Close()
	wrapped := &lab.Store{Store: s, Clock: clock}
	wrapped.Hold(true) // until the script wants something to happen
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, wrapped.Shut)() // it couldn't end
	a.controller = state.NewController(wrapped, clock).WithSealer(sealer(dir))
	c, err := a.agentConfig()
	if err != nil {
		return err
	}
	if dir := os.Getenv(lab.SharedVariable); dir != "" {
		c.Shared, c.Environment = []string{dir}, []string{lab.WorkVariable + "=" + dir}
	}
	c.Log = newLogBy(a.stderr, clock.Now)
	c.Mounts = false // a world can be killed at any time, and nothing of it stays
	// A leader is deposed past the agent's own view of the store.
	outside := state.NewController(s, clock)
	faults := &lab.Faults{Depose: func(ctx context.Context, application string) error {
		return deposeIn(ctx, outside, application)
	}}
	order := &lab.Order{}
	rounds := &lab.Rounds{Clock: clock}
	c.Clock, c.Rounds, c.Gate = clock, rounds.After, order.Next
	statuses := &lab.Statuses{Clock: clock, Picture: func(ctx context.Context, uuid string) (model.Picture, error) {
		return pictureOf(ctx, outside, uuid)
	}}
	c.StatusPassed = statuses.Passed
	c.At = func(ctx context.Context, p machine.Point) error {
		statuses.At(ctx, p)
		return faults.At(ctx, p)
	}
	c.Containers = &machine.Containers{}
	reboots := false
	c.Reboot = func() error {
		reboots = true // only once, and read when all has ended
		cancel()
		return nil
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return errors.Annotate(err, "cannot listen for the script")
	}
	defer listener.Close()
	var alone atomic.Bool // whoever runs the script was killed, and takes nothing away
	gone := func() {
		alone.Store(true)
		cancel()
	}
	server := &lab.Server{Clock: clock, Faults: faults, Rounds: rounds, Statuses: statuses, Store: wrapped, Order: order, Containers: c.Containers, Gone: gone, Depose: func(application string) error {
		return deposeIn(ctx, outside, application)
	}}
	c.Twice, c.Still = server.Twice.Load, server.Still.Store
	host := machine.LocalHost()
	host.Boot = os.Getenv(lab.BootVariable)
	server.Address.Store(os.Getenv(lab.AddressVariable))
	c.Look = func() machine.Host {
		if address, _ := server.Address.Load().(string); address != "" {
			return host.At(address)
		}
		return host
	}
	c.Room = server.Room
	go func() { _ = server.Serve(listener) }() // ends with the listener
	tellReady()
	err = runAgent(ctx, c)
	if alone.Load() {
		if err := c.Cells.Halt(); err != nil {
			return err
		}
	}
	if reboots {
		return cli.Exit(lab.Rebooting)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// deposeIn takes the leadership of an application in whichever model has it.
func deposeIn(ctx context.Context, c *state.Controller, application string) error {
	infos, err := c.Models(ctx)
	if err != nil {
		return err
	}
	for _, info := range infos {
		err := c.Open(info).Depose(ctx, application)
		if !errors.Is(err, errors.NotFound) {
			return err
		}
	}
	return errors.NotFoundf("application %q", application)
}

// pictureOf is how the model with the UUID looks.
func pictureOf(ctx context.Context, c *state.Controller, uuid string) (model.Picture, error) {
	infos, err := c.Models(ctx)
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		if info.UUID == uuid {
			return c.Open(info).Picture(ctx)
		}
	}
	return nil, errors.NotFoundf("model %s", uuid)
}

// nowVariable has the time of a test world: a command that finds it takes it
// for the time, and starts no agent by itself.
const nowVariable = "UNITD_NOW"

// labTime is the time of the test world that this command is in; false if it
// isn't in one.
func labTime() (time.Time, bool, error) {
	text := os.Getenv(nowVariable)
	if text == "" {
		return time.Time{}, false, nil
	}
	now, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return now, false, usagef("%s: %q is not a time like 2026-01-01T00:00:00Z", nowVariable, text)
	}
	return now, true, nil
}
