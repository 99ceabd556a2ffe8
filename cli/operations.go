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
	cmd := &cobra.Command{
		Use:     "show-operation ID",
		Short:   "Show what was asked for at once, with its tasks",
		Example: "  unitd show-operation 1",
		Args:    Args(1, 1, "no operation ID specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			o, err := m.Operation(a.Context(), args[0])
			if err != nil {
				return err
			}
			return a.write(format, output, render.OperationOf(o))
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file instead")
	formats(cmd, "json", "yaml")
	return cmd
}

func (a taskVerbs) operationsCmd() *cobra.Command {
	var format, output string
	var status []string
	cmd := &cobra.Command{
		Use:     "operations",
		Aliases: []string{"list-operations"},
		Short:   "List actions and commands that were asked for",
		Example: "  unitd operations\n  unitd operations --status failed,running",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			all, err := m.Operations(a.Context())
			if err != nil {
				return err
			}
			all = slices.DeleteFunc(all, func(o state.Operation) bool {
				return len(status) > 0 && !slices.Contains(status, string(o.Status()))
			})
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
	cmd.Flags().StringSliceVar(&status, "status", nil, "only those with one of these statuses")
	cmd.Flags().StringVar(&format, "format", "plain", "plain, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file instead")
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
