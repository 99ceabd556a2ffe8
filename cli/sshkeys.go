package cli

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// sshKeyVerbs are about the ssh keys of a model. Source: docs/spec/juju-clients.md §5.1.
type sshKeyVerbs struct{ base }

func (a sshKeyVerbs) addSSHKeyCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "add-ssh-key KEY …",
		Short:   "Record ssh keys for the model",
		Long:    "Record public ssh keys for the model. \"unitd ssh\" needs none.",
		Example: `  unitd add-ssh-key "ssh-ed25519 AAAA… me@laptop"`,
		Args:    Args(1, -1, "no ssh key specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			wrong, err := m.AddSSHKeys(a.Context(), args)
			if err != nil {
				return err
			}
			a.tellEach("cannot add key", args, wrong)
			a.records("ssh keys")
			return nil
		},
	}
}

func (a sshKeyVerbs) removeSSHKeyCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "remove-ssh-key KEY-ID …",
		Short:   "Forget ssh keys of the model",
		Long:    "Forget ssh keys of the model, by their fingerprints, their comments, or the keys themselves.",
		Example: "  unitd remove-ssh-key me@laptop\n  unitd remove-ssh-key 12:ab:34:cd:56:ef:12:ab:34:cd:56:ef:12:ab:34:cd",
		Args:    Args(1, -1, "no ssh key id specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			wrong, err := m.RemoveSSHKeys(a.Context(), args)
			if err != nil {
				return err
			}
			a.tellEach("cannot remove key id", args, wrong)
			return nil
		},
	}
}

// tellEach says what was wrong with some of the words: scripts rely on it that the
// command succeeds all the same.
func (a sshKeyVerbs) tellEach(what string, words []string, wrong []error) {
	for i, err := range wrong {
		if err != nil {
			a.Note("%s %q: %v", what, words[i], err)
		}
	}
}

func (a sshKeyVerbs) sshKeysCmd() *cobra.Command {
	var full bool
	cmd := &cobra.Command{
		Use:     "ssh-keys",
		Aliases: []string{"list-ssh-keys"},
		Short:   "List the ssh keys of the model",
		Example: "  unitd ssh-keys\n  unitd ssh-keys --full",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			keys, err := m.SSHKeys(a.Context())
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				a.Note("No keys to display.")
				return nil
			}
			a.printf("Keys used in model: %s/%s\n", render.UserName, m.Name())
			for _, k := range keys {
				a.printf("%s\n", sshKeyText(k, full))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "show whole keys, not their fingerprints")
	return cmd
}

func sshKeyText(k state.SSHKey, full bool) string {
	if full {
		return k.Text
	}
	return k.String()
}
