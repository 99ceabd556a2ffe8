package main

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/state"
)

func (a *app) storageCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:     "storage",
		Aliases: []string{"list-storage"},
		Short:   "List the storage of the model",
		Example: "  unitd storage\n  unitd storage --format json",
		Args:    args(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return a.storage(format, output) },
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	a.formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a *app) storage(format, output string) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	all, err := m.Storage(a.ctx)
	if err != nil {
		return err
	}
	if format != "tabular" {
		return a.write(format, output, storageTree(all, false))
	}
	t := &table{colours: output == "" && colourful(a.stdout)}
	t.block(storageRows(all))
	if output != "" {
		return a.writeFile(output, t.b.String())
	}
	a.printf("%s", t.b.String())
	if len(all) == 0 {
		a.note("No storage to display.")
	}
	return nil
}

// storageRows is what "storage" shows.
func storageRows(all []state.StorageView) [][]cell {
	if len(all) == 0 {
		return nil
	}
	rows := [][]cell{heads("Unit", "Storage ID", "Type", "Pool", "Size", "Status", "Message")}
	for _, v := range all {
		s := v.Status()
		rows = append(rows, []cell{
			{text: string(v.Unit)}, {text: string(v.ID)}, {text: v.Kind}, {text: v.Pool}, {text: sizeOf(v)}, statusCell(s.Status), message(s.Message),
		})
	}
	return rows
}
