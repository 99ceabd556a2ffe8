package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

func (a statusVerbs) showApplicationCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:               "show-application APPLICATION …",
		Short:             "Show applications: charm, address, what is published",
		Example:           "  unitd show-application shop\n  unitd show-application shop ledger --format json",
		Args:              Args(1, -1, "an application name must be supplied"),
		ValidArgsFunction: a.completeApplications(-1),
		RunE: func(_ *cobra.Command, args []string) error {
			var wrong []string
			for _, name := range args {
				if !model.ValidApplication(name) {
					wrong = append(wrong, name)
				}
			}
			switch len(wrong) {
			case 0:
			case 1:
				return Usagef("application name %s not valid", wrong[0])
			default:
				return Usagef("application names %s not valid", strings.Join(wrong, ", "))
			}
			m, err := a.model()
			if err != nil {
				return err
			}
			s, err := m.Status(a.Context())
			if err != nil {
				return err
			}
			out := render.Tree{}
			for _, name := range args {
				i := slices.IndexFunc(s.Applications, func(v state.ApplicationView) bool { return v.Name == name })
				if i < 0 {
					return errors.NewNotFound(nil, fmt.Sprintf("application %q not found", name))
				}
				out[name] = render.ApplicationDetail(s.Applications[i])
			}
			return a.write(format, output, out)
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "output format: yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "yaml", "json")
	return cmd
}
