package main

import (
	"github.com/spf13/cobra"
)

func (a *app) storagePoolsCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:     "storage-pools",
		Aliases: []string{"list-storage-pools"},
		Short:   "List the storage pools",
		Example: "  unitd storage-pools\n  unitd storage-pools --format json",
		Args:    args(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return a.storagePools(format, output) },
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	a.formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a *app) storagePools(format, output string) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	pools, err := m.Pools(a.ctx)
	if err != nil {
		return err
	}
	out, rows := tree{}, [][]cell{heads("Name", "Provider", "Attrs")}
	for _, p := range pools {
		out[p.Name] = tree{"provider": p.Provider}
		rows = append(rows, []cell{{text: p.Name}, {text: p.Provider}, {}})
	}
	if format != "tabular" {
		return a.write(format, output, out)
	}
	t := &table{colours: output == "" && colourful(a.stdout)}
	t.block(rows)
	if output != "" {
		return a.writeFile(output, t.b.String())
	}
	a.printf("%s", t.b.String())
	return nil
}
