package cli

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
)

func (a statusVerbs) showUnitCmd() *cobra.Command {
	var format, output, endpoint, related string
	var appOnly bool
	cmd := &cobra.Command{
		Use:               "show-unit UNIT …",
		Short:             "Show units with their containers, and the settings in their relations",
		Example:           "  unitd show-unit shop/0\n  unitd show-unit shop/0 --format json --endpoint db",
		Args:              Args(1, -1, "no unit name specified"),
		ValidArgsFunction: a.completeUnits,
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			out := render.Tree{}
			for _, arg := range args {
				name, err := model.ParseUnitName(arg)
				if err != nil {
					return Usagef("unit name %s not valid", arg)
				}
				d, err := m.ShowUnit(a.Context(), name)
				if err != nil {
					return err
				}
				out[arg] = render.UnitDetail(d, endpoint, related, appOnly)
			}
			return a.write(format, output, out)
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "output format: yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	cmd.Flags().StringVar(&endpoint, "endpoint", "", "only relations on this endpoint")
	cmd.Flags().StringVar(&related, "related-unit", "", "only relations with this unit")
	cmd.Flags().BoolVar(&appOnly, "app", false, "only application data")
	formats(cmd, "yaml", "json")
	return cmd
}
