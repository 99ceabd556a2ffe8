package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// execWait is how long commands may take if nothing else is said.
const execWait = 5 * time.Minute

// execTargets says where commands are to be run.
type execTargets struct {
	units, applications, machines []string
	all                           bool
}

func (a *app) execCmd() *cobra.Command {
	var f taskFlags
	var on execTargets
	cmd := &cobra.Command{
		Use:   "exec (--unit UNIT | --application APPLICATION | --machine ID | --all) -- COMMAND …",
		Short: "Run commands in the context of units",
		Long: `Run commands of the shell as a hook of the unit would: in its charm directory, with
the hook tools and their environment. They wait for the unit's hooks, and what they
write by hook tools is kept whatever they exit with. One argument is taken as a
script, several as the words of one command. --machine means the unit on that
machine.`,
		Example: `  unitd exec --unit ledger/0 -- relation-ids db
  unitd exec --application ledger 'config-get port; uptime'`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no commands specified")
			}
			if !on.all && len(on.units)+len(on.applications)+len(on.machines) == 0 {
				return usagef("You must specify a target, either through --all, --machine, --application or --unit")
			}
			return a.exec(on, model.ShellLine(args), f)
		},
	}
	cmd.Flags().StringSliceVarP(&on.units, "unit", "u", nil, "units, or APPLICATION/leader")
	cmd.Flags().StringSliceVarP(&on.applications, "application", "a", nil, "all units of applications")
	cmd.Flags().StringSliceVar(&on.machines, "machine", nil, "the units on machines")
	cmd.Flags().BoolVar(&on.all, "all", false, "all units")
	cmd.Flags().DurationVar(&f.wait, "wait", execWait, "end the commands, and give up waiting, after this long")
	cmd.Flags().BoolVar(&f.background, "background", false, "do not wait")
	cmd.Flags().StringVar(&f.format, "format", "plain", "plain, json or yaml")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write to this file instead")
	a.formats(cmd, "plain", "json", "yaml")
	return cmd
}

func (a *app) exec(on execTargets, command string, f taskFlags) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	units, labels, err := a.execUnits(m, on)
	if err != nil {
		return err
	}
	requests := make([]state.TaskRequest, len(units))
	for i, unit := range units {
		requests[i] = state.TaskRequest{Unit: unit, TaskSpec: state.TaskSpec{
			Kind: state.ExecTask, Command: command, Relation: model.NoRelation, Timeout: f.wait,
		}}
	}
	op, tasks, err := m.Enqueue(a.ctx, "commands on "+strings.Join(units, ","), requests)
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(op.Fail, "could not determine leader"):
		return errors.New(op.Fail)
	case op.Fail != "":
		a.unscheduled(op)
		return nil
	}
	if err := a.ensureAgent(); err != nil {
		return err
	}
	if f.background {
		return a.scheduled(op)
	}
	return a.follow(m, tasks, f, labels, nil)
}

// execUnits are the units that are meant, and the machines that some of them
// stand for.
func (a *app) execUnits(m *state.Model, on execTargets) (units []string, labels map[string]string, err error) {
	all, err := m.Units(a.ctx)
	if err != nil {
		return nil, nil, err
	}
	units, labels = append(units, on.units...), map[string]string{}
	for _, u := range units {
		if !unitOrLeader.MatchString(u) {
			return nil, nil, usagef("invalid unit name %q", u)
		}
	}
	for _, app := range on.applications {
		n := len(units)
		for _, u := range all {
			if u.Name.Application() == app {
				units = append(units, string(u.Name))
			}
		}
		if len(units) == n {
			return nil, nil, errors.NewNotFound(nil, fmt.Sprintf("application %q has no units (not found)", app))
		}
	}
	for _, id := range on.machines {
		n := len(units)
		for _, u := range all {
			if u.Machine == id && u.Principal == "" && len(units) == n {
				units = append(units, string(u.Name))
				labels[string(u.Name)] = id
			}
		}
		if len(units) == n {
			return nil, nil, errors.NewNotFound(nil, fmt.Sprintf("machine %q has no unit (not found)", id))
		}
	}
	if on.all {
		for _, u := range all {
			units = append(units, string(u.Name))
		}
	}
	if len(units) == 0 {
		return nil, nil, errors.New("there are no units")
	}
	return units, labels, nil
}
