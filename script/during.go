package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/script/lab"
)

// during arranges that a command is carried out while the next run of a hook waits.
func (c *call) during() error {
	args, f := c.args, lab.Fault{Do: lab.Ask, At: machine.PointHook}
	if len(args) > 1 && args[0] == "after" {
		var err error
		if args, err = c.afterTool(&f, args[1:]); err != nil {
			return err
		}
	}
	if len(args) < 3 {
		return c.usagef("expected a unit, a hook and a command")
	}
	f.Command = args[2:]
	if _, err := c.deed(f.Command); err != nil {
		return err
	}
	return c.arm(f, args[:2])
}

// whole are the commands that can't be carried out in a hook: they let the world go
// on, which waits for that hook, or take the agent away that runs it.
func whole() []string {
	return []string{
		"settle", "run-hooks", "advance", "run", "unit-exec", "explore", "restart-agent", "stop-agent", "kill-agent",
		"reboot", "snapshot", "restore", "keep-runs", "rewind",
	}
}

// deed is the command that words are, as "during" takes it.
func (c *call) deed(words []string) (Cmd, error) {
	if slices.Contains(whole(), words[0]) {
		return Cmd{}, c.usagef("%s can't be done during a hook, which the world waits for", words[0])
	}
	for _, cmd := range Commands() {
		if cmd.Name == words[0] {
			return cmd, nil
		}
	}
	return Cmd{}, c.usagef("there is no command %q", words[0])
}

// deeds are what a script does while a hook waits, or once there is a relation.
type deeds struct {
	// carry carries out a command as the line of the script does that waits.
	carry func(words []string) error
	// early is what stubs are to say in their first relations.
	early []saying
}

// player carries out commands for the line of a script. They print aside: what the
// line prints is its own.
func (c *call) player() func(words []string) error {
	return func(words []string) error {
		cmd, err := c.deed(words)
		if err != nil {
			return err
		}
		side := &aside{world: c.world, script: c.ts}
		return (&call{world: c.world, engine: c.engine, ts: side, args: words[1:], cmd: cmd}).do()
	}
}

// do carries the command out. What stubs are to say early they say before it, as the relation may
// have come by something else than a command, such as "exec", and behind it.
func (c *call) do() error {
	if len(c.early) > 0 {
		_ = c.sayEarly() // what fails does so once more below
	}
	err := c.cmd.run(c)
	if len(c.early) > 0 {
		if early := c.sayEarly(); err == nil {
			err = early
		}
	}
	return err
}

// carryOut does what hook runs wait for, and lets them go on. The agent stands still
// meanwhile, so that all that one command changes is one change for it. done: there
// was something.
func (w *world) carryOut(answer lab.Answer) (done bool, err error) {
	for _, asked := range answer.Asks {
		hold, goOn := true, false
		if _, err := w.tell(lab.Request{Hold: &hold}); err != nil {
			return true, err
		}
		failed := w.carry(asked.Command)
		for _, r := range []lab.Request{{Hold: &goOn}, {Done: asked.ID}} {
			if _, err := w.tell(r); err != nil {
				return true, err
			}
		}
		if failed != nil {
			return true, errors.WithType(fmt.Errorf("during %s of %s: %s: %w", asked.Hook, asked.Unit, strings.Join(asked.Command, " "), failed), errDeedFailed)
		}
	}
	return len(answer.Asks) > 0, nil
}

// errDeedFailed says that a command has failed that a hook run has waited for.
const errDeedFailed = errors.ConstError("a command in a hook has failed")
