package cli

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
)

func (a storageVerbs) storagePoolsCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:     "storage-pools",
		Aliases: []string{"list-storage-pools"},
		Short:   "List the storage pools",
		Example: "  unitd storage-pools\n  unitd storage-pools --format json",
		Args:    Args(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return a.storagePools(format, output) },
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a storageVerbs) storagePools(format, output string) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	pools, err := m.Pools(a.Context())
	if err != nil {
		return err
	}
	out, rows := render.Tree{}, [][]render.Cell{render.Heads("Name", "Provider", "Attrs")}
	for _, p := range pools {
		out[p.Name] = render.Tree{"provider": p.Provider}
		rows = append(rows, []render.Cell{{Text: p.Name}, {Text: p.Provider}, {}})
	}
	if format != "tabular" {
		return a.write(format, output, out)
	}
	return a.table(output, rows)
}
