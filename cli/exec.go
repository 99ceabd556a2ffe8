package cli

import (
	"fmt"
	"slices"
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

func (a taskVerbs) execCmd() *cobra.Command {
	var f taskFlags
	var on execTargets
	var in execContainer
	var apps []string
	cmd := &cobra.Command{
		Use:   "exec (--unit UNIT | --application APPLICATION | --machine ID | --all) -- COMMAND …",
		Short: "Run commands in the context of units, or on machines",
		Long: `Run shell commands as a hook of the unit would: in its charm directory, with the
hook tools and their environment. They wait for the unit's hooks, and what they
write with hook tools is kept whatever their exit code. One argument is run as a
script; several are the words of one command.

With --container they run in a workload container of each unit, as the user and
with the environment of its Pebble. There are no hook tools, and a command of several
words needs no shell. With --machine they run on a machine, outside of any unit: its
agent runs them as its own user, in the home directory, without hook tools.`,
		Example: `  unitd exec --unit ledger/0 -- relation-ids db
  unitd exec --application ledger 'config-get port; uptime'
  unitd exec --unit webby/leader --container web --user 1000 --env MODE=test -- id
  unitd exec --machine 3 -- df -h`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return Usagef("no commands specified")
			}
			on.applications = append(on.applications, apps...)
			if !on.all && len(on.units)+len(on.applications)+len(on.machines) == 0 {
				return Usagef("You must specify a target, either through --all, --machine, --application or --unit")
			}
			if on.all && len(on.units)+len(on.applications)+len(on.machines) > 0 {
				return Usagef("You cannot specify --all and individual units, applications or machines")
			}
			if err := machineArgs(on.machines); err != nil {
				return err
			}
			if err := in.parse(on, args); err != nil {
				return err
			}
			return a.exec(on, in, model.ShellLine(args), f)
		},
	}
	cmd.Flags().StringSliceVarP(&on.units, "unit", "u", nil, "units, or APPLICATION/leader")
	cmd.Flags().StringSliceVarP(&on.applications, "application", "a", nil, "all units of applications")
	cmd.Flags().StringSliceVar(&apps, "app", nil, "the same as --application")
	cmd.Flags().StringSliceVar(&on.machines, "machine", nil, "machines, by id")
	cmd.Flags().BoolVar(&on.all, "all", false, "all units")
	cmd.Flags().DurationVar(&f.wait, "wait", execWait, "end the commands, and give up waiting, after this long")
	cmd.Flags().BoolVar(&f.background, "background", false, "do not wait")
	cmd.Flags().StringVar(&f.format, "format", "plain", "plain, json or yaml")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write to this file instead")
	in.declare(cmd)
	formats(cmd, "plain", "json", "yaml")
	return cmd
}

func (a taskVerbs) exec(on execTargets, in execContainer, command string, f taskFlags) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	if err := a.checkMachines(m, on.machines); err != nil {
		return err
	}
	units, err := a.execUnits(m, on)
	if err != nil {
		return err
	}
	if err := a.checkContainers(m, units, in); err != nil {
		return err
	}
	spec := state.TaskSpec{Kind: state.ExecTask, Command: command, Relation: model.NoRelation, Timeout: f.wait, In: in.task()}
	var requests []state.TaskRequest
	for _, unit := range units {
		requests = append(requests, state.TaskRequest{Unit: unit, TaskSpec: spec})
	}
	for _, id := range once(on.machines) {
		requests = append(requests, state.TaskRequest{Machine: id, TaskSpec: spec})
		units = append(units, "machine "+id)
	}
	op, tasks, err := m.Enqueue(a.Context(), "commands on "+strings.Join(units, ","), requests)
	switch {
	case err != nil:
		return err
	case op.Fail != "":
		a.unscheduled(op)
		return nil
	}
	if err := a.Ensure(); err != nil {
		return err
	}
	if f.background {
		return a.scheduled(op)
	}
	return a.follow(m, tasks, f, nil)
}

// execUnits are the units that are meant, each once, however often they are named: what a
// command does may not be done twice.
func (a taskVerbs) execUnits(m *state.Model, on execTargets) (units []string, err error) {
	for _, u := range on.units {
		if !unitOrLeader.MatchString(u) {
			return nil, Usagef("invalid unit name %q", u)
		}
		name, err := a.leaderOr(m, u)
		if err != nil {
			return nil, err
		}
		units = append(units, name)
	}
	all, err := m.Units(a.Context())
	if err != nil {
		return nil, err
	}
	// A dead unit takes no task, and one that can't be queued would stop all others.
	all = slices.DeleteFunc(all, func(u state.UnitDoc) bool { return u.Life == model.Dead })
	for _, app := range on.applications {
		n := len(units)
		for _, u := range all {
			if u.Name.Application() == app {
				units = append(units, string(u.Name))
			}
		}
		if len(units) == n {
			return nil, errors.NewNotFound(nil, fmt.Sprintf("application %q has no units (not found)", app))
		}
	}
	if on.all {
		for _, u := range all {
			units = append(units, string(u.Name))
		}
	}
	if len(units)+len(on.machines) == 0 {
		return nil, errors.New("there are no units")
	}
	return once(units), nil
}

// once are the names, each of them at its first place alone.
func once(names []string) (out []string) {
	for _, name := range names {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// leaderOr is a unit's name, where "shop/leader" is that of shop's leader.
func (a taskVerbs) leaderOr(m *state.Model, unit string) (string, error) {
	app, leads := strings.CutSuffix(unit, "/leader")
	if !leads {
		return unit, nil
	}
	leader, _, err := m.Leadership(a.Context(), app)
	if err == nil && leader == "" {
		err = errors.NewNotFound(nil, fmt.Sprintf("could not determine leader for %q", app))
	}
	return string(leader), err
}
