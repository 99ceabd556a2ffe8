package cli

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
)

func (a secretVerbs) rotateSecretKeyCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "rotate-secret-key",
		Short: "Seal all secrets with a new key, and forget the old one",
		Long: `Make a new key, seal the secrets of all models with it, and forget the old key. It
can be interrupted and run again; agents need not be stopped. With keys in the
environment (` + agent.SecretKeyVariable + `): put the new one on the first line and the old one below
it, run this, and take the old one out.`,
		Example: "  unitd rotate-secret-key",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			sealed, err := a.RotateSecretKey()
			if err == nil {
				a.Note("Sealed %d revisions of secrets with the new key", sealed)
			}
			return err
		},
	}
}
