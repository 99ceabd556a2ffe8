package cli

import (
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
)

func (a charmVerbs) setApplicationBaseCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "set-application-base APPLICATION BASE",
		Short: "Say on what base later units of an application are",
		Long: `Say on what base later units of an application are, and those of its subordinates.
Units that are there stay as they are, and so does the system that isolated units see.`,
		Example:           "  unitd set-application-base ledger ubuntu@24.04",
		ValidArgsFunction: a.completeApplications(1),
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return Usagef("application name and base required")
			case len(args) == 1 && strings.Contains(args[0], "@"):
				return Usagef("no application name")
			case len(args) == 1:
				return Usagef("no base specified")
			case len(args) > 2:
				return Usagef("unrecognized args: %q", args[2:])
			case !model.ValidApplication(args[0]):
				return Usagef("invalid application name %q", args[0])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			base, err := model.ParseBase(args[1])
			if err != nil {
				return Usagef("%v", err)
			}
			return a.setApplicationBase(args[0], base)
		},
	}
}

// setApplicationBase records a base, which the charm has to name. Source:
// docs/spec/juju-clients.md §7.4.
func (a charmVerbs) setApplicationBase(name string, base model.Base) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	app, err := m.Application(a.Context(), name)
	if err != nil {
		return err
	}
	charm, err := m.Charm(a.Context(), app.Charm)
	if err != nil {
		return err
	}
	if err := charm.Charm.CheckBase(base); err != nil {
		return errors.Trace(err)
	}
	if err := m.SetBase(a.Context(), name, base); err != nil {
		return err
	}
	a.Note("WARNING refresh %q to a charm for %s, if it has one of its own, before units are added", name, base)
	return nil
}
