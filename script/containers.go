package script

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/workload"
)

// containerCommands are what happens to workload containers. They do it by
// themselves, as containers go on without an agent.
func containerCommands() []Cmd {
	return []Cmd{
		{Name: "container-kill", Args: "UNIT NAME", Summary: "kill a workload container with SIGKILL; it is started again, as by Kubernetes", run: (*call).containerKill},
		{Name: "container-stop", Args: "[--hang] UNIT NAME", Summary: "stop a workload container and keep it stopped, even if it hasn't been started yet; with --hang, its Pebble goes on running, but doesn't answer", run: (*call).containerStop},
		{Name: "container-start", Args: "UNIT NAME", Summary: "start a stopped workload container again, or let its Pebble answer again", run: (*call).containerStart},
	}
}

// container is a workload container of a unit.
type container struct {
	model, name string // the model by its UUID
	unit        model.UnitName
}

// String names it for people.
func (k container) String() string { return fmt.Sprintf("container %s of %s", k.name, k.unit) }

// container reads the unit and the container that the arguments begin with; n is
// how many arguments there are to be, -1: more than these two.
func (c *call) container(n int) (container, error) {
	if len(c.args) < 2 || n >= 0 && len(c.args) != n {
		return container{}, c.usagef("expected a unit and a container")
	}
	unit, err := c.unit()
	if err != nil {
		return container{}, err
	}
	m, err := c.model()
	if err != nil {
		return container{}, err
	}
	if _, err := m.Unit(c.ctx, unit); err != nil {
		return container{}, misuse{fmt.Errorf("there is no unit %q%s", unit, c.others(m))}
	}
	app, err := m.Application(c.ctx, unit.Application())
	if err != nil {
		return container{}, err
	}
	charm, err := m.Charm(c.ctx, app.Charm)
	if err != nil {
		return container{}, err
	}
	names := charm.Charm.ContainerNames()
	switch {
	case len(names) == 0:
		return container{}, misuse{fmt.Errorf("%s has no containers: its charm declares none", unit)}
	case !slices.Contains(names, c.args[1]):
		return container{}, misuse{fmt.Errorf("%s has no container %q; it has %s", unit, c.args[1], strings.Join(names, ", "))}
	case !app.Isolation.On():
		return container{}, errors.Errorf("the containers of %s don't run: the unit isn't isolated", unit)
	}
	return container{model: m.UUID(), unit: unit, name: c.args[1]}, nil
}

// cell is what the container runs in. The error says that it doesn't run.
func (w *world) cell(k container) (*isolate.Cell, error) {
	cell, err := w.find(k)
	switch {
	case w.held[k] && !w.hung[k]:
		return nil, errors.Errorf("%s is stopped, as the script wants: \"container-start\" starts it", k)
	case errors.Is(err, errors.NotFound):
		return nil, errors.WithType(errors.Errorf("%s hasn't been started yet: settle", k), errNotUp)
	case err != nil:
		return nil, errors.Trace(err)
	case !cell.Running():
		return nil, errors.WithType(errors.Errorf("%s doesn't run", k), errNotUp)
	}
	return cell, nil
}

func (w *world) find(k container) (*isolate.Cell, error) {
	return machine.NewCells(w.dir, "").Find(isolate.ContainerKey(machine.CellKey(k.model, k.unit), k.name))
}

// errNotUp says of a container that it doesn't run, for no reason of the script's.
const errNotUp = errors.ConstError("the container is down")

func (c *call) containerKill() error {
	k, err := c.container(2)
	if err != nil {
		return err
	}
	cell, err := c.cell(k)
	if err != nil {
		return err
	}
	if c.hung[k] { // it has been ended for that
		delete(c.held, k)
		delete(c.hung, k)
		if err := c.tellHeld(k); err != nil {
			return err
		}
	}
	if err := syscall.Kill(cell.Pid(), syscall.SIGKILL); err != nil && err != syscall.ESRCH {
		return errors.Annotatef(err, "cannot kill %s", k)
	}
	_, err = cell.Wait(c.ctx)
	return errors.Trace(err)
}

func (c *call) containerStop() error {
	hang := len(c.args) > 0 && strings.TrimLeft(c.args[0], "-") == "hang"
	if hang {
		c.args = c.args[1:]
	}
	k, err := c.container(2)
	if err != nil {
		return err
	}
	cell, err := c.cell(k)
	switch {
	case errors.Is(err, errNotUp) && !hang: // it isn't up yet, and won't be
		c.held[k] = true
		if err := c.tellHeld(k); err != nil {
			return err
		}
		// It may have been started before the agent knew.
		if cell, err = c.find(k); err != nil || !cell.Running() {
			return nil
		}
		return errors.Annotatef(cell.Stop(c.ctx, workload.Grace), "cannot stop %s", k)
	case err != nil:
		return err
	case c.hung[k]:
		return errors.Errorf("the Pebble of %s hangs already: \"container-start\" ends that", k)
	}
	c.held[k], c.hung[k] = true, hang
	if err := c.tellHeld(k); err != nil {
		return err
	}
	if hang {
		return errors.Annotatef(syscall.Kill(cell.Pid(), syscall.SIGSTOP), "cannot stop the Pebble of %s", k)
	}
	return errors.Annotatef(cell.Stop(c.ctx, workload.Grace), "cannot stop %s", k)
}

func (c *call) containerStart() error {
	k, err := c.container(2)
	if err != nil {
		return err
	}
	if !c.held[k] {
		return errors.Errorf("%s isn't stopped", k)
	}
	if c.hung[k] {
		cell, err := c.cell(k)
		if err == nil {
			err = syscall.Kill(cell.Pid(), syscall.SIGCONT)
		}
		if err != nil {
			return errors.Annotatef(err, "cannot let the Pebble of %s go on", k)
		}
	}
	delete(c.held, k)
	delete(c.hung, k)
	return c.tellHeld(k)
}

// tellHeld tells the agent, if one runs, whether a container is kept ended.
func (w *world) tellHeld(k container) error {
	if _, err := w.running(); err != nil {
		return nil // the next one is told when it starts
	}
	_, err := w.tell(lab.Request{Container: &lab.HeldContainer{Model: k.model, Unit: k.unit, Name: k.name, Held: w.held[k]}})
	return err
}

// containersRun says whether charms with containers have these where units are
// isolated so, and pebbleIsHere whether there is a Pebble for images without one.
func (e *engine) containersRun() bool { return e.Isolate != model.IsolateOff }

func (e *engine) pebbleIsHere() (bool, error) {
	if e.Pebble != "" {
		return true, nil
	}
	_, err := workload.FindPebble()
	if errors.Is(err, errors.NotFound) {
		return false, nil
	}
	return err == nil, errors.Trace(err)
}

// recallHeld tells an agent that has just started which containers are kept ended.
func (w *world) recallHeld() error {
	for k := range w.held {
		if err := w.tellHeld(k); err != nil {
			return err
		}
	}
	return nil
}
