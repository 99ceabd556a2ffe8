package agent

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/agentlog"
	"github.com/unitd/unitd/backup"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/storage"
	"github.com/unitd/unitd/telemetry"
)

// Options say what the agent is, and what it may do beside running hooks.
type Options struct {
	// Join says as which machine's agent it joins, if it does.
	Join JoinOptions
	// AllowReboot has it carry out what charms ask of juju-reboot, TakeOver manage the
	// models in place of an agent that is gone, and debug be looked into.
	AllowReboot, TakeOver, Debug bool
	// HooksAtOnce is machine.Config's; 0: what the environment says, or nothing.
	HooksAtOnce int
	// Listen says where metrics and health are served; without an address they aren't, and
	// nothing is measured.
	Listen telemetry.Listen
	// Sessions lets people of other hosts open sessions here, by the address of Listen, which
	// then needs a certificate.
	Sessions bool
	// OTLP says where traces, metrics and logs are sent; without an endpoint it is what the
	// environment says, or nothing.
	OTLP telemetry.OTLP
	// Tunnel says how this host's isolated units reach those of others: by "auto", "off" or a
	// UDP port where they wait; empty: auto.
	Tunnel string
	// StoreSocket is the path of the socket at which others may use the store; empty: they may
	// not.
	StoreSocket string
	// Log says how the agent's own log is written, and where to.
	Log agentlog.Options
}

// hooksVariable says how many hooks begin at once, also for agents that commands start.
const hooksVariable = "UNITD_HOOKS_AT_ONCE"

// hooksAtOnce is what the option says, or the environment; 0: neither does.
func (o Options) hooksAtOnce() (int, error) {
	if o.HooksAtOnce < 0 {
		return 0, Wrongf("--hooks-at-once %d: give a number of at least 1, or 0 for as many as this host can handle", o.HooksAtOnce)
	}
	text := os.Getenv(hooksVariable)
	if o.HooksAtOnce > 0 || text == "" {
		return o.HooksAtOnce, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, Wrongf("%s=%s: give a number of at least 1", hooksVariable, text)
	}
	return n, nil
}

// tunnelPort is machine.Config.TunnelPort as the option says it.
func (o Options) tunnelPort() (int, error) {
	switch o.Tunnel {
	case "", "auto":
		return 0, nil
	case "off":
		return -1, nil
	}
	port, err := strconv.ParseUint(o.Tunnel, 10, 16)
	if err != nil || port == 0 {
		return 0, Wrongf("--tunnel %q: give a UDP port, auto or off", o.Tunnel)
	}
	return int(port), nil
}

// Serve is the agent of this data directory, in this process, until the context
// ends. What is asked for and can't be is ErrUsage; AlreadyExists: there is an agent.
func (h *Host) Serve(o Options) error {
	environ := os.Environ()
	os.Unsetenv(backgroundVariable) // it is about no program that this one starts
	// Before any other program is started, which would have the files that were handed over.
	handed, lock, handedErr := takeHandover()
	keysByCommand.fetch()
	if lock != nil { // it has joined and taken over before, as another program; the token may be gone
		o.Join.Token, o.TakeOver = "", false
	}
	if err := o.Join.check(); err != nil {
		return err
	}
	if o.TakeOver && o.Join.Token != "" {
		return Wrongf("--takeover is for the agent that manages the models, --join for another one: choose one of them")
	}
	file, endLog, err := h.openLog(o.Log)
	if err != nil {
		return err
	}
	defer endLog()
	if lock == nil {
		if lock, err = TakeLock(); err != nil {
			return err
		}
	}
	defer h.Release(lock)
	joined, err := h.Join(o.Join)
	if err != nil {
		return err
	}
	o.Listen = withToken(o.Listen)
	if o.Sessions && (o.Listen.Address == "" || o.Listen.Cert == "") {
		return Wrongf("--allow-sessions is about the address of --listen, and needs that, --listen-cert and --listen-key")
	}
	measured, err := h.Measure(o)
	if err != nil {
		return err
	}
	defer measured.End()
	c, err := h.Config()
	if err != nil {
		return err
	}
	if err := h.RememberStore(c.Dir); err != nil {
		return err
	}
	if err := o.configure(&c, joined); err != nil {
		return err
	}
	if err := h.MeetRestored(c); err != nil {
		return err
	}
	if o.Debug {
		end, err := serveDebug(c.Dir)
		if err != nil {
			return err
		}
		defer end()
	}
	var socket *storeSocket
	c.Handed, c.Upgrade = handed, upgrade(lock, environ, measured.Flush, func() (back func()) {
		sessions, store := measured.holdSessions(), socket.hold()
		return func() {
			store()
			sessions()
		}
	})
	if handedErr != nil {
		c.Log.Error("the hooks that were handed over are ended, as after a crash", "err", handedErr)
	}
	c.Ready = func() {
		c.Log.Info("the agent runs", "version", hooks.Version)
		if handed != nil {
			c.Log.Info("this process was another program before", "build", Version(), "hooks-handed-over", len(handed.Runs))
		}
		TellReady()
	}
	r, endReport, err := h.report(&c)
	if err != nil {
		return err
	}
	defer endReport()
	var stop func()
	c.Reopen, stop = reopens(file, r.manager)
	defer stop()
	if err := h.shareKeys(&c); err != nil {
		return err
	}
	if o.Sessions {
		if err := measured.openSessions(h, &c, joined.address(o)); err != nil {
			return err
		}
	}
	if err := measured.Attach(&c, joined != nil); err != nil {
		return err
	}
	if socket, err = h.serveStore(o.StoreSocket, c.Controller, c.Log); err != nil && handed == nil {
		return err
	}
	if err != nil { // hooks that were handed over go on
		c.Log.Error("the store isn't served to other users", "err", err)
	}
	defer socket.close()
	return ended(h.ToDo(Run(h.ctx, c)), c.Log, joined)
}

// ended says why an agent has ended, and is what is wrong with that.
func ended(err error, log *slog.Logger, joined *Joined) error {
	switch {
	case errors.Is(err, context.Canceled):
		log.Info("the agent has stopped")
		return nil
	case errors.Is(err, machine.ErrMachineGone):
		log.Info("the agent has ended, and doesn't run again", "machine", joined.Machine, "why", err.Error())
		return joined.machineGone()
	}
	return err
}

// configure has an agent be what was asked for: one of a machine, if it has joined as that, or
// the one that manages the models.
func (o Options) configure(c *machine.Config, joined *Joined) error {
	switch {
	case joined != nil && o.TakeOver:
		return Wrongf("--takeover: this agent has joined as machine %s: one with another data directory (UNITD_DATA) can manage the models", joined.Machine)
	case joined != nil:
		joined.Configure(c)
	case o.Join.Address != "":
		c.Look = func() machine.Host { return machine.ReachableHost(o.Join.Address) }
	}
	if o.AllowReboot {
		c.Reboot = reboot
	}
	c.TakeOver = c.TakeOver || o.TakeOver
	var err error
	if c.TunnelPort, err = o.tunnelPort(); err != nil {
		return err
	}
	c.HooksAtOnce, err = o.hooksAtOnce()
	return err
}

// Run runs an agent in this process, which becomes the parent of what hooks
// leave running.
func Run(ctx context.Context, c machine.Config) error {
	if c.Handed == nil {
		c.Reaper = runner.Adopt()
	} else {
		c.Reaper = runner.AdoptAgain(c.Handed.Processes())
	}
	defer c.Reaper.Close()
	defer trimming()()
	c.Controller = c.Controller.WithCause("").WithAuthor(nil) // what the command does that began it is one thing, what the agent does another
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

// Config is what an agent in this process runs with.
func (h *Host) Config() (machine.Config, error) {
	dir, err := DataDir()
	if err != nil {
		return machine.Config{}, err
	}
	controller, err := h.Open()
	if err != nil {
		return machine.Config{}, err
	}
	if err := h.CheckEngine(false); err != nil {
		return machine.Config{}, err
	}
	c, err := h.ConfigIn(dir, controller)
	if err != nil {
		return c, err
	}
	c.Mounts = storage.MayMount()
	// Whoever has put a store's file into the data directory has said so by that.
	name, err := h.StoreName()
	c.TakeOver = name == LocalStore
	if s, ok := h.store.(interface{ Reserve() error }); ok {
		c.Reserve = s.Reserve
	}
	if err != nil {
		return c, err
	}
	return c, nil
}

// MeetRestored has the data directory come to terms with a store that was restored
// without it. It comes before the agent that c is for. Test worlds don't need it.
func (h *Host) MeetRestored(c machine.Config) error {
	joined, err := ReadJoin(c.Dir)
	if err != nil {
		return err
	}
	joined.Configure(&c)
	moved, err := backup.Meet(h.ctx, c)
	for _, what := range moved {
		c.Log.Warn("the store was restored from a backup: moved", "what", what)
	}
	return err
}

// ConfigIn is Config with any data directory and its models.
func (h *Host) ConfigIn(dir string, controller *state.Controller) (machine.Config, error) {
	client, err := ToolClient(dir)
	if err != nil {
		return machine.Config{}, err
	}
	fast, err := fastClient(dir)
	if err != nil {
		return machine.Config{}, err
	}
	self, err := StableSelf(dir)
	if err != nil {
		return machine.Config{}, err
	}
	return machine.Config{
		Cells: machine.NewCells(dir, self), Controller: controller, Dir: dir, Client: client, ToolClient: fast, Clock: clock.WallClock,
		Log:  h.ownLog(),
		Look: machine.LocalHost, Version: Version(), Show: h.Show, OpenExternal: h.OpenExternal,
	}, nil
}

// Shutdown ends the agent of the data directory, and waits until it has.
func (h *Host) Shutdown(timeout time.Duration) error {
	pid, err := Running()
	if err != nil {
		return err
	}
	if pid == 0 {
		h.Note("no agent is running")
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && err != syscall.ESRCH {
		return errors.Annotatef(err, "cannot end the agent (process %d)", pid)
	}
	ctx, cancel := context.WithTimeout(h.ctx, timeout)
	defer cancel()
	if err := WaitForEnd(ctx); err != nil {
		return errors.Errorf("the agent (process %d) has not ended after %s", pid, timeout)
	}
	return nil
}

// ShutdownTime is how long an agent has to end its hooks.
const ShutdownTime = 30 * time.Second
