package cli

import (
	"fmt"

	"github.com/juju/errors"
	"github.com/spf13/cobra"
)

// clusterScope is the only scope in which a container charm can be trusted. Source:
// docs/spec/containers.md §7.1.
const clusterScope = "cluster"

func (a unitVerbs) trustCmd() *cobra.Command {
	var remove bool
	var scope string
	cmd := &cobra.Command{
		Use:   "trust APPLICATION",
		Short: "Trust an application with the cloud's credentials",
		Long: `Allow the application to ask for the cloud's credentials, or forbid it with
--remove. Its units are told by config-changed. While a container charm is trusted,
its units have the part of the Kubernetes API that charms need; otherwise they have
none of it.`,
		Example:           "  unitd trust shop\n  unitd trust shop --remove\n  unitd trust web --scope=cluster",
		Args:              Args(1, 1, "no application name specified"),
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			container, err := a.containerApplication(m, args[0])
			switch {
			case err != nil:
				return err
			case container && !remove && scope == "":
				return errors.New("'juju trust' currently grants full access to the cluster itself. Set the scope to 'cluster' using '--scope=cluster' to confirm it.")
			case container && !remove && scope != clusterScope:
				return errors.NewNotValid(nil, fmt.Sprintf("scope %q not valid", scope))
			}
			if err := m.SetTrust(a.Context(), args[0], !remove); err != nil {
				return err
			}
			return a.Ensure()
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "trust it no longer")
	cmd.Flags().StringVar(&scope, "scope", "", "for a container charm: cluster")
	return cmd
}
