package cli

import (
	"github.com/juju/errors"
	"github.com/spf13/cobra"
)

func (a storeVerbs) storeUpgradeCmd() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Give the store the format of this unitd",
		Long: `Give the store the format of this unitd, which earlier ones refuse from then on. While an agent of
an earlier unitd works on the store, this fails and says which one. Agents of this unitd may run
meanwhile. Any other command of this unitd upgrades the store, too.

With --dry-run, say what has to end first, and leave the store as it is.`,
		Example: "  unitd store upgrade --dry-run\n  unitd store upgrade",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			found, err := a.UpgradeStore(dry)
			switch {
			case err != nil:
				return err
			case !found.Former:
				a.printf("The store has the format of this unitd (%s)\n", found.Format)
			case found.First != nil:
				return errors.Annotatef(found.First, "the store has an earlier format than this unitd (%s) and can't be upgraded yet", found.Format)
			case dry:
				a.printf("The store has an earlier format than this unitd (%s) and can be upgraded: no agent of an earlier unitd works on it\n", found.Format)
			default:
				a.printf("Upgraded the store to format %s, which earlier unitds refuse\n", found.Format)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what has to end first")
	return cmd
}
