package cli

import (
	"os"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/bundle"
	"github.com/unitd/unitd/state"
)

// exportBundleCmd is export-bundle. Source: docs/spec/juju-clients.md §13.3.
func (a charmVerbs) exportBundleCmd() *cobra.Command {
	var file string
	var o bundle.ExportOptions
	cmd := &cobra.Command{
		Use:   "export-bundle",
		Short: "Print the model as a bundle, which deploy makes again",
		Long: `Print the model as a bundle: its applications with what was set of them, their
machines, and how they are related. deploy makes the same of it in another model of
this store. Elsewhere it needs the paths of local charms, which a model doesn't know.`,
		Example: "  unitd export-bundle > shop.yaml\n  unitd export-bundle --filename shop.yaml",
		Args:    Args(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return a.exportBundle(file, o) },
	}
	cmd.Flags().StringVar(&file, "filename", "", "write to this file")
	cmd.Flags().BoolVar(&o.Defaults, "include-charm-defaults", false, "options that nobody has set, too")
	cmd.Flags().BoolVar(&o.Series, "include-series", false, "the names that bases had before, too")
	return cmd
}

func (a charmVerbs) exportBundle(file string, o bundle.ExportOptions) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	p, err := a.picture(m)
	if err != nil {
		return err
	}
	text, err := bundle.Export(p, o)
	if err != nil {
		return err
	}
	for _, line := range p.Unsaid() {
		a.Note("%s", line)
	}
	if file == "" {
		a.printf("%s", text)
		return nil
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return errors.Annotate(err, "cannot write the bundle")
	}
	a.printf("Bundle successfully exported to %s\n", file)
	return nil
}

// picture is what a model is, as far as bundles can say it.
func (a charmVerbs) picture(m *state.Model) (bundle.Picture, error) {
	base, err := a.BaseOf(m)
	if err != nil {
		return bundle.Picture{}, err
	}
	return bundle.Look(a.Context(), m, base)
}
