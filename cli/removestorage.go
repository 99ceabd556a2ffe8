package cli

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (a storageVerbs) removeStorageCmd() *cobra.Command {
	var force, noDestroy bool
	cmd := &cobra.Command{
		Use:   "remove-storage STORAGE …",
		Short: "Remove storage, with all that is in it",
		Long: `Remove storage that is attached to no unit, with all that is in it. With --force it
is detached first, after the storage-detaching hook.`,
		Example:           "  unitd remove-storage data/0\n  unitd remove-storage data/1 --force\n  unitd remove-storage data/2 --no-destroy",
		Args:              Args(1, -1, "remove-storage requires at least one storage ID"),
		ValidArgsFunction: a.completeStorage,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.eachStorage(args, "removing %s", func(m *state.Model, id model.StorageID) error {
				return m.RemoveStorage(a.Context(), id, noDestroy, force)
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove it though it is attached")
	cmd.Flags().BoolVar(&noDestroy, "no-destroy", false, "leave what is in it on this machine")
	return cmd
}
