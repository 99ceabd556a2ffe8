package main

import "github.com/spf13/cobra"

func (a *app) trustCmd() *cobra.Command {
	var remove bool
	var scope string
	cmd := &cobra.Command{
		Use:   "trust APPLICATION",
		Short: "Trust an application with the cloud's credentials",
		Long: `Say that the application may ask for the cloud's credentials, or by --remove that
it may not. Its units are told by config-changed.`,
		Example:           "  unitd trust shop\n  unitd trust shop --remove",
		Args:              args(1, 1, "no application name specified"),
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			if err := m.SetTrust(a.ctx, args[0], !remove); err != nil {
				return err
			}
			return a.ensureAgent()
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "trust it no longer")
	cmd.Flags().StringVar(&scope, "scope", "", "taken and ignored: it matters on other kinds of cloud only")
	return cmd
}
