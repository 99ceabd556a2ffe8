package cli

import (
	"fmt"
	"slices"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

func (a storageVerbs) showStorageCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:               "show-storage STORAGE …",
		Short:             "Show instances of storage",
		Example:           "  unitd show-storage data/0\n  unitd show-storage data/0 --format json",
		Args:              Args(1, -1, "must specify storage id(s)"),
		ValidArgsFunction: a.completeStorage,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.showStorage(args, format, output)
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "output format: yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "yaml", "json")
	return cmd
}

func (a storageVerbs) showStorage(words []string, format, output string) error {
	ids, err := storageIDs(words)
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	all, err := m.Storage(a.Context())
	if err != nil {
		return err
	}
	out := render.Tree{}
	for _, id := range ids {
		i := slices.IndexFunc(all, func(v state.StorageView) bool { return v.ID == id })
		if i < 0 {
			return errors.NewNotFound(nil, fmt.Sprintf("storage %q not found", id))
		}
		out[string(id)] = render.StorageInstanceTree(all[i], false)
	}
	return a.write(format, output, out)
}

// completeStorage completes ids of storage.
func (f *focus) completeStorage(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return completeWith(namesOf(f.completing().Storage), args, word, 0)
}

// completeUnitStorage completes a unit, and then ids of storage.
func (f *focus) completeUnitStorage(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return f.completeUnits(cmd, args, word)
	}
	return f.completeStorage(cmd, args, word)
}

func namesOf(all []state.StorageView) []string {
	var names []string
	for _, v := range all {
		names = append(names, string(v.ID))
	}
	return names
}

// unitAndStorage reads the arguments of commands that are about both.
func unitAndStorage(words []string) (model.UnitName, []string, error) {
	unit, err := model.ParseUnitName(words[0])
	if err != nil {
		return "", nil, Usagef("%v", err)
	}
	return unit, words[1:], nil
}
