package cli

import (
	"io"
	"os"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/state"
)

// modelCmd has what is done with a model as a file.
func (a modelVerbs) modelCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "model",
		Short: "Write a whole model to a file, or read it into another store",
		Long: `Write the whole model to a file, or read one: so a model moves between SQLite and
etcd, or to another cluster. It keeps its name and its UUID, so its units' directories
go on being theirs. Secrets stay sealed: the other host needs the same keys
(secret.key, or ` + agent.SecretKeyVariable + `).

End the agents of the model first: what they do after the export isn't in the file.`,
		Example: "  unitd shutdown\n  unitd model export shop.model\n  unitd model import shop.model --store etcd://host:2379/unitd",
		Args:    Args(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var incomplete bool
	read := &cobra.Command{
		Use:     "import FILE",
		Short:   "Read a model from a file (-: standard input)",
		Example: "  unitd model import shop.model --store etcd://host:2379/unitd",
		Args:    Args(1, 1, "no file specified"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.importModel(args[0], incomplete) },
	}
	read.Flags().BoolVar(&incomplete, "incomplete", false, "take a model that \"unitd store check --repair\" has written although it lacks something")
	cmd.AddCommand(&cobra.Command{
		Use:     "export FILE",
		Short:   "Write the model to a new file (-: standard output)",
		Example: "  unitd model export shop.model\n  unitd model export - --model shop | gzip > shop.gz",
		Args:    Args(1, 1, "no file specified"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.exportModel(args[0]) },
	}, read)
	return cmd
}

func (a modelVerbs) exportModel(path string) (err error) {
	m, err := a.model()
	if err != nil {
		return err
	}
	if path == "-" {
		return m.Export(a.Context(), a.Out)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Annotate(err, "cannot export the model")
	}
	defer func() {
		if closed := f.Close(); err == nil && closed != nil {
			err = errors.Annotate(closed, "cannot export the model")
		}
		if err != nil {
			_ = os.Remove(path) // a part of a model is none
		}
	}()
	if err := m.Export(a.Context(), f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return errors.Annotate(err, "cannot export the model")
	}
	a.Note("Exported model %q to %s", m.Name(), path)
	return nil
}

func (a modelVerbs) importModel(path string, incomplete bool) error {
	var in io.Reader = a.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return errors.Annotate(err, "cannot import a model")
		}
		defer f.Close()
		in = f
	}
	c, err := a.Open()
	if err != nil {
		return err
	}
	m, err := c.Import(a.Context(), in, incomplete)
	if errors.Is(err, state.ErrIncomplete) {
		return errors.Errorf("cannot read %s: %v: --incomplete takes it as it is", path, err)
	}
	if err != nil {
		return errors.Annotatef(err, "cannot read %s", path)
	}
	a.Note("Imported model %q; \"unitd switch %s\" makes it the current one", m.Name(), m.Name())
	return nil
}
