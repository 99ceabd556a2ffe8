package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// payloadInfo is a payload as people see it.
type payloadInfo struct {
	Unit    string   `json:"unit" yaml:"unit"`
	Machine string   `json:"machine" yaml:"machine"`
	ID      string   `json:"id" yaml:"id"`
	Type    string   `json:"type" yaml:"type"`
	Class   string   `json:"payload-class" yaml:"payload-class"`
	Labels  []string `json:"labels,omitempty" yaml:"labels,omitempty"`
	Status  string   `json:"status" yaml:"status"`
}

func (a *app) payloadsCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:     "payloads",
		Aliases: []string{"list-payloads"},
		Short:   "List what charms have noted that they run",
		Example: "  unitd payloads\n  unitd payloads --format json",
		Args:    args(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return a.payloads(format, output) },
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	a.formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a *app) payloads(format, output string) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	units, err := m.Units(a.ctx)
	if err != nil {
		return err
	}
	infos := []payloadInfo{}
	rows := [][]cell{heads("Unit", "Machine", "Payload class", "Status", "Type", "Id", "Tags")}
	for _, u := range units {
		for _, p := range u.Payloads {
			infos = append(infos, payloadInfo{string(u.Name), u.Machine, p.ID, p.Type, p.Class, p.Labels, p.Status})
			rows = append(rows, []cell{
				{text: string(u.Name)}, {text: u.Machine}, {text: p.Class}, {text: p.Status}, {text: p.Type}, {text: p.ID}, {text: strings.Join(p.Labels, " ")},
			})
		}
	}
	if format != "tabular" {
		return a.write(format, output, infos)
	}
	t := &table{}
	t.block(rows)
	return a.writeText(output, t.b.String())
}
