package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
)

func (a appVerbs) payloadsCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:     "payloads",
		Aliases: []string{"list-payloads"},
		Short:   "List what charms have noted that they run",
		Example: "  unitd payloads\n  unitd payloads --format json",
		Args:    Args(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return a.payloads(format, output) },
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a appVerbs) payloads(format, output string) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	units, err := m.Units(a.Context())
	if err != nil {
		return err
	}
	infos := []render.Payload{}
	rows := [][]render.Cell{render.Heads("Unit", "Machine", "Payload class", "Status", "Type", "Id", "Tags")}
	for _, u := range units {
		for _, p := range u.Payloads {
			infos = append(infos, render.Payload{
				Unit: string(u.Name), Machine: u.Machine, ID: p.ID, Type: p.Type, Class: p.Class, Labels: p.Labels, Status: p.Status,
			})
			rows = append(rows, []render.Cell{
				{Text: string(u.Name)}, {Text: u.Machine}, {Text: p.Class}, {Text: p.Status}, {Text: p.Type}, {Text: p.ID}, {Text: strings.Join(p.Labels, " ")},
			})
		}
	}
	if format != "tabular" {
		return a.write(format, output, infos)
	}
	t := &render.Table{}
	t.Block(rows)
	return a.text(output, t.String())
}
