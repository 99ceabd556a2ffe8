package script

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// taskCommands have units run actions and commands.
func taskCommands() []Cmd {
	return []Cmd{
		{Name: "run", Args: "UNIT… ACTION [KEY=VALUE…]", Summary: "run an action, and let the world go on until nothing is left to do; with --background: only ask for it", run: (*call).runAction},
		{Name: "unit-exec", Args: "UNIT COMMAND…", Summary: "run commands in the context of a unit, or of APPLICATION/leader, as \"unitd exec\" does, and let the world go on as run does; \"hooks\" doesn't show it", run: (*call).unitExec},
	}
}

func (c *call) runAction() error {
	line := append([]string{"run"}, c.args...)
	m, err := c.model()
	if err != nil {
		return err
	}
	units, action := unitsAndAction(c.args)
	for _, unit := range units {
		if err := c.runsTasks(m, unit); err != nil {
			return err
		}
	}
	for _, unit := range units {
		if action == "" { // what there is to say of the rest, the command says
			break
		}
		if err := c.hasAction(m, unit, action); err != nil {
			return err
		}
	}
	return c.task(line, false)
}

// unitsAndAction are the units that the words of "run" name, and the action, with flags
// of it anywhere between. It goes no further than it is sure of: at another flag it
// ends, which may have a value, or name another model.
func unitsAndAction(words []string) (units []string, action string) {
	alone := []string{"--background", "--string-args"}
	valued := []string{"--wait", "--params", "--format", "--output", "-o"}
	for i := 0; i < len(words); i++ {
		name, _, given := strings.Cut(words[i], "=")
		switch {
		case slices.Contains(alone, name) || given && slices.Contains(valued, name):
		case slices.Contains(valued, name):
			i++
		case strings.HasPrefix(name, "-"):
			return units, ""
		case strings.Contains(words[i], "/"):
			units = append(units, words[i])
		default:
			return units, words[i]
		}
	}
	return units, ""
}

// runsTasks is the error of a unit that isn't there; APPLICATION/leader is for
// the command to make out.
func (c *call) runsTasks(m *state.Model, unit string) error {
	if application, ok := strings.CutSuffix(unit, "/leader"); ok {
		if _, err := m.Application(c.ctx, application); err != nil {
			return misuse{err}
		}
		return nil
	}
	name, err := model.ParseUnitName(unit)
	if err != nil {
		return c.usagef("%v", err)
	}
	if _, err := m.Unit(c.ctx, name); err != nil {
		return misuse{fmt.Errorf("there is no unit %q%s", name, c.others(m))}
	}
	return nil
}

// hasAction is the error of an action that the unit's charm doesn't have.
func (c *call) hasAction(m *state.Model, unit, action string) error {
	application, _, _ := strings.Cut(unit, "/")
	app, err := m.Application(c.ctx, application)
	if err != nil {
		return err
	}
	charm, err := m.Charm(c.ctx, app.Charm)
	if err != nil {
		return err
	}
	if _, ok := charm.Charm.Actions[action]; ok {
		return nil
	}
	has := "it has none"
	if names := slices.Sorted(maps.Keys(charm.Charm.Actions)); len(names) > 0 {
		has = "it has " + strings.Join(names, ", ")
	}
	return c.usagef("%s has no action %q; %s", application, action, has)
}

func (c *call) unitExec() error {
	if len(c.args) < 2 {
		return c.usagef("expected a unit and a command")
	}
	m, err := c.model()
	if err != nil {
		return err
	}
	if err := c.runsTasks(m, c.args[0]); err != nil {
		return err
	}
	return c.task(append([]string{"exec", "--unit", c.args[0], "--"}, c.args[1:]...), true)
}

// task runs a command line that waits for tasks. The agent stands still until
// they are asked for, and then goes on until nothing is left to do: so neither
// what comes before them nor what comes after depends on how fast somebody is.
// probe: they are the script's own, and "hooks" doesn't show them.
func (c *call) task(args []string, probe bool) error {
	if !probe && slices.Contains(args, "--background") {
		return c.unitd(args)
	}
	m, err := c.model()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	watch, err := m.Watch(ctx, 0)
	if err != nil {
		return err
	}
	before, err := m.Operations(ctx)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.unitd(args) }()
	for asked := false; !asked; {
		select {
		case <-watch:
			now, err := m.Operations(ctx)
			if err != nil {
				<-ended
				return err
			}
			asked = newest(now) != newest(before)
			if asked && probe {
				c.noteProbe(now[len(now)-1])
			}
		case err := <-ended:
			ended <- err
			asked = true
		}
	}
	err = c.let(c.settle)
	if failed := <-ended; failed != nil {
		c.printf("%s", c.ts.ReadFile("stdout")) // the error alone would take its place
		return failed
	}
	return err
}

// noteProbe notes that an operation's tasks are the script's own.
func (w *world) noteProbe(op state.Operation) {
	if w.probes == nil {
		w.probes = map[string]bool{}
	}
	for _, t := range op.Tasks {
		w.probes[t.ID] = true
	}
}

// newest is the id of the newest operation; empty: there is none.
func newest(all []state.Operation) string {
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1].ID
}

// taskNames are the runs of tasks that a charm's units can have, as hooks shows
// them.
func taskNames(charm model.Charm) []string {
	names := []string{hooks.Info{Kind: hooks.Exec}.Name()}
	for action := range charm.Actions {
		names = append(names, hooks.Info{Kind: hooks.Action, Action: action}.Name())
	}
	slices.Sort(names)
	return names
}

// isTask says whether a word can be the run of a task of some charm.
func isTask(word string) bool {
	return word == string(hooks.Exec) || strings.HasSuffix(word, "-"+string(hooks.Action))
}
