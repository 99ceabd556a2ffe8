package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/terminal"
)

// statusLogFlags are the flags of show-status-log.
type statusLogFlags struct {
	kind           string
	backlog, days  int
	from           string
	utc            bool
	format, output string
}

// defaultBacklog is how many statuses are shown where nothing is said of that.
const defaultBacklog = 20

// statusKind is what --type may be.
type statusKind struct {
	// of is what has such statuses, as "a unit"; empty: nothing has to be named.
	of string
	// kept are the histories that are shown.
	kept []state.StatusKind
}

// statusKinds are the values of --type. Source: docs/spec/juju-clients.md §7.2.
var statusKinds = map[string]statusKind{
	"unit":        {"a unit", []state.StatusKind{state.WorkloadStatus, state.AgentStatus}},
	"workload":    {"a unit", []state.StatusKind{state.WorkloadStatus}},
	"juju-unit":   {"a unit", []state.StatusKind{state.AgentStatus}},
	"application": {"an application", []state.StatusKind{state.ApplicationStatus}},
	"saas":        {"an application", nil},
	"machine":     {"a machine", nil}, "juju-machine": {"a machine", nil},
	"container": {"a container", nil}, "juju-container": {"a container", nil},
	"model": {},
}

func (a statusVerbs) showStatusLogCmd() *cobra.Command {
	var f statusLogFlags
	cmd := &cobra.Command{
		Use:   "show-status-log UNIT|APPLICATION|MACHINE",
		Short: "Show the statuses that a unit, an application, a machine or the model has had",
		Long: `Show the statuses of a unit, its workload's and its agent's, oldest first; with
--type workload or juju-unit one of the two, with --type application those of an
application. The newest ten of each are kept, or as many as the model's setting
status-history-lines says. What status makes of them for people, such as "lost"
for an agent that isn't there, isn't among them.

--type machine shows when the host of a machine was there, juju-machine when its agent
was, and model, which needs no name, how the model is. Machines have no containers
here, and nothing is kept of applications of other models.`,
		Example:           "  unitd show-status-log ledger/0\n  unitd show-status-log ledger/0 --type workload -n 5\n  unitd show-status-log ledger --type application",
		ValidArgsFunction: a.completeEither,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && f.kind == "model":
				args = []string{""}
			case len(args) == 0:
				return Usagef("entity name is missing.")
			case len(args) > 1:
				return Usagef("unexpected arguments after entity name.")
			}
			return a.showStatusLog(args[0], f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.kind, "type", "unit", "unit, workload, juju-unit, application, machine, juju-machine or model")
	fs.IntVarP(&f.backlog, "backlog", "n", 0, "show this many of the newest (0: 20, or all since a time)")
	fs.IntVar(&f.days, "days", 0, "show those of this many days")
	fs.StringVar(&f.from, "from-date", "", "show those since this day, as 2026-03-03")
	fs.BoolVar(&f.utc, "utc", false, "show times in UTC")
	fs.StringVar(&f.format, "format", "tabular", "output format: tabular, json or yaml")
	fs.StringVarP(&f.output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a statusVerbs) showStatusLog(name string, f statusLogFlags) error {
	since, err := a.statusesSince(&f)
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	if err := a.checkStatusOwner(m, name, f.kind); err != nil {
		return err
	}
	entries, err := a.statusesOf(m, name, f.kind)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e render.StatusEntry) bool { return e.Since.Before(since) })
	slices.SortStableFunc(entries, func(x, y render.StatusEntry) int { return x.Since.Compare(y.Since) })
	if f.backlog > 0 {
		entries = entries[max(0, len(entries)-f.backlog):]
	}
	if len(entries) == 0 {
		return errors.New("no status history available")
	}
	if f.format != "tabular" {
		return a.write(f.format, f.output, entries)
	}
	return a.text(f.output, render.StatusLogTable(entries, f.utc, terminal.Colourful(a.Out) && f.output == ""))
}

// statusesOf are the statuses that something has had, as far as they are known.
func (a statusVerbs) statusesOf(m *state.Model, name, kind string) ([]render.StatusEntry, error) {
	switch kind {
	case "machine", "juju-machine", "model":
		s, err := m.Status(a.Context())
		if err != nil {
			return nil, err
		}
		if kind == "model" {
			return render.ModelLog(s.Model), nil
		}
		i := slices.IndexFunc(s.Machines, func(v state.MachineView) bool { return v.ID == name })
		if i < 0 {
			return nil, errors.NewNotFound(nil, fmt.Sprintf("machine %s not found", name))
		}
		return render.MachineLog(s.Machines[i], kind), nil
	}
	var entries []render.StatusEntry
	for _, kept := range statusKinds[kind].kept {
		all, err := m.StatusHistory(a.Context(), kept, name)
		if err != nil {
			return nil, err
		}
		word := map[state.StatusKind]string{state.AgentStatus: "juju-unit", state.ApplicationStatus: "application", state.WorkloadStatus: "workload"}[kept]
		for _, s := range all {
			entries = append(entries, render.StatusEntry{Status: s.Status, Message: s.Message, Data: s.Data, Since: s.Since.UTC(), Type: word})
		}
	}
	return entries, nil
}

// statusesSince is from when on statuses are shown, zero: whenever; and sets how
// many, unless a time is given.
func (a statusVerbs) statusesSince(f *statusLogFlags) (time.Time, error) {
	given := 0
	for _, is := range []bool{f.backlog != 0, f.days != 0, f.from != ""} {
		if is {
			given++
		}
	}
	_, known := statusKinds[f.kind]
	switch {
	case !known:
		return time.Time{}, Usagef("unexpected status type %q", f.kind)
	case given > 1:
		return time.Time{}, Usagef("backlog size, backlog date and backlog days back cannot be specified together")
	case f.backlog < 0 || f.days < 0:
		return time.Time{}, Usagef("-n and --days must not be negative")
	case f.from != "":
		t, err := time.Parse(time.DateOnly, f.from)
		if err != nil {
			return t, Usagef("invalid value %q for option --from-date: expected a day, as 2026-03-03", f.from)
		}
		return t, nil
	case f.days > 0:
		now, err := a.now()
		return now.AddDate(0, 0, -f.days), err
	case f.backlog == 0:
		f.backlog = defaultBacklog
	}
	return time.Time{}, nil
}

// checkStatusOwner says whether there is what statuses are asked of.
func (a statusVerbs) checkStatusOwner(m *state.Model, name, kind string) error {
	of := statusKinds[kind].of
	invalid := errors.NewNotValid(nil, fmt.Sprintf("%q is not a valid name for %s", name, of))
	switch of {
	case "":
		return nil
	case "a machine":
		if !machineID.MatchString(name) {
			return invalid
		}
		return nil // it is looked for among those that people see
	case "a container":
		if !containerID.MatchString(name) {
			return invalid
		}
		return errors.NewNotFound(nil, fmt.Sprintf("machine %s not found", name))
	case "an application":
		if !model.ValidApplication(name) {
			return invalid
		}
		_, err := m.Application(a.Context(), name)
		return err
	}
	unit, err := model.ParseUnitName(name)
	if err != nil {
		return invalid
	}
	_, err = m.Unit(a.Context(), unit)
	return err
}

// containerID is what ids of machines in machines look like, of which there are none.
var containerID = pattern.New(`^[0-9]+(/[a-z]+/[0-9]+)+$`)
