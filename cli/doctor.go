package cli

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
)

func (a caches) doctorCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what machines this host can give units, and what would give more",
		Long: `Say in which modes units can be isolated on this host, by making a machine in each
and removing it, and which of the host's settings would have to change for more,
with the command.`,
		Example: "  unitd doctor\n  sudo unitd doctor --format json",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			what, err := a.Doctor()
			if err != nil {
				return err
			}
			if format != "tabular" {
				return a.write(format, output, what)
			}
			modes, host := [][]render.Cell{render.Heads("Mode", "Here", "Why")}, [][]render.Cell{render.Heads("Host", "Is", "For more")}
			for _, m := range what.Modes {
				modes = append(modes, []render.Cell{{Text: m.Mode}, {Text: m.Here}, {Text: m.Why}})
			}
			for _, f := range what.Host {
				host = append(host, []render.Cell{{Text: f.Name}, {Text: f.Value}, {Text: f.Do}})
			}
			return a.table(output, modes, host)
		},
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to a file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}
