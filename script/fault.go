package script

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/tools"
)

// faultCommands have something go wrong.
func faultCommands() []Cmd {
	return []Cmd{
		{Name: "fail", Args: "UNIT HOOK [TIMES]", Summary: "make the next runs of a hook fail, whatever the charm says", run: (*call).fail},
		{Name: "hang", Args: "[at POINT | after [NUMBER] TOOL] UNIT HOOK", Summary: "make the next run of a hook stand still, before it, at a point of it, or once it has called a tool", run: (*call).hang},
		{Name: "during", Args: "[after [NUMBER] TOOL] UNIT HOOK COMMAND…", Summary: "carry out a command of scripts in the next run of a hook, before its executable starts or once it has called a tool; then the hook goes on", run: (*call).during},
		{Name: "run-hook-as", Args: "UNIT HOOK PROGRAM", Summary: "run a program, one of the script's files, in the next run of a hook in place of the charm's executable", run: (*call).runHookAs},
		{Name: "release", Args: "UNIT", Summary: "let a unit go that stands still, and drop its other faults", run: (*call).release},
		{Name: "kill-agent", Args: "[during UNIT HOOK | at POINT UNIT HOOK | after [NUMBER] TOOL UNIT HOOK]", Summary: "end the agent by SIGKILL, now, at a point of a hook run, or once it has called a tool", run: (*call).killAgent},
		{Name: "lose-leadership", Args: "APPLICATION [during UNIT HOOK | after [NUMBER] TOOL UNIT HOOK]", Summary: "give the leadership to another unit, now or in a hook", run: (*call).loseLeadership},
		{Name: "lose-store", Args: "DURATION", Summary: "put the store out of the agent's reach for a while", run: (*call).loseStore},
		{Name: "twice", Args: "on | off", Summary: "run every hook a second time; settle, and off at the latest, fails where that makes a difference in what it writes", run: (*call).twice},
		{Name: "disk-full", Args: "[on | off]", Summary: "make every write of the agent and its hooks fail, or succeed again", run: (*call).diskFull},
	}
}

// arm has a fault happen in runs of the hook that the arguments name.
func (c *call) arm(f lab.Fault, args []string) error {
	if len(args) < 2 {
		return c.usagef("expected a unit and a hook")
	}
	c.args = args
	unit, m, err := c.expected()
	if err != nil {
		return err
	}
	f.Model, f.Unit, f.Hook, f.Due = m.UUID(), unit, args[1], true
	if err := c.knownHook(m, unit, f.Hook); err != nil {
		return err
	}
	_, err = c.tell(lab.Request{Fault: &f})
	return err
}

// expected is like known, but the unit may also be one of a subordinate that isn't there yet: such
// a unit is made only once hooks run.
func (c *call) expected() (model.UnitName, *state.Model, error) {
	name, m, err := c.known()
	if err == nil {
		return name, m, nil
	}
	if name, uerr := c.unit(); uerr == nil {
		m, merr := c.model()
		if merr != nil {
			return "", nil, merr
		}
		app, aerr := m.Application(c.ctx, name.Application())
		units, uerr := m.Units(c.ctx) // no more can come than there are units to live beside
		if aerr == nil && uerr == nil && app.Subordinate && name.Number() < app.NextUnit+len(units) {
			return name, m, nil
		}
	}
	return "", nil, err
}

// knownHook says whether the unit can run the hook, so that a slip of the pen
// isn't a fault that never happens.
func (c *call) knownHook(m *state.Model, unit model.UnitName, hook string) error {
	app, err := m.Application(c.ctx, unit.Application())
	if err != nil {
		return err
	}
	charm, err := m.Charm(c.ctx, app.Charm)
	if err != nil {
		return err
	}
	names := hooks.Names(charm.Charm, app.Name)
	names = append(names, taskNames(charm.Charm)...)
	if slices.Contains(names, hook) {
		return nil
	}
	return c.usagef("%s has no hook %q; it has %s", unit, hook, strings.Join(names, ", "))
}

func (c *call) fail() error {
	times := 1
	if len(c.args) == 3 {
		var err error
		if times, err = strconv.Atoi(c.args[2]); err != nil || times < 1 {
			return c.usagef("%q is not a number of times", c.args[2])
		}
		c.args = c.args[:2]
	}
	if len(c.args) != 2 {
		return c.usagef("expected a unit and a hook")
	}
	return c.arm(lab.Fault{Do: lab.FailHook, At: machine.PointEnded, Times: times}, c.args)
}

func (c *call) hang() error {
	switch {
	case len(c.args) == 2:
		return c.arm(lab.Fault{Do: lab.HangHook, At: machine.PointHook}, c.args)
	case len(c.args) == 4 && c.args[0] == "at":
		return c.armAt(lab.HangHook)
	case len(c.args) > 3 && c.args[0] == "after":
		return c.armAfter(lab.Fault{Do: lab.HangHook}, c.args[1:])
	}
	return c.usagef("expected a unit and a hook, and perhaps where")
}

// armAt is arm with "at POINT UNIT HOOK".
func (c *call) armAt(what lab.FaultKind) error {
	point := machine.PointName(c.args[1])
	if !slices.Contains(machine.PointNames(), point) {
		return c.usagef("there is no point %q; there are %v", point, machine.PointNames())
	}
	return c.arm(lab.Fault{Do: what, At: point}, c.args[2:])
}

// armAfter is arm with "[NUMBER] TOOL UNIT HOOK".
func (c *call) armAfter(f lab.Fault, args []string) error {
	args, err := c.afterTool(&f, args)
	if err != nil {
		return err
	}
	if len(args) != 2 {
		return c.usagef("expected a unit and a hook behind the hook tool")
	}
	return c.arm(f, args)
}

// afterTool has a fault happen once a hook tool was called, which "[NUMBER] TOOL" says: for the first time, or
// so many times in one run. It returns the arguments behind that.
func (c *call) afterTool(f *lab.Fault, args []string) ([]string, error) {
	f.At = machine.PointTool
	if n, err := strconv.Atoi(args[0]); err == nil && len(args) > 1 {
		if n < 1 {
			return nil, c.usagef("%q is not the number of a call: they count from 1", args[0])
		}
		f.Call, args = n, args[1:]
	}
	f.Tool = args[0]
	if !slices.ContainsFunc(tools.Table(), func(t tools.Tool) bool { return t.Name == f.Tool }) {
		return nil, c.usagef("there is no hook tool %q", f.Tool)
	}
	return args[1:], nil
}

func (c *call) release() error {
	if len(c.args) != 1 {
		return c.usagef("expected a unit")
	}
	unit, m, err := c.expected()
	if err != nil {
		return err
	}
	_, err = c.tell(lab.Request{Model: m.UUID(), Release: unit})
	return err
}

func (c *call) killAgent() error {
	switch {
	case len(c.args) == 0:
		if _, err := c.running(); err != nil {
			return err
		}
		c.stop(syscall.SIGKILL)
		return nil
	case c.args[0] == "during" && len(c.args) == 3:
		return c.arm(lab.Fault{Do: lab.Kill, At: machine.PointStarted}, c.args[1:])
	case c.args[0] == "at" && len(c.args) == 4:
		return c.armAt(lab.Kill)
	case c.args[0] == "after" && len(c.args) > 3:
		return c.armAfter(lab.Fault{Do: lab.Kill}, c.args[1:])
	}
	return c.usagef("expected nothing, or when")
}

func (c *call) loseLeadership() error {
	args := c.args
	during := len(args) == 4 && args[1] == "during"
	after := len(args) > 4 && args[1] == "after"
	if len(args) != 1 && !during && !after {
		return c.usagef("expected an application, and perhaps when")
	}
	m, err := c.model()
	if err != nil {
		return err
	}
	if _, err := m.Application(c.ctx, args[0]); errors.Is(err, errors.NotFound) {
		return misuse{err}
	} else if err != nil {
		return err
	}
	f := lab.Fault{Do: lab.Depose, Application: args[0]}
	switch {
	case during:
		f.At = machine.PointHook
		return c.arm(f, args[2:])
	case after:
		return c.armAfter(f, args[2:])
	}
	_, err = c.tell(lab.Request{Model: m.UUID(), Depose: args[0]})
	return err
}

func (c *call) loseStore() error {
	if len(c.args) != 1 {
		return c.usagef("expected how long")
	}
	d, err := time.ParseDuration(c.args[0])
	if err != nil || d <= 0 {
		return c.usagef("%q is not a duration like 30s", c.args[0])
	}
	c.troubled = true
	_, err = c.tell(lab.Request{LoseStore: d})
	return err
}

func (c *call) twice() error {
	if len(c.args) != 1 || c.args[0] != "on" && c.args[0] != "off" {
		return c.usagef("expected on or off")
	}
	on := c.args[0] == "on"
	if _, err := c.tell(lab.Request{Twice: &on}); err != nil {
		return err
	}
	if c.world.twice = on; on {
		return nil
	}
	found, err := c.untold()
	if err == nil && len(found) > 0 {
		err = errors.New(strings.Join(found, "\n"))
	}
	return err
}

// untold are what second runs have found, in any model, and what wasn't told yet. It is from now on.
func (w *world) untold() ([]string, error) {
	infos, err := w.models.Models(w.ctx)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, info := range infos {
		found, err := w.differences(w.models.Open(info))
		if err != nil {
			return nil, err
		}
		all = append(all, found[min(w.toldTwice[info.UUID], len(found)):]...)
		if w.toldTwice == nil {
			w.toldTwice = map[string]int{}
		}
		w.toldTwice[info.UUID] = len(found)
	}
	return all, nil
}

// differences are what second runs in a model have found so far.
func (w *world) differences(m *state.Model) ([]string, error) {
	var lines []string
	err := debuglog.ReadAll(machine.LogPath(w.dir, m.UUID()), func(e debuglog.Entry) error {
		if e.Module == machine.TwiceModule {
			lines = append(lines, e.Entity+": "+e.Message)
		}
		return nil
	})
	return lines, err
}

func (c *call) diskFull() error {
	full := true
	switch {
	case len(c.args) > 1 || len(c.args) == 1 && c.args[0] != "on" && c.args[0] != "off":
		return c.usagef("expected on or off")
	case len(c.args) == 1:
		full = c.args[0] == "on"
	}
	c.troubled = true
	_, err := c.tell(lab.Request{DiskFull: &full})
	return err
}
