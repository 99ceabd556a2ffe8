package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// machineVerbs add, show and remove machines.
type machineVerbs struct{ base }

// machineID is what ids of machines look like.
var machineID = pattern.New(`^(0|[1-9][0-9]{0,8})$`)

// machineArgs checks what should be ids of machines.
func machineArgs(ids []string) error {
	for _, id := range ids {
		if !machineID.MatchString(id) {
			return Usagef("invalid machine id %q", id)
		}
	}
	return nil
}

func (a machineVerbs) removeMachineCmd() *cobra.Command {
	var noPrompt, force, noWait, keep bool
	cmd := &cobra.Command{
		Use:   "remove-machine MACHINE …",
		Short: "Remove machines",
		Long: `Remove machines that have no units. The agent of a machine ends then, clears away
what it has brought, and doesn't run again; the host stays as it is otherwise.

With --force a machine is taken away with its units and storage, at once and whether
its agent is there or not: no hook of the units runs, and what they have started is
left running.`,
		Example:           "  unitd remove-machine 3\n  unitd remove-machine 3 4 --force",
		Args:              Args(1, -1, "no machines specified"),
		ValidArgsFunction: a.completeMachines,
		RunE: func(_ *cobra.Command, args []string) error {
			if noWait && !force {
				return Usagef("--no-wait without --force not valid")
			}
			if err := machineArgs(args); err != nil {
				return err
			}
			return a.removeMachines(args, force)
		},
	}
	cmd.Flags().BoolVar(&noPrompt, "no-prompt", false, "for scripts; there is no question here")
	cmd.Flags().BoolVar(&force, "force", false, "take the machine away with its units, running no hook")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "with --force: the same as --force alone")
	cmd.Flags().BoolVar(&keep, "keep-instance", false, "noted: hosts are never taken away here")
	return cmd
}

func (a machineVerbs) removeMachines(ids []string, force bool) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	done, failed := 0, 0
	for _, id := range ids {
		doc, err := m.Machine(a.Context(), id)
		switch {
		case err != nil:
		case force:
			a.sayLeftBehind(doc)
			err = m.ForceDestroyMachine(a.Context(), id)
		default:
			err = m.DestroyMachine(a.Context(), id)
		}
		if err != nil {
			failed++
			a.failure(fmt.Errorf("removing machine %s failed: %w", id, err))
			continue
		}
		done++
		a.printf("will remove machine %s\n", id)
		for _, u := range doc.Units {
			a.printf("- will remove unit %s\n", u)
		}
	}
	return a.afterEach(done, failed)
}

// sayLeftBehind says what taking a machine away by force leaves behind.
func (a machineVerbs) sayLeftBehind(m state.MachineDoc) {
	what := "it has no units"
	if len(m.Units) > 0 {
		names := make([]string, len(m.Units))
		for i, u := range m.Units {
			names[i] = string(u)
		}
		what = "no departed, broken, stop or remove hook of " + strings.Join(names, ", ") + " runs, and what they started is left running"
	}
	if m.Provider == state.ManualProvider && m.Instance != "" {
		what += "; if its agent is not there, what it keeps of its units is left on " + m.Instance + " until it is back"
	}
	a.Note("machine %s is taken away at once: %s", m.ID, what)
}

func (a machineVerbs) machinesCmd() *cobra.Command {
	var format, output string
	var utc bool
	cmd := &cobra.Command{
		Use:     "machines",
		Aliases: []string{"list-machines"},
		Short:   "List the machines of the model",
		Example: "  unitd machines\n  unitd machines --format json",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			s, err := a.machineStatuses(nil)
			if err != nil {
				return err
			}
			if format != "tabular" {
				return a.write(format, output, render.MachinesTree(s, thisHost(), utc))
			}
			if len(s.Machines) == 0 {
				a.Note("No machines to display.")
			}
			return a.table(output, render.MachineRows(s.Machines))
		},
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	cmd.Flags().BoolVar(&utc, "utc", false, "show times in UTC")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a machineVerbs) showMachineCmd() *cobra.Command {
	var format, output string
	var utc bool
	cmd := &cobra.Command{
		Use:               "show-machine MACHINE …",
		Short:             "Show machines with their units",
		Example:           "  unitd show-machine 0\n  unitd show-machine 0 1 --format json",
		Args:              Args(1, -1, "no machine specified"),
		ValidArgsFunction: a.completeMachines,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := machineArgs(args); err != nil {
				return err
			}
			s, err := a.machineStatuses(args)
			if err != nil {
				return err
			}
			return a.write(format, output, render.MachinesTree(s, thisHost(), utc))
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "output format: yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	cmd.Flags().BoolVar(&utc, "utc", false, "show times in UTC")
	formats(cmd, "yaml", "json")
	return cmd
}

// machineStatuses is the status with those machines alone; nil: all of them.
func (a machineVerbs) machineStatuses(ids []string) (*state.FullStatus, error) {
	m, err := a.model()
	if err != nil {
		return nil, err
	}
	s, err := m.Status(a.Context())
	if err != nil || ids == nil {
		return s, err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(s.Machines, func(v state.MachineView) bool { return v.ID == id }) {
			return nil, errors.NewNotFound(nil, fmt.Sprintf("machine %s not found", id))
		}
	}
	s.Machines = slices.DeleteFunc(s.Machines, func(v state.MachineView) bool { return !slices.Contains(ids, v.ID) })
	return s, nil
}

// completeMachines completes ids of machines that are there.
func (f *focus) completeMachines(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	for _, m := range f.completing().Machines {
		if strings.HasPrefix(m.ID, word) && !slices.Contains(args, m.ID) && m.Life == model.Alive {
			ids = append(ids, m.ID)
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
