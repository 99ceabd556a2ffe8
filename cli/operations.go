package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

func (a taskVerbs) showOperationCmd() *cobra.Command {
	var format, output string
	var wait time.Duration
	var watch bool
	cmd := &cobra.Command{
		Use:     "show-operation ID",
		Short:   "Show what was asked for at once, with its tasks",
		Example: "  unitd show-operation 1\n  unitd show-operation 1 --wait 2m",
		Args:    Args(1, 1, "no operation ID specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			if wait > 0 && watch {
				return Usagef("--wait and --watch cannot both be specified")
			}
			m, err := a.model()
			if err != nil {
				return err
			}
			o, err := m.Operation(a.Context(), args[0])
			if err == nil && (wait > 0 || watch) {
				if _, err := a.waitForTasks(m, o.OperationDoc.Tasks, wait, nil); err != nil {
					return err
				}
				o, err = m.Operation(a.Context(), args[0])
			}
			if err != nil {
				return err
			}
			return a.write(format, output, render.OperationOf(o))
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait this long for the tasks to end")
	cmd.Flags().BoolVar(&watch, "watch", false, "wait until the tasks have ended, however long that takes")
	cmd.Flags().StringVar(&format, "format", "yaml", "json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file instead")
	formats(cmd, "json", "yaml")
	return cmd
}

// operationFilter says which operations are listed: those that are as each of its lists
// wants, by one of their tasks.
type operationFilter struct {
	status, units, apps, machines, actions []string
	offset, limit                          int
}

// taskStatuses are those that operations may have.
var taskStatuses = [...]state.TaskStatus{
	state.TaskAborted, state.TaskAborting, state.TaskCancelled, state.TaskCompleted, state.TaskError, state.TaskFailed, state.TaskPending, state.TaskRunning,
}

func (f operationFilter) check() error {
	for _, s := range f.status {
		if !slices.Contains(taskStatuses[:], state.TaskStatus(s)) {
			return Usagef("%q is not a valid task status, want one of %v", s, taskStatuses)
		}
	}
	if f.offset < 0 || f.limit < 0 {
		return Usagef("--offset and --limit must not be negative")
	}
	return nil
}

func (f operationFilter) matches(o state.Operation) bool {
	one := func(wanted []string, of func(state.TaskDoc) string) bool {
		return len(wanted) == 0 || slices.ContainsFunc(o.Tasks, func(t state.TaskDoc) bool { return slices.Contains(wanted, of(t)) })
	}
	return (len(f.status) == 0 || slices.Contains(f.status, string(o.Status()))) &&
		one(f.units, func(t state.TaskDoc) string { return string(t.Unit) }) &&
		one(f.apps, func(t state.TaskDoc) string { return t.Unit.Application() }) &&
		one(f.machines, func(t state.TaskDoc) string { return t.Machine }) &&
		one(f.actions, func(t state.TaskDoc) string { return t.Action })
}

// of are those of all operations that are listed.
func (f operationFilter) of(all []state.Operation) []state.Operation {
	all = slices.DeleteFunc(all, func(o state.Operation) bool { return !f.matches(o) })
	all = all[min(f.offset, len(all)):]
	if f.limit > 0 {
		all = all[:min(f.limit, len(all))]
	}
	return all
}

func (a taskVerbs) operationsCmd() *cobra.Command {
	var format, output string
	var f operationFilter
	cmd := &cobra.Command{
		Use:     "operations",
		Aliases: []string{"list-operations"},
		Short:   "List actions and commands that were asked for",
		Example: "  unitd operations\n  unitd operations --status failed,running\n  unitd operations --apps ledger --actions backup --limit 10",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			if err := f.check(); err != nil {
				return err
			}
			m, err := a.model()
			if err != nil {
				return err
			}
			all, err := m.Operations(a.Context())
			if err != nil {
				return err
			}
			all = f.of(all)
			if format != "plain" {
				byID := map[string]render.Operation{}
				for _, o := range all {
					byID[o.ID] = render.OperationOf(o)
				}
				return a.write(format, output, byID)
			}
			return a.operationsTable(all, output)
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.status, "status", nil, "only those with one of these statuses")
	fs.StringSliceVar(&f.units, "units", nil, "only those on one of these units")
	fs.StringSliceVar(&f.apps, "apps", nil, "only those on units of one of these applications")
	fs.StringSliceVar(&f.machines, "machines", nil, "only those on one of these machines")
	fs.StringSliceVar(&f.actions, "actions", nil, "only those with one of these actions")
	fs.IntVar(&f.offset, "offset", 0, "leave out this many of the oldest")
	fs.IntVar(&f.limit, "limit", 0, "show this many at most (0: all)")
	fs.StringVar(&format, "format", "plain", "plain, json or yaml")
	fs.StringVarP(&output, "output", "o", "", "write to this file instead")
	formats(cmd, "plain", "json", "yaml")
	return cmd
}

func (a taskVerbs) operationsTable(all []state.Operation, output string) error {
	if len(all) == 0 {
		a.Note("no operations")
		return nil
	}
	rows := [][]render.Cell{render.Heads("ID", "Status", "Started", "Finished", "Task IDs", "Summary")}
	for _, o := range all {
		started, ended := render.OperationTimes(o)
		short := func(t time.Time) string {
			if t.IsZero() {
				return ""
			}
			return t.UTC().Format("2006-01-02T15:04:05")
		}
		rows = append(rows, []render.Cell{
			{Text: o.ID}, {Text: string(o.Status())}, {Text: short(started)}, {Text: short(ended)},
			{Text: strings.Join(o.OperationDoc.Tasks, ",")}, {Text: o.Summary},
		})
	}
	return a.table(output, rows)
}
