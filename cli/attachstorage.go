package cli

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (a storageVerbs) attachStorageCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "attach-storage UNIT STORAGE …",
		Short: "Attach detached storage to a unit",
		Long: `Attach storage that is attached to no unit. The charm must have storage of that
name and kind, and take one more; its storage-attached hook runs.`,
		Example:           "  unitd attach-storage ledger/1 data/0",
		Args:              Args(2, -1, "attach-storage requires a unit and storage ids"),
		ValidArgsFunction: a.completeUnitStorage,
		RunE: func(_ *cobra.Command, args []string) error {
			unit, ids, err := unitAndStorage(args)
			if err != nil {
				return err
			}
			return a.eachStorage(ids, "attaching %s to "+string(unit), func(m *state.Model, id model.StorageID) error {
				return m.AttachStorage(a.Context(), unit, id)
			})
		},
	}
}
