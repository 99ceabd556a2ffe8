package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/state"
)

// operationOut is an operation as people see it.
type operationOut struct {
	Summary string             `json:"summary" yaml:"summary"`
	Status  string             `json:"status" yaml:"status"`
	Fail    string             `json:"fail,omitempty" yaml:"fail,omitempty"`
	Timing  timingOut          `json:"timing" yaml:"timing"`
	Tasks   map[string]taskOut `json:"tasks,omitempty" yaml:"tasks,omitempty"`
}

// times are when an operation began and ended; zero: it hasn't.
func times(o state.Operation) (started, ended time.Time) {
	done := true
	for _, t := range o.Tasks {
		if !t.Started.IsZero() && (started.IsZero() || t.Started.Before(started)) {
			started = t.Started
		}
		if t.Completed.After(ended) {
			ended = t.Completed
		}
		done = done && t.Status.Ended()
	}
	if !done {
		ended = time.Time{}
	}
	return started, ended
}

func shownOperation(o state.Operation) operationOut {
	started, ended := times(o)
	out := operationOut{
		Summary: o.Summary, Status: string(o.Status()), Fail: o.Fail, Tasks: map[string]taskOut{},
		Timing: timingOut{timeText(o.Enqueued), timeText(started), timeText(ended)},
	}
	for _, t := range o.Tasks {
		out.Tasks[t.ID] = shown(t)
	}
	return out
}

func (a *app) showOperationCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:     "show-operation ID",
		Short:   "Show what was asked for at once, with its tasks",
		Example: "  unitd show-operation 1",
		Args:    args(1, 1, "no operation ID specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			o, err := m.Operation(a.ctx, args[0])
			if err != nil {
				return err
			}
			return a.write(format, output, shownOperation(o))
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file instead")
	a.formats(cmd, "json", "yaml")
	return cmd
}

func (a *app) operationsCmd() *cobra.Command {
	var format, output string
	var status []string
	cmd := &cobra.Command{
		Use:     "operations",
		Aliases: []string{"list-operations"},
		Short:   "List actions and commands that were asked for",
		Example: "  unitd operations\n  unitd operations --status failed,running",
		Args:    args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			all, err := m.Operations(a.ctx)
			if err != nil {
				return err
			}
			all = slices.DeleteFunc(all, func(o state.Operation) bool {
				return len(status) > 0 && !slices.Contains(status, string(o.Status()))
			})
			if format != "plain" {
				byID := map[string]operationOut{}
				for _, o := range all {
					byID[o.ID] = shownOperation(o)
				}
				return a.write(format, output, byID)
			}
			return a.operationsTable(all, output)
		},
	}
	cmd.Flags().StringSliceVar(&status, "status", nil, "only those with one of these statuses")
	cmd.Flags().StringVar(&format, "format", "plain", "plain, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file instead")
	a.formats(cmd, "plain", "json", "yaml")
	return cmd
}

func (a *app) operationsTable(all []state.Operation, output string) error {
	if len(all) == 0 {
		a.note("no operations")
		return nil
	}
	rows := [][]cell{heads("ID", "Status", "Started", "Finished", "Task IDs", "Summary")}
	for _, o := range all {
		started, ended := times(o)
		short := func(t time.Time) string {
			if t.IsZero() {
				return ""
			}
			return t.UTC().Format("2006-01-02T15:04:05")
		}
		rows = append(rows, []cell{
			{text: o.ID}, {text: string(o.Status())}, {text: short(started)}, {text: short(ended)},
			{text: strings.Join(o.OperationDoc.Tasks, ",")}, {text: o.Summary},
		})
	}
	t := table{colours: output == "" && colourful(a.stdout)}
	t.block(rows)
	if output != "" {
		return a.writeFile(output, t.b.String())
	}
	a.printf("%s", t.b.String())
	return nil
}
