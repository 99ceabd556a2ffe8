package cli

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/state"
)

func (a charmVerbs) rollbackCmd() *cobra.Command {
	var to int
	cmd := &cobra.Command{
		Use:   "rollback APPLICATION [--to REVISION]",
		Short: "Put an application back to an earlier revision of its charm",
		Long: `Put an application back to the revision of its charm that it had before, or to
that of --to, whatever state its units are in. A settled unit deploys it and runs
upgrade-charm and config-changed; one in error gets its files at once and runs its
failed hook again. Each rollback without --to goes back by one more.

An application with containers also gets back the images that it had with that
revision. If only an image was replaced since, the former image alone comes back.`,
		Example:           "  unitd rollback ledger\n  unitd rollback ledger --to 3",
		Args:              Args(1, 1, "no application specified"),
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			revision := state.FormerRevision
			if cmd.Flags().Changed("to") {
				if revision = to; to < 0 {
					return Usagef("invalid value \"%d\" for option --to: not a revision", to)
				}
			}
			return a.rollback(args[0], revision)
		},
	}
	cmd.Flags().IntVar(&to, "to", 0, "the revision to go back to, instead of the former one")
	return cmd
}

func (a charmVerbs) rollback(name string, to int) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	done, err := m.Rollback(a.Context(), name, to)
	if err != nil {
		return err
	}
	if done.Other {
		a.Note("Rolling back %q to revision %s", name, deploy.Revision(done.Charm))
	}
	for _, resource := range done.Replaced {
		a.Note("Rolling back %q to image %s for resource %q", name, done.Images[resource].Image.Reference, resource)
	}
	for _, u := range done.InError {
		a.Note("%s is in error: its failed hook is run again", u)
	}
	return a.Ensure()
}
