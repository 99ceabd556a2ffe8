package cli

import (
	"github.com/spf13/cobra"
)

func (a storageVerbs) createStoragePoolCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "create-storage-pool NAME PROVIDER",
		Short: "Make a storage pool",
		Long: `Make a storage pool: a name for a provider, rootfs, tmpfs or loop, that directives
can use. The providers here have no attributes.`,
		Example: "  unitd create-storage-pool quick tmpfs",
		Args:    Args(2, 2, "pool creation requires names and provider"),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			return m.AddPool(a.Context(), args[0], args[1])
		},
	}
}
