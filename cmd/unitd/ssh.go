package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (a *app) sshCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "ssh UNIT [-- COMMAND …]",
		Short: "Open a shell where a unit is, or run a command there",
		Long: `Open a shell in the machine of an isolated unit, or in the charm directory of one
that shares this host. It is no hook: there are no hook tools in it but juju-exec,
and it waits for nothing. One argument after UNIT is taken as a script, several as
the words of one command.`,
		Example: "  unitd ssh ledger/0\n  unitd ssh ledger/0 -- ss -ltn\n  unitd ssh ledger/0 'dpkg -l | grep nginx'",
		Args:    args(1, -1, "no unit name specified"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			return completeWith(unitNamesOf(a.completing()), args, word, 0)
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.ssh(args[0], args[1:]) },
	}
}

func (a *app) ssh(name string, command []string) error {
	names, err := unitNames([]string{name})
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	doc, err := m.Unit(a.ctx, names[0])
	if err != nil {
		return err
	}
	dir, err := unitDir(m, doc.Name)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); err != nil {
		return errors.NewNotFound(nil, fmt.Sprintf("%s is on machine %s, not on this one, or not deployed yet", doc.Name, doc.Machine))
	}
	words := []string{"-i"}
	if len(command) > 0 {
		words = []string{"-c", model.ShellLine(command)}
	}
	cmd, err := a.shellOf(m, doc, filepath.Join(dir, "charm"), words)
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.stdin, a.stdout, a.stderr
	var exit *exec.ExitError
	err = cmd.Run()
	switch {
	case errors.As(err, &exit):
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return silentError{128 + int(ws.Signal())}
		}
		return silentError{exit.ExitCode()}
	case err != nil:
		return errors.Annotatef(err, "cannot open a shell for %s", doc.Name)
	}
	return nil
}

// shellOf is a shell with those arguments where the unit is; charm is the
// charm's directory on this host.
func (a *app) shellOf(m *state.Model, doc state.UnitDoc, charm string, words []string) (*exec.Cmd, error) {
	env := []string{"HOME=" + os.Getenv("HOME"), "TERM=" + os.Getenv("TERM"), "LANG=C.UTF-8", "JUJU_UNIT_NAME=" + string(doc.Name)}
	cell, err := a.cellOf(m, doc)
	if err != nil {
		return nil, err
	}
	if cell == nil {
		cmd := exec.Command("/bin/bash", words...)
		cmd.Dir, cmd.Env = charm, append(env, "PATH="+os.Getenv("PATH"))
		return cmd, nil
	}
	env[0] = "HOME=/root"
	program, args := cell.Command("/root", "/bin/bash", words...)
	cmd := exec.Command(program, args...)
	cmd.Env = append(env, "PATH="+isolate.Path)
	return cmd, nil
}

// cellOf is the cell that a unit is in; nil: it shares the host.
func (a *app) cellOf(m *state.Model, doc state.UnitDoc) (*isolate.Cell, error) {
	in := doc.Name
	if doc.Principal != "" {
		in = doc.Principal
	}
	app, err := m.Application(a.ctx, in.Application())
	if err != nil || !app.Isolation.On() {
		return nil, err
	}
	dir, err := dataDir()
	if err != nil {
		return nil, err
	}
	self, err := stableSelf(dir)
	if err != nil {
		return nil, err
	}
	cells := machine.NewCells(dir, self)
	return isolate.At(filepath.Join(cells.Dir, machine.CellKey(m.UUID(), in)), self)
}
