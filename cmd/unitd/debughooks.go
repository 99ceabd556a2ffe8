package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/debugger"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (a *app) debugHooksCmd() *cobra.Command {
	d := &debugging{app: a}
	cmd := &cobra.Command{
		Use:   "debug-hooks UNIT [HOOK …]",
		Short: "Run a unit's hooks by hand, in a shell with all that a hook has",
		Long: `Wait for the hooks of a unit (all of them, if none is named, or for *) and open a
shell for each, in the place of the hook: with its environment, in the charm's
directory, with working hook tools. The exit code of the shell is that of the
hook: "exit 0" commits what the hook tools have written, any other fails the hook.

In a terminal that is a window of tmux for each hook; without tmux, or with
--no-tmux, it is this terminal. From a file or a pipe the commands of standard
input are run for each hook, by sh. Ctrl-C while it waits, or the end of the tmux
session, ends debugging. A hook that is being debugged then has failed.`,
		Example: `  unitd debug-hooks ledger/0
  unitd debug-hooks ledger/0 config-changed db-relation-changed
  echo './dispatch; relation-get - shop/0 >&2' | unitd debug-hooks ledger/0 db-relation-changed --once`,
		Args:              args(1, -1, "no unit name specified"),
		ValidArgsFunction: a.completeHooks,
		RunE: func(_ *cobra.Command, args []string) error {
			return d.start(args)
		},
	}
	cmd.Flags().BoolVar(&d.noTmux, "no-tmux", false, "use this terminal, even if there is tmux")
	cmd.Flags().BoolVar(&d.once, "once", false, "end after the first hook")
	return cmd
}

func (a *app) debugCodeCmd() *cobra.Command {
	d := &debugging{app: a, code: true}
	cmd := &cobra.Command{
		Use:   "debug-code UNIT [HOOK …]",
		Short: "Run a unit's hooks in this terminal, with the charm's breakpoints on",
		Long: `Wait for the hooks of a unit (all of them, if none is named) and run each in this
terminal as the agent would, with JUJU_DEBUG_AT set: charms that are written with
Ops stop at their breakpoints. Hooks that the charm hasn't got are left to the
agent. Ctrl-C while it waits ends debugging.`,
		Example:           "  unitd debug-code ledger/0\n  unitd debug-code ledger/0 config-changed --at hook",
		Args:              args(1, -1, "no unit name specified"),
		ValidArgsFunction: a.completeHooks,
		RunE: func(_ *cobra.Command, args []string) error {
			return d.start(args)
		},
	}
	cmd.Flags().StringVar(&d.at, "at", "all", "the breakpoints to stop at, parted by commas; \"hook\": where each handler begins")
	cmd.Flags().BoolVar(&d.once, "once", false, "end after the first hook")
	return cmd
}

// debugging is a person who waits for the hooks of a unit.
type debugging struct {
	*app
	unit         model.UnitName
	hooks        []string
	noTmux, once bool
	// code: the hook itself is run, with at as its breakpoints.
	code bool
	at   string
	// commands are run for each hook, where standard input isn't a terminal.
	commands []byte
	listener *debugger.Listener
	// say tells the person what goes on.
	say func(format string, args ...any)
}

func (d *debugging) start(args []string) error {
	names, err := unitNames(args[:1])
	if err != nil {
		return err
	}
	d.unit, d.hooks, d.say = names[0], args[1:], d.note
	if !d.code && !isTerminal(d.stdin) {
		if d.commands, err = io.ReadAll(d.stdin); err != nil {
			return errors.Annotate(err, "cannot read the commands")
		}
		if len(strings.TrimSpace(string(d.commands))) == 0 {
			return usagef("standard input is no terminal, and has no commands for the hooks")
		}
	}
	m, err := d.model()
	if err != nil {
		return err
	}
	dir, err := d.directory(m)
	if err != nil {
		return err
	}
	if d.listener, err = debugger.Listen(dir); err != nil {
		if errors.Is(err, errors.AlreadyExists) {
			return errors.NewAlreadyExists(nil, fmt.Sprintf("somebody debugs %s already", d.unit))
		}
		return err
	}
	defer d.listener.Close()
	if err := d.ensureAgent(); err != nil {
		return err
	}
	_, lookErr := exec.LookPath("tmux")
	if !d.code && !d.noTmux && d.commands == nil && lookErr == nil && isTerminal(d.stdout) {
		return d.inTmux()
	}
	if !d.code && !d.noTmux && d.commands == nil && lookErr != nil {
		d.note("There is no tmux here: the hooks run in this terminal.")
	}
	return d.serve(d.ctx, func(_ context.Context, s *debugger.Session) (int, error) {
		return runInTerminal(d.ctx, s.Gone, d.task(s.Offer), d.stdin, d.stdout, d.stderr)
	})
}

// directory is the unit's, on this machine. It warns of names that are no hooks
// of the unit.
func (d *debugging) directory(m *state.Model) (string, error) {
	doc, err := m.Unit(d.ctx, d.unit)
	if err != nil {
		return "", err
	}
	dir, err := unitDir(m, d.unit)
	if err != nil {
		return "", err
	}
	if err := d.here(m, d.unit); err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err != nil && doc.Deployed {
		return "", errors.NewNotFound(nil, fmt.Sprintf("%s is on machine %s, not on this one: run the command there", d.unit, doc.Machine))
	}
	known, err := hookNames(d.ctx, m, d.unit)
	if err != nil {
		return "", err
	}
	for _, name := range d.hooks {
		if name != "*" && !slices.Contains(known, name) {
			d.note("WARNING %s has no hook %q; it has %s", d.unit, name, strings.Join(known, ", "))
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

// serve takes the runs that are wanted, one after the other, until ctx ends.
func (d *debugging) serve(ctx context.Context, run func(context.Context, *debugger.Session) (int, error)) error {
	stop := context.AfterFunc(ctx, func() { d.listener.Close() })
	defer stop()
	d.say("%s", d.waiting())
	for {
		s, err := d.listener.Next()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return errors.Annotate(err, "cannot wait for hooks")
		case !s.Wanted(d.hooks) || d.code && s.Path == "":
			s.Refuse()
			continue
		case !s.Take():
			continue
		}
		exit, err := run(ctx, s)
		switch {
		case err != nil:
			s.Drop()
			d.say("%s: %s: %v", d.unit, s.Hook, err)
		default:
			s.End(exit)
			d.say("%s: %s ended with exit code %d.", d.unit, s.Hook, exit)
		}
		if d.once || ctx.Err() != nil {
			return nil
		}
		d.say("%s", d.waiting())
	}
}

// waiting says what it waits for.
func (d *debugging) waiting() string {
	which := "all hooks"
	if len(d.hooks) > 0 && !slices.Contains(d.hooks, "*") {
		which = strings.Join(d.hooks, ", ")
	}
	return fmt.Sprintf("Waiting for %s of %s; Ctrl-C ends debugging.", which, d.unit)
}

// completeHooks completes a unit and then its hooks.
func (a *app) completeHooks(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	s := a.completing()
	if len(args) == 0 || s.Model.Name == "" {
		return completeWith(unitNamesOf(s), args, word, 0)
	}
	unit, err := model.ParseUnitName(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := hookNames(a.ctx, a.controller.Open(s.Model), unit)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeWith(names, args, word, 0)
}
