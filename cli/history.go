package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/terminal"
)

// historyFlags are the flags of history.
type historyFlags struct {
	limit            int
	failed, timeline bool
	files, diff      bool
	hook, since      string
	format, output   string
}

func (a statusVerbs) historyCmd() *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:   "history [UNIT …] | history UNIT RUN",
		Short: "Show which hooks have run, why, for how long, and how they ended",
		Long: `Show the hook runs of units, the oldest first; of all units, also of those that
have gone, where none is named. With the number of a run all that is known of it:
its hook tool calls with their times, what it wrote, and what it logged.

With --files also the files of the charm directory and, of an isolated unit, of
its machine, that each hook made (+), changed (M) or removed (-), as far as
"unitd model-config record-files=names" had that recorded; --diff shows what a
run has changed in text, after record-files=content.

The cause of a run names the options, or the keys of a databag, that had changed.`,
		Example: `  unitd history
  unitd history ledger/0 --failed -n 5
  unitd history ledger/0 12 --diff
  unitd history --since 10m --timeline`,
		ValidArgsFunction: a.completeUnits,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "show" {
				if args = args[1:]; len(args) != 2 {
					return Usagef("expected a unit and the number of a run")
				}
			}
			if len(args) == 2 && !strings.Contains(args[1], "/") {
				return a.showRun(args[0], args[1], f)
			}
			return a.history(args, f)
		},
	}
	fs := cmd.Flags()
	fs.IntVarP(&f.limit, "limit", "n", 0, "show only this many of the newest runs (0: all)")
	fs.BoolVar(&f.failed, "failed", false, "show only runs that have failed or were interrupted")
	fs.StringVar(&f.hook, "hook", "", "show only runs of this hook")
	fs.StringVar(&f.since, "since", "", "show only what began since then: 10m, 2h, or a time as 2026-03-03T09:00:00Z")
	fs.BoolVar(&f.timeline, "timeline", false, "draw when hooks ran: a line for each unit, or for each hook of one unit")
	fs.BoolVar(&f.files, "files", false, "show which files each run has made, changed or removed")
	fs.BoolVar(&f.diff, "diff", false, "show what one run has changed in text files")
	fs.StringVar(&f.format, "format", "table", "output format: table, json or yaml")
	fs.StringVarP(&f.output, "output", "o", "", "write to this file")
	formats(cmd, "table", "json", "yaml")
	return cmd
}

func (a statusVerbs) history(args []string, f historyFlags) error {
	names, err := unitNames(args)
	switch {
	case err != nil:
		return err
	case f.limit < 0:
		return Usagef("--limit must not be negative")
	case f.timeline && f.format != "table":
		return Usagef("setting --timeline and --format not valid")
	case f.timeline && f.files:
		return Usagef("setting --timeline and --files not valid")
	case f.diff:
		return Usagef("--diff needs a unit and the number of a run")
	}
	since, err := a.sinceTime(f.since)
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	wanted := ofHistory
	if f.files {
		wanted = ofRecordings
	}
	where, err := a.places(m, names, wanted, f.limit == 0 || f.failed || f.hook != "")
	if err != nil {
		return err
	}
	defer where.end()
	runs, err := a.runs(m, where, names)
	if err != nil {
		return err
	}
	runs = slices.DeleteFunc(runs, func(e history.Entry) bool {
		return f.failed && e.Outcome != history.Failed && e.Outcome != history.Interrupted ||
			f.hook != "" && e.Name != f.hook || e.Started.Before(since)
	})
	if f.limit > 0 {
		runs = runs[max(0, len(runs)-f.limit):]
	}
	switch {
	case f.files && len(runs) > 0:
		return a.historyFiles(m, where, runs, f)
	case f.format != "table":
		out := make([]render.Tree, len(runs))
		for i, e := range runs {
			out[i] = render.RunTree(e, false)
		}
		return a.write(f.format, f.output, out)
	case len(runs) == 0:
		a.Note("No hook runs.")
		return nil
	case f.timeline:
		return a.text(f.output, render.Timeline(runs, terminal.Width(a.Out), terminal.Colourful(a.Out) && f.output == ""))
	}
	withAuthors(runs, a.sources(m))
	return a.text(f.output, render.HistoryTable(runs, terminal.Colourful(a.Out) && f.output == "", a.lineWidth(f.output)))
}

// sinceTime reads the value of --since.
func (a statusVerbs) sinceTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	now, err := a.now()
	if err != nil {
		return now, err
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, Usagef("invalid value %q for option --since: neither a duration like 10m nor a time like 2026-03-03T09:00:00Z", text)
}

// now is the time, or that of the script that has called.
func (f *focus) now() (time.Time, error) {
	if now, ok, err := agent.LabTime(); err != nil || ok {
		return now, err
	}
	return time.Now(), nil
}

// runs are the runs of the units, or of all that have run any, in the order in
// which they began.
func (a statusVerbs) runs(m *state.Model, where places, units []model.UnitName) ([]history.Entry, error) {
	var runs [][]history.Entry
	found := map[model.UnitName]bool{}
	for _, data := range where.dirs {
		dir, named := machine.HistoryDir(data, m.UUID()), units
		if len(units) == 0 {
			var err error
			if named, err = history.Units(dir); err != nil {
				return nil, err
			}
		}
		for _, unit := range named {
			own, err := history.Read(dir, unit)
			if err != nil {
				return nil, err
			}
			found[unit] = found[unit] || len(own) > 0
			runs = append(runs, own)
		}
	}
	for _, unit := range units {
		if !found[unit] {
			return nil, errors.NewNotFound(nil, fmt.Sprintf("unit %q has run no hook in model %q", unit, m.Name()))
		}
	}
	return history.Merge(runs...), nil
}
