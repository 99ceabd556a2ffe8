package cli

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (a storageVerbs) detachStorageCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "detach-storage STORAGE …",
		Short: "Detach storage from its unit, after the storage-detaching hook",
		Long: `Detach storage from its unit. It can be attached to another one afterwards, but for
what is in memory: that is gone.`,
		Example:           "  unitd detach-storage data/0",
		Args:              Args(1, -1, "detach-storage requires a storage ID"),
		ValidArgsFunction: a.completeStorage,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.eachStorage(args, "detaching %s", func(m *state.Model, id model.StorageID) error {
				return m.DetachStorage(a.Context(), id)
			})
		},
	}
}
