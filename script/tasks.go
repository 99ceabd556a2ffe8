package script

import (
	"context"
	"slices"
	"strings"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// taskCommands have units run actions and commands.
func taskCommands() []Cmd {
	return []Cmd{
		{Name: "run", Args: "UNIT… ACTION [KEY=VALUE…]", Summary: "run an action, and let the world go on until nothing is left to do; with --background: only ask for it", run: func(c *call) error {
			return c.task(append([]string{"run"}, c.args...))
		}},
		{Name: "unit-exec", Args: "UNIT COMMAND…", Summary: "run commands in the context of a unit, or of APPLICATION/leader, as \"unitd exec\" does, and let the world go on as run does", run: func(c *call) error {
			if len(c.args) < 2 {
				return c.usagef("expected a unit and a command")
			}
			// Who leads is known when the commands are asked for.
			if !strings.HasSuffix(c.args[0], "/leader") {
				if _, err := c.unit(); err != nil {
					return err
				}
			}
			return c.task(append([]string{"exec", "--unit", c.args[0], "--"}, c.args[1:]...))
		}},
	}
}

// task runs a command line that waits for tasks. The agent stands still until
// they are asked for, and then goes on until nothing is left to do: so neither
// what comes before them nor what comes after depends on how fast somebody is.
func (c *call) task(args []string) error {
	if slices.Contains(args, "--background") {
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
