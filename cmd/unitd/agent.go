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
	var allowReboot bool
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent in the foreground, for a service manager",
		Long: `Run the hooks of all units of all models, until told to stop by SIGTERM or
Ctrl-C: then hooks that run are ended, to be run again by the next agent. There is
one agent for a data directory; other commands start one in the background if
there is none.`,
		Example: "  unitd agent\n  UNITD_DATA=/var/lib/unitd unitd agent",
		Args:    args(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return a.agent(allowReboot) },
	}
	cmd.Flags().BoolVar(&allowReboot, "allow-reboot", false, "carry out what charms ask of juju-reboot; it is only logged otherwise")
	return cmd
}

func (a *app) agent(allowReboot bool) error {
	lock, err := takeLock()
	if err != nil {
		return err
	}
	defer a.release(lock)
	c, err := a.agentConfig()
	if err != nil {
		return err
	}
	if err := a.rememberStore(c.Dir); err != nil {
		return err
	}
	if allowReboot {
		c.Reboot = reboot
	}
	c.Ready = func() {
		c.Log.Info("the agent runs", "version", hooks.Version)
		tellReady()
	}
	err = runAgent(a.ctx, c)
	if errors.Is(err, context.Canceled) {
		c.Log.Info("the agent has stopped")
		return nil
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
	c, err := a.agentConfigIn(dir, controller)
	c.Mounts = storage.MayMount()
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
	return machine.Config{
		Controller: controller, Dir: dir, Client: client, ToolClient: fast, Clock: clock.WallClock,
		Log:  newLog(a.stderr),
		Look: machine.LocalHost, Version: unitdVersion(),
	}, nil
}

// newLog is a log that has one line for everything. An error is in it as people
// see it elsewhere; slog would print where in the program it came by.
func newLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
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
