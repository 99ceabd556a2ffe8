package script

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Cmd is a command of the scripts' language, beside those of testscript.
type Cmd struct {
	Name string
	// Args says what it takes, Summary in a line what it does.
	Args, Summary string
	// run does it. What it prints is compared by "stdout"; an error fails the
	// line, or is what "!" expects.
	run func(*call) error
}

// call is one use of a command.
type call struct {
	*world
	engine *engine
	ts     stage
	args   []string
	cmd    Cmd
}

// printf prints for "stdout" to look at.
func (c *call) printf(format string, args ...any) { fmt.Fprintf(c.ts.Stdout(), format, args...) }

// misuse is the error of a line that can't be right.
type misuse struct{ error }

// usagef says what is wrong with the line, and how the command is used.
func (c *call) usagef(format string, args ...any) error {
	return misuse{fmt.Errorf("%s (usage: %s)", fmt.Sprintf(format, args...), strings.TrimSpace(c.cmd.Name+" "+c.cmd.Args))}
}

// Commands is the table of all commands beside those of testscript.
func Commands() []Cmd {
	own := slices.Concat(timeCommands(), machineCommands(), lookCommands(), claimCommands(), stubCommands(), stubSecretCommands(), faultCommands(), storageCommands(), networkCommands(), containerCommands(), pebbleCommands(), serviceCommands(), snapshotCommands(), markCommands(), foundCommands(), exploreCommands(), taskCommands())
	return append(own, cliCommands()...)
}

// commands are they in testscript's form.
func (e *engine) commands() map[string]func(*testscript.TestScript, bool, []string) {
	cmds := map[string]func(*testscript.TestScript, bool, []string){}
	for _, cmd := range Commands() {
		cmds[cmd.Name] = func(ts *testscript.TestScript, neg bool, args []string) {
			w := ts.Value(worldKey{}).(*world)
			if w.ctx.Err() != nil {
				ts.Fatalf("interrupted")
			}
			c := &call{world: w, engine: e, ts: ts, args: args, cmd: cmd}
			w.carry = c.player()
			err := c.do()
			var wrong misuse
			switch {
			case err == nil && neg:
				ts.Fatalf("%s succeeded, and was to fail", cmd.Name)
			case err != nil && errors.As(err, &wrong):
				ts.Fatalf("%v", err)
			case err != nil && neg:
				fmt.Fprintln(ts.Stderr(), err)
			case err != nil:
				ts.Fatalf("%v", err)
			}
		}
	}
	if e.door != nil {
		cmds[doorCommand] = func(ts *testscript.TestScript, _ bool, _ []string) {
			ts.Check(e.door.serve(e, ts.Value(worldKey{}).(*world), ts))
		}
	}
	return cmds
}

// cliCommands are the verbs of the command line.
func cliCommands() []Cmd {
	var cmds []Cmd
	for _, verb := range []struct{ name, args, summary string }{
		{"deploy", "CHARM [APPLICATION]", "deploy a charm or a bundle"},
		{"export-bundle", "", "print the model as a bundle"},
		{"diff-bundle", "BUNDLE", "say in what the model differs from a bundle"},
		{"refresh", "APPLICATION --path CHARM | --revision N", "upgrade an application's charm"},
		{"rollback", "APPLICATION [--to REVISION]", "put an application back to an earlier revision of its charm"},
		{"add-unit", "APPLICATION [-n N]", "add units"},
		{"remove-unit", "UNIT… | APPLICATION --num-units K", "remove units"},
		{"scale-application", "APPLICATION UNITS", "say how many units a container application is to have"},
		{"remove-application", "APPLICATION…", "remove applications"},
		{"integrate", "A[:ENDPOINT] B[:ENDPOINT]", "relate two applications"},
		{"relate", "A[:ENDPOINT] B[:ENDPOINT]", "the same as integrate"},
		{"remove-relation", "A[:ENDPOINT] B[:ENDPOINT]", "remove a relation"},
		{"suspend-relation", "A[:ENDPOINT] B[:ENDPOINT] | ID…", "suspend relations, as if they were removed"},
		{"resume-relation", "A[:ENDPOINT] B[:ENDPOINT] | ID…", "take that back, with the same ids"},
		{"offer", "[MODEL.]APPLICATION:ENDPOINT[,ENDPOINT…] [NAME]", "offer endpoints of an application to other models"},
		{"offers", "[NAME]", "list what the model offers, and who uses it"},
		{"find-offers", "[URL]", "list what there is to consume"},
		{"consume", "MODEL.OFFER [ALIAS]", "let applications be integrated with what another model offers"},
		{"remove-offer", "URL|NAME… [--force]", "offer something no longer"},
		{"remove-saas", "NAME…", "consume an offer no longer"},
		{"config", "APPLICATION [KEY | KEY=VALUE…]", "show or change configuration"},
		{"model-config", "[KEY | KEY=VALUE…]", "show or change the model's configuration"},
		{"attach-resource", "APPLICATION NAME=VALUE…", "give an application a file or an image for a resource of its charm"},
		{"resources", "APPLICATION", "list the resources of an application"},
		{"bind", "APPLICATION [SPACE] [ENDPOINT=SPACE…]", "say which spaces endpoints are bound to"},
		{"set-constraints", "APPLICATION KEY=VALUE…", "record what units of an application need"},
		{"constraints", "APPLICATION", "show it"},
		{"add-secret", "NAME KEY=VALUE…", "add a secret to the model"},
		{"update-secret", "NAME KEY=VALUE…", "give a secret new content"},
		{"grant-secret", "NAME APPLICATION", "let an application read a secret"},
		{"revoke-secret", "NAME APPLICATION", "take that back"},
		{"remove-secret", "NAME", "remove a secret"},
		{"show-secret", "NAME [--reveal]", "show a secret"},
		{"secrets", "", "list the secrets"},
		{"trust", "APPLICATION [--remove]", "trust an application with the cloud's credentials, or no longer"},
		{"expose", "APPLICATION [--publish [ADDRESS:]HOSTPORT[:PORT]]…", "expose an application, and publish ports of its units on the host"},
		{"unexpose", "APPLICATION", "take that back"},
		{"show-task", "ID", "show a task with its results"},
		{"operations", "", "list the actions and commands that were asked for"},
		{"cancel-task", "ID…", "cancel tasks"},
		{"resolved", "UNIT…|--all [--no-retry] [--dry-run]", "let a unit in error go on, or say what that would bring"},
		{"storage", "", "list the storage of the model"},
		{"show-storage", "STORAGE…", "show instances of storage"},
		{"add-storage", "UNIT NAME[=DIRECTIVE]…", "give a unit more storage"},
		{"attach-storage", "UNIT STORAGE…", "attach detached storage to a unit"},
		{"detach-storage", "STORAGE…", "detach storage from its unit"},
		{"remove-storage", "STORAGE…", "remove storage, with all that is in it"},
		{"status", "[APPLICATION | UNIT…]", "show the model"},
		{"show-application", "APPLICATION…", "show applications"},
		{"show-unit", "UNIT", "show a unit with its relations"},
		{"show-status-log", "UNIT | APPLICATION | MACHINE", "show the statuses that something has had"},
		{"changes", "[APPLICATION | UNIT | MACHINE]", "show which commands have changed the model, and what of it"},
		{"debug-log", "[--include UNIT]…", "show what was logged"},
		{"add-model", "MODEL", "make a model"},
		{"destroy-model", "MODEL --no-prompt", "remove a model"},
		{"switch", "[MODEL]", "choose a model"},
		{"models", "", "list the models"},
		{"show-model", "[MODEL]", "show a model"},
	} {
		cmds = append(cmds, Cmd{Name: verb.name, Args: verb.args, Summary: verb.summary, run: func(c *call) error {
			return c.unitd(append([]string{verb.name}, c.args...))
		}})
	}
	return append(cmds, Cmd{Name: "unitd", Args: "COMMAND…", Summary: "any other command of unitd", run: func(c *call) error {
		return c.unitd(c.args)
	}})
}

// unitd runs the command line's program, as a person would. Wrong usage is a
// mistake of the script, also where a failure is expected.
func (c *call) unitd(args []string) error {
	err := c.ts.Exec(c.world.unitd, args...)
	var exit *exec.ExitError
	if err == nil || !errors.As(err, &exit) {
		return err
	}
	said := strings.TrimPrefix(strings.TrimSpace(c.ts.ReadFile("stderr")), "ERROR ")
	if exit.ExitCode() == 2 {
		verb := c.cmd.Name
		if verb == "unitd" && len(args) > 0 {
			verb = args[0]
		}
		return c.usagef("%s; \"unitd %s --help\" has the flags", said, verb)
	}
	return errors.New(said)
}
