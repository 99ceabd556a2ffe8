package cli

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
)

func (a secretVerbs) rotateSecretKeyCmd() *cobra.Command {
	var lost bool
	cmd := &cobra.Command{
		Use:   "rotate-secret-key",
		Short: "Seal all secrets with a new key, and forget the old one",
		Long: `Make a new key, seal the secrets of all models with it, and forget the old key.
It can be interrupted and run again; agents need not be stopped. If the keys are
in the environment (` + agent.SecretKeyVariable + `), or come from the command in
` + agent.SecretKeyCommandVariable + `, put the new one on the first line and the old
one below it, run this command, and then take the old one out.

It refuses on a host that hasn't the key in use. If nobody has that key any more, --lost takes
a new one into use, and names the secrets that can't be opened: give them new content, or
remove them. It drops credentials of the controller that can't be opened.`,
		Example: "  unitd rotate-secret-key",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			sealed, err := a.RotateSecretKey(lost)
			if err == nil {
				a.Note("Sealed %d revisions of secrets with the new key", sealed)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&lost, "lost", false, "take a new key into use although nobody has the one in use")
	return cmd
}
