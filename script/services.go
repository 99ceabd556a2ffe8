package script

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// serviceCommands are about the machines of isolated units, and the services that systemd
// runs there.
func serviceCommands() []Cmd {
	return []Cmd{
		{Name: "isolate", Args: "MODE", Summary: "isolate what the script deploys from here on in one of these modes: " + strings.Join(model.IsolationModes(), ", "), run: (*call).isolate},
		{Name: "systemd-unit", Args: "UNIT NAME STATE", Summary: "check that a unit of systemd on the unit's machine is in a state: active, inactive or failed; it has a moment to get there", run: (*call).systemdUnit},
		{Name: "journal", Args: "UNIT [NAME]", Summary: "show what a unit of systemd on the unit's machine has logged, or the whole journal", run: (*call).journal},
		{Name: "power-cut", Args: "UNIT", Summary: "cut the power of an isolated unit's machine: everything in it is killed, and the machine starts anew", run: (*call).powerCut},
	}
}

func (c *call) isolate() error {
	if len(c.args) != 1 || !slices.Contains(model.IsolationModes(), c.args[0]) {
		return c.usagef("expected one of %s", strings.Join(model.IsolationModes(), ", "))
	}
	c.ts.Setenv(isolateVariable, c.args[0])
	c.isolated = c.isolated || c.args[0] != model.IsolateOff
	return nil
}

// ownMachine is the machine of its own of the unit that is the first argument. The error
// says that it has none, or that it doesn't run.
func (c *call) ownMachine() (model.UnitName, *isolate.Cell, error) {
	name, m, err := c.known()
	if err != nil {
		return "", nil, err
	}
	doc, err := m.Unit(c.ctx, name)
	if err != nil {
		return "", nil, err
	}
	in := name
	if doc.Principal != "" {
		in = doc.Principal
	}
	app, err := m.Application(c.ctx, in.Application())
	if err != nil {
		return "", nil, err
	}
	if !app.Isolation.On() {
		return "", nil, errors.Errorf("%s has no machine of its own: it isn't isolated", name)
	}
	cell, err := machine.NewCells(c.dir, c.world.unitd).Find(machine.CellKey(m.UUID(), in))
	switch {
	case errors.Is(err, errors.NotFound):
		return "", nil, errors.Errorf("the machine of %s hasn't been started yet: settle", name)
	case err != nil:
		return "", nil, errors.Trace(err)
	case !cell.Running():
		return "", nil, errors.Errorf("the machine of %s isn't running: the agent starts it when the script waits", name)
	}
	return name, cell, nil
}

// system is ownMachine for one with systemd.
func (c *call) system() (model.UnitName, *isolate.Cell, error) {
	name, cell, err := c.ownMachine()
	if err == nil && !cell.System() {
		err = errors.Errorf("the machine of %s has no systemd: deploy the application with --isolate=machine", name)
	}
	return name, cell, err
}

// inMachine runs a program of a machine, and is what it prints.
func (c *call) inMachine(ctx context.Context, cell *isolate.Cell, program string, args ...string) (string, error) {
	path, all := cell.Command("/", "/usr/bin/env", append([]string{program}, args...)...)
	cmd := exec.CommandContext(ctx, path, all...)
	cmd.Env = []string{"PATH=" + isolate.Path, "LANG=C.UTF-8", "SYSTEMD_PAGER="}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", errors.Errorf("%s: %v: %s", program, err, strings.TrimSpace(said.String()))
	}
	return out.String(), nil
}

// systemdStates are those that a script can claim.
var systemdStates = []string{"active", "inactive", "failed"}

// servicePatience is how long, in real time, systemd may take to have a unit in a state.
const servicePatience = 20 * time.Second

func (c *call) systemdUnit() error {
	if len(c.args) != 3 || !slices.Contains(systemdStates, c.args[2]) {
		return c.usagef("expected a unit, a unit of systemd, and one of %s", strings.Join(systemdStates, ", "))
	}
	name, cell, err := c.system()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, servicePatience)
	defer cancel()
	service, want, is := c.args[1], c.args[2], ""
	for {
		out, err := c.inMachine(ctx, cell, "systemctl", "show", "-p", "LoadState", "-p", "ActiveState", "--", service)
		switch {
		case ctx.Err() != nil && is != "":
			return errors.Errorf("%s of %s is %s, not %s", service, name, is, want)
		case err != nil:
			return errors.Annotatef(err, "cannot ask the systemd of %s", name)
		case strings.Contains(out, "LoadState=not-found\n"):
			return errors.Errorf("the systemd of %s has no unit %s", name, service)
		}
		if _, is, _ = strings.Cut(out, "ActiveState="); strings.TrimSpace(is) == want {
			return nil
		}
		is = strings.TrimSpace(is)
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (c *call) journal() error {
	if len(c.args) == 0 || len(c.args) > 2 {
		return c.usagef("expected a unit, and perhaps a unit of systemd")
	}
	name, cell, err := c.system()
	if err != nil {
		return err
	}
	args := []string{"--no-pager", "--quiet", "--output=cat"}
	if len(c.args) == 2 {
		args = append(args, "--unit="+c.args[1])
	}
	// What services have printed is in the journal once that says so.
	out, err := c.inMachine(c.ctx, cell, "sh", append([]string{"-c", `journalctl --sync && exec journalctl "$@"`, "journalctl"}, args...)...)
	if err != nil {
		return errors.Annotatef(err, "cannot read the journal of %s", name)
	}
	c.printf("%s", out)
	return nil
}

func (c *call) powerCut() error {
	if len(c.args) != 1 {
		return c.usagef("expected a unit")
	}
	name, cell, err := c.ownMachine()
	if err != nil {
		return err
	}
	if err := syscall.Kill(cell.Pid(), syscall.SIGKILL); err != nil && err != syscall.ESRCH {
		return errors.Annotatef(err, "cannot kill the machine of %s", name)
	}
	_, err = cell.Wait(c.ctx)
	return errors.Trace(err)
}

// rebootUnit reboots the machine of an isolated unit in good order: systemd stops its
// services. One without systemd has no order: it is as if the power were cut.
func (c *call) rebootUnit() error {
	name, cell, err := c.ownMachine()
	if err != nil {
		return err
	}
	if !cell.System() {
		return c.powerCut()
	}
	return errors.Annotatef(cell.Reboot(c.ctx), "cannot reboot the machine of %s", name)
}

// endedByPause says which services of the machines of units won't come back when those boot
// again, one line each: they run, and aren't enabled.
func (w *world) endedByPause(ctx context.Context) []string {
	cells := machine.NewCells(w.dir, w.unitd)
	keys, err := cells.Keys()
	if err != nil {
		return nil // nothing can be said, and whoever pauses them says why
	}
	var lines []string
	for _, key := range keys {
		cell, err := cells.Find(key)
		if err != nil || !cell.Running() || !cell.System() {
			continue
		}
		out, err := (&call{world: w}).inMachine(ctx, cell, "sh", "-c", lostServices)
		_, tag, _ := strings.Cut(key, "/")
		unit, isUnit := strings.CutPrefix(tag, "unit-")
		if services := strings.Fields(out); err == nil && isUnit && len(services) > 0 {
			lines = append(lines, fmt.Sprintf("the machine of %s boots again without %s: not enabled", unit, strings.Join(services, ", ")))
		}
	}
	return lines
}

// lostServices prints the services that run and that no boot starts.
const lostServices = `systemctl list-units --type=service --state=running --plain --no-legend | while read -r name rest; do
	case $(systemctl is-enabled "$name" 2>/dev/null) in disabled|transient) echo "$name";; esac
done`
