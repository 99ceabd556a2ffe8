package cli

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/uniter/resolver"
)

func (a statusVerbs) rulesCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Show the rules by which a unit's agent decides what comes next",
		Long: `Show the table of rules that orders everything an agent does. The first rule that
applies wins. The agent goes through the table again after each hook and each change
of the model.`,
		Example: "  unitd rules\n  unitd rules --format json",
		Args:    Args(0, 0, ""),
		RunE: func(_ *cobra.Command, _ []string) error {
			if format != "tabular" {
				var list []render.Tree
				for _, r := range resolver.Rules() {
					list = append(list, render.Tree{"name": r.Name, "when": r.When})
				}
				return a.write(format, output, list)
			}
			rows := [][]render.Cell{render.Heads("NAME", "WHEN")}
			for _, r := range resolver.Rules() {
				rows = append(rows, []render.Cell{{Text: r.Name}, {Text: r.When}})
			}
			return a.table(output, rows)
		},
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}
