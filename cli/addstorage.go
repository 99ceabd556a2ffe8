package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

func (a storageVerbs) addStorageCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "add-storage UNIT NAME[=DIRECTIVE] …",
		Short: "Give a unit more storage",
		Long: `Give a unit more instances of storage that its charm has. A directive is a pool, a
count and a size, with commas between; what it leaves out is as deploy was told.`,
		Example:           "  unitd add-storage ledger/0 data\n  unitd add-storage ledger/0 data=tmpfs,2,512M",
		Args:              Args(2, -1, "add-storage requires a unit and a storage directive"),
		ValidArgsFunction: a.completeUnits,
		RunE:              func(_ *cobra.Command, args []string) error { return a.addStorage(args) },
	}
}

func (a storageVerbs) addStorage(words []string) error {
	unit, words, err := unitAndStorage(words)
	if err != nil {
		return err
	}
	names := make([]string, len(words))
	for i, word := range words {
		if names[i], _, _ = strings.Cut(word, "="); names[i] == word {
			words[i] += "="
		}
	}
	directives, err := storageArgs(words)
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	done, failed := 0, 0
	for _, name := range names {
		ids, err := m.AddStorage(a.Context(), unit, name, directives[name])
		if err != nil {
			failed++
			a.failure(err)
		}
		done += len(ids)
		for _, id := range ids {
			a.printf("added storage %s to %s\n", id, unit)
		}
	}
	return a.afterEach(done, failed)
}
