package script

import (
	"slices"
	"strings"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// taskCommands have units run actions and commands.
func taskCommands() []Cmd {
	return []Cmd{
		{Name: "run", Args: "UNIT… ACTION [KEY=VALUE…]", Summary: "run an action, and let the world go on until nothing is left to do; with --background: only ask for it", run: func(c *call) error {
			return c.task(append([]string{"run"}, c.args...))
		}},
		{Name: "unit-exec", Args: "UNIT COMMAND…", Summary: "run commands in a unit's context, as \"unitd exec\" does, and let the world go on as run does", run: func(c *call) error {
			if len(c.args) < 2 {
				return c.usagef("expected a unit and a command")
			}
			if _, err := c.unit(); err != nil {
				return err
			}
			return c.task(append([]string{"exec", "--unit", c.args[0], "--"}, c.args[1:]...))
		}},
	}
}

// task runs a command line that waits for tasks, and settles: so what comes
// after it doesn't depend on how soon the task was seen to have ended.
func (c *call) task(args []string) error {
	if slices.Contains(args, "--background") {
		return c.unitd(args)
	}
	var failed error
	err := c.let(func() error {
		failed = c.unitd(args)
		return c.settle()
	})
	if failed != nil {
		return failed
	}
	return err
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
