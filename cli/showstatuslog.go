package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
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

// statusKinds are what --type may be, with the statuses that are shown then.
var statusKinds = map[string][]state.StatusKind{
	"unit": {state.WorkloadStatus, state.AgentStatus}, "workload": {state.WorkloadStatus},
	"juju-unit": {state.AgentStatus}, "application": {state.ApplicationStatus},
}

func (a statusVerbs) showStatusLogCmd() *cobra.Command {
	var f statusLogFlags
	cmd := &cobra.Command{
		Use:   "show-status-log UNIT|APPLICATION",
		Short: "Show the statuses that a unit or an application has had",
		Long: `Show the statuses of a unit, its workload's and its agent's, oldest first; with
--type workload or juju-unit one of the two, with --type application those of an
application. The newest fifty of each are kept. What status makes of them for
people, such as "lost" for an agent that isn't there, isn't among them.`,
		Example:           "  unitd show-status-log ledger/0\n  unitd show-status-log ledger/0 --type workload -n 5\n  unitd show-status-log ledger --type application",
		ValidArgsFunction: a.completeEither,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return Usagef("entity name is missing.")
			case len(args) > 1:
				return Usagef("unexpected arguments after entity name.")
			}
			return a.showStatusLog(args[0], f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.kind, "type", "unit", "unit, workload, juju-unit or application")
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
	var entries []render.StatusEntry
	for _, kind := range statusKinds[f.kind] {
		all, err := m.StatusHistory(a.Context(), kind, name)
		if err != nil {
			return err
		}
		word := map[state.StatusKind]string{state.AgentStatus: "juju-unit", state.ApplicationStatus: "application", state.WorkloadStatus: "workload"}[kind]
		for _, s := range all {
			if !s.Since.Before(since) {
				entries = append(entries, render.StatusEntry{Status: s.Status, Message: s.Message, Data: s.Data, Since: s.Since.UTC(), Type: word})
			}
		}
	}
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

// statusesSince is from when on statuses are shown, zero: whenever; and sets how
// many, unless a time is given.
func (a statusVerbs) statusesSince(f *statusLogFlags) (time.Time, error) {
	given := 0
	for _, is := range []bool{f.backlog != 0, f.days != 0, f.from != ""} {
		if is {
			given++
		}
	}
	switch {
	case statusKinds[f.kind] == nil:
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
	if kind == "application" {
		if !model.ValidApplication(name) {
			return errors.NewNotValid(nil, fmt.Sprintf("%q is not a valid name for an application", name))
		}
		_, err := m.Application(a.Context(), name)
		return err
	}
	unit, err := model.ParseUnitName(name)
	if err != nil {
		return errors.NewNotValid(nil, fmt.Sprintf("%q is not a valid name for a unit", name))
	}
	_, err = m.Unit(a.Context(), unit)
	return err
}
