package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/debugger/session"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/terminal"
)

func (a insideVerbs) debugHooksCmd() *cobra.Command {
	d := &debugging{insideVerbs: a}
	cmd := &cobra.Command{
		Use:     "debug-hooks UNIT [HOOK …]",
		Aliases: []string{"debug-hook"},
		Short:   "Run a unit's hooks by hand, in a shell with all that a hook has",
		Long: `Wait for the hooks of a unit (all of them, if none is named, or for *) and open a
shell for each, in the place of the hook: with its environment, in the charm's
directory, with working hook tools. The exit code of the shell is that of the
hook: "exit 0" commits what the hook tools have written, any other fails the hook.

In a terminal that is a window of tmux for each hook; without tmux, or with
--no-tmux, it is this terminal. From a file or a pipe the commands of standard
input are run for each hook, by sh. Ctrl-C while it waits, or the end of the tmux
session, ends debugging. A hook that is being debugged then has failed.

If the unit is on another host, all of this happens there. The agent of that host must
have been started with --allow-sessions.`,
		Example: `  unitd debug-hooks ledger/0
  unitd debug-hooks ledger/0 config-changed db-relation-changed
  echo './dispatch; relation-get - shop/0 >&2' | unitd debug-hooks ledger/0 db-relation-changed --once`,
		Args:              Args(1, -1, "no unit name specified"),
		ValidArgsFunction: a.completeHooks,
		RunE: func(_ *cobra.Command, args []string) error {
			return d.start(args)
		},
	}
	cmd.Flags().BoolVar(&d.NoTmux, "no-tmux", false, "use this terminal, even if there is tmux")
	cmd.Flags().BoolVar(&d.Once, "once", false, "end after the first hook")
	return cmd
}

func (a insideVerbs) debugCodeCmd() *cobra.Command {
	d := &debugging{insideVerbs: a, Person: session.Person{Code: true}}
	var editor bool
	var port int
	cmd := &cobra.Command{
		Use:   "debug-code UNIT [HOOK …]",
		Short: "Run a unit's hooks in this terminal, with the charm's breakpoints on",
		Long: `Wait for the hooks of a unit (all of them, if none is named) and run each in this
terminal as the agent would, with JUJU_DEBUG_AT set: charms that are written with
Ops stop at their breakpoints. Hooks that the charm hasn't got are left to the
agent. Ctrl-C while it waits ends debugging.

With --debugpy the charm's program waits for an editor instead, such as VS Code, which
attaches to the port that is said. The python3 on the PATH has to have debugpy.`,
		Example: `  unitd debug-code ledger/0
  unitd debug-code ledger/0 config-changed --at hook
  unitd debug-code ledger/0 config-changed --debugpy`,
		Args:              Args(1, -1, "no unit name specified"),
		ValidArgsFunction: a.completeHooks,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch at := cmd.Flags().Changed("at"); {
			case editor && at:
				return Usagef("--at is for breakpoints in this terminal: an editor has its own")
			case !editor && cmd.Flags().Changed("port"):
				return Usagef("--port is the one of --debugpy")
			case editor:
				var err error
				if d.Debugpy, err = session.FindDebugpy(port); err != nil {
					return err
				}
			}
			return d.start(args)
		},
	}
	cmd.Flags().BoolVar(&editor, "debugpy", false, "have the charm's program wait for an editor that attaches to debugpy")
	cmd.Flags().IntVar(&port, "port", 5678, "the port on 127.0.0.1 for that (0: any)")
	cmd.Flags().StringVar(&d.At, "at", "all", "the breakpoints to stop at, parted by commas; \"hook\": where each handler begins")
	cmd.Flags().BoolVar(&d.Once, "once", false, "end after the first hook")
	return cmd
}

// debugging is a command by which a person debugs.
type debugging struct {
	insideVerbs
	session.Person
}

func (d *debugging) start(args []string) error {
	names, err := unitNames(args[:1])
	if err != nil {
		return err
	}
	d.Unit, d.Hooks = names[0], args[1:]
	d.Person.In, d.Person.Out, d.Person.Err, d.Person.Note = d.insideVerbs.In, d.insideVerbs.Out, d.insideVerbs.Err, d.insideVerbs.Note
	if !d.Code && !terminal.Is(d.In) {
		if d.Commands, err = io.ReadAll(d.In); err != nil {
			return errors.Annotate(err, "cannot read the commands")
		}
		if len(strings.TrimSpace(string(d.Commands))) == 0 {
			return Usagef("standard input is no terminal, and has no commands for the hooks")
		}
	}
	m, err := d.model()
	if err != nil {
		return err
	}
	if _, err := m.Unit(d.Context(), d.Unit); err != nil {
		return err
	}
	if err := d.Here(m, d.Unit); err != nil {
		return d.debugThere(m, err)
	}
	dir, err := d.directory(m)
	if err != nil {
		return err
	}
	return d.Wait(d.Context(), dir, d.Ensure)
}

// directory is the unit's, on this machine. It warns of names that are no hooks
// of the unit.
func (d *debugging) directory(m *state.Model) (string, error) {
	doc, err := m.Unit(d.Context(), d.Unit)
	if err != nil {
		return "", err
	}
	dir, err := unitDir(m, d.Unit)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err != nil && doc.Deployed {
		return "", errors.NewNotFound(nil, fmt.Sprintf("%s is on machine %s, not on this one: run the command there", d.Unit, doc.Machine))
	}
	known, err := hookNames(d.Context(), m, d.Unit)
	if err != nil {
		return "", err
	}
	for _, name := range d.Hooks {
		if name != "*" && !slices.Contains(known, name) {
			d.Note("WARNING %s has no hook %q; it has %s", d.Unit, name, strings.Join(known, ", "))
		}
	}
	return dir, errors.Annotate(os.MkdirAll(dir, 0o700), "cannot wait for hooks")
}

// hookNames are the hooks that a unit can have.
func hookNames(ctx context.Context, m *state.Model, unit model.UnitName) ([]string, error) {
	app, err := m.Application(ctx, unit.Application())
	if err != nil {
		return nil, err
	}
	charm, err := m.Charm(ctx, app.Charm)
	if err != nil {
		return nil, err
	}
	return hooks.Names(charm.Charm, app.Name), nil
}

// completeHooks completes a unit and then its hooks.
func (f *focus) completeHooks(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	s := f.completing()
	if len(args) == 0 || s.Model.Name == "" {
		return completeWith(unitNamesOf(s), args, word, 0)
	}
	unit, err := model.ParseUnitName(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := hookNames(f.Context(), f.Opened().Open(s.Model), unit)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeWith(names, args, word, 0)
}
