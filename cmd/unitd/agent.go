package main

import (
	"context"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/storage"
)

func (a *app) agentCmd() *cobra.Command {
	var o agentOptions
	var f joinFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent in the foreground, for a service manager",
		Long: `Run the hooks of all units of all models, until told to stop by SIGTERM or
Ctrl-C: then hooks that run are ended, to be run again by the next agent. There is
one agent for a data directory; other commands start one in the background if
there is none. SIGHUP has it begin logs anew that were renamed or removed.

With --join the agent becomes that of a machine that "unitd add-machine" has made,
and runs the units on that machine alone. It remembers that, so that from then on it
is started without. Once the machine is removed it ends, and refuses to run again.

An agent that hasn't joined manages the models of its store, and there is one: the
first. Another one is refused for as long as that lives, and when it is gone until
--takeover says that it won't come back. Its units begin anew on this host's disk.`,
		Example: `  unitd agent
  UNITD_DATA=/var/lib/unitd unitd agent
  unitd agent --store /srv/model/store.db --join TOKEN
  unitd agent --store etcd://10.0.0.1:2379/unitd --takeover`,
		Args: args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error { return a.agent(o, f) },
	}
	cmd.Flags().StringVar(&f.token, "join", "", "the token of \"unitd add-machine\", or @ and the name of a file that has it")
	cmd.Flags().StringVar(&f.address, "address", "", "the address by which other machines reach this host")
	cmd.Flags().BoolVar(&o.takeOver, "takeover", false, "manage the models in place of an agent that is gone for good")
	cmd.Flags().BoolVar(&o.allowReboot, "allow-reboot", false, "carry out what charms ask of juju-reboot; it is only logged otherwise")
	cmd.Flags().BoolVar(&o.debug, "debug", false, "let \"unitd debug-agent\" look into this process")
	return cmd
}

// agentOptions are what an agent may do beside running hooks.
type agentOptions struct{ allowReboot, takeOver, debug bool }

func (a *app) agent(o agentOptions, f joinFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if o.takeOver && f.token != "" {
		return usagef("--takeover is for the agent that manages the models, --join for another one: choose one of them")
	}
	lock, err := takeLock()
	if err != nil {
		return err
	}
	defer a.release(lock)
	joined, err := a.join(f)
	if err != nil {
		return err
	}
	c, err := a.agentConfig()
	if err != nil {
		return err
	}
	if err := a.rememberStore(c.Dir); err != nil {
		return err
	}
	switch {
	case joined != nil && o.takeOver:
		return usagef("--takeover: this agent has joined as machine %s: one with another data directory (UNITD_DATA) can manage the models", joined.Machine)
	case joined != nil:
		joined.configure(&c)
	case f.address != "":
		c.Look = func() machine.Host { return machine.ReachableHost(f.address) }
	}
	if o.allowReboot {
		c.Reboot = reboot
	}
	c.TakeOver = c.TakeOver || o.takeOver
	if o.debug {
		end, err := serveDebug(c.Dir)
		if err != nil {
			return err
		}
		defer end()
	}
	var stop func()
	c.Reopen, stop = reopens(c.Dir)
	defer stop()
	c.Ready = func() {
		c.Log.Info("the agent runs", "version", hooks.Version)
		tellReady()
	}
	err = a.toDo(runAgent(a.ctx, c))
	switch {
	case errors.Is(err, context.Canceled):
		c.Log.Info("the agent has stopped")
		return nil
	case errors.Is(err, machine.ErrMachineGone):
		c.Log.Info("the agent has ended, and doesn't run again", "machine", joined.Machine, "why", err.Error())
		return joined.machineGone()
	}
	return err
}

// runAgent runs an agent in this process, which becomes the parent of what hooks
// leave running.
func runAgent(ctx context.Context, c machine.Config) error {
	c.Reaper = runner.Adopt()
	defer c.Reaper.Close()
	return machine.Run(ctx, c)
}

// reboot reboots this machine.
func reboot() error {
	args := []string{"shutdown", "-r", "now"}
	if _, err := exec.LookPath("systemctl"); err == nil {
		args = []string{"systemctl", "reboot"}
	}
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	return errors.Annotatef(err, "%s: %s", strings.Join(args, " "), strings.TrimSpace(string(out)))
}

// agentConfig is what an agent in this process runs with.
func (a *app) agentConfig() (machine.Config, error) {
	dir, err := dataDir()
	if err != nil {
		return machine.Config{}, err
	}
	controller, err := a.open()
	if err != nil {
		return machine.Config{}, err
	}
	if err := a.checkEngine(false); err != nil {
		return machine.Config{}, err
	}
	c, err := a.agentConfigIn(dir, controller)
	if err != nil {
		return c, err
	}
	c.Mounts = storage.MayMount()
	// Whoever has put a store's file into the data directory has said so by that.
	name, err := a.storeName()
	c.TakeOver = name == localStore
	if s, ok := a.store.(interface{ Reserve() error }); ok {
		c.Reserve = s.Reserve
	}
	return c, err
}

// agentConfigIn is agentConfig with any data directory and its models.
func (a *app) agentConfigIn(dir string, controller *state.Controller) (machine.Config, error) {
	client, err := toolClient(dir)
	if err != nil {
		return machine.Config{}, err
	}
	fast, err := fastClient(dir)
	if err != nil {
		return machine.Config{}, err
	}
	self, err := stableSelf(dir)
	if err != nil {
		return machine.Config{}, err
	}
	return machine.Config{
		Cells: machine.NewCells(dir, self), Controller: controller, Dir: dir, Client: client, ToolClient: fast, Clock: clock.WallClock,
		Log:  newLog(a.stderr),
		Look: machine.LocalHost, Version: unitdVersion(),
	}, nil
}

// newLog is a log that has one line for everything. An error is in it as people
// see it elsewhere; slog would print where in the program it came by.
func newLog(w io.Writer) *slog.Logger { return newLogBy(w, nil) }

// newLogBy is newLog with times of another clock; nil: the host's.
func newLogBy(w io.Writer, now func() time.Time) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
		if now != nil && len(groups) == 0 && attr.Key == slog.TimeKey {
			attr.Value = slog.TimeValue(now())
		}
		if err, ok := attr.Value.Any().(error); ok {
			attr.Value = slog.StringValue(err.Error())
		}
		return attr
	}}))
}

func (a *app) shutdownCmd() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "shutdown",
		Short: "End the agent of this data directory",
		Long: `End the agent. Hooks that run are ended, with time to finish, and run again when
there is an agent again; units and their workloads stay as they are.`,
		Example: "  unitd shutdown",
		Args:    args(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return a.shutdown(timeout) },
	}
	cmd.Flags().DurationVar(&timeout, "timeout", shutdownTime, "give up waiting after this long")
	return cmd
}

func (a *app) shutdown(timeout time.Duration) error {
	pid, err := runningAgent()
	if err != nil {
		return err
	}
	if pid == 0 {
		a.note("no agent is running")
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && err != syscall.ESRCH {
		return errors.Annotatef(err, "cannot end the agent (process %d)", pid)
	}
	ctx, cancel := context.WithTimeout(a.ctx, timeout)
	defer cancel()
	if err := waitForEnd(ctx); err != nil {
		return errors.Errorf("the agent (process %d) has not ended after %s", pid, timeout)
	}
	return nil
}
