package cli

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
)

// storageVerbs list storage, and give it to units.
type storageVerbs struct{ base }

func (a storageVerbs) storageCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:     "storage",
		Aliases: []string{"list-storage"},
		Short:   "List the storage of the model",
		Example: "  unitd storage\n  unitd storage --format json",
		Args:    Args(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return a.storage(format, output) },
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a storageVerbs) storage(format, output string) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	all, err := m.Storage(a.Context())
	if err != nil {
		return err
	}
	if format != "tabular" {
		return a.write(format, output, render.StorageTree(all, false))
	}
	if len(all) == 0 && output == "" {
		a.Note("No storage to display.")
	}
	return a.table(output, render.StorageRows(all))
}
