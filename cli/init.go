package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/starter"
)

func (a testVerbs) initCmd() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write the first tests of a charm, and the workflow that runs them",
		Long: `In a charm's repository, write a scenario for "unitd test", a file of tests for pytest,
and a workflow for GitHub that runs both, made from what the charm's metadata says. They
are ready to run, and for you to go on from. A file that is there is left alone.`,
		Example: "  unitd init && unitd test ./tests\n  unitd init ./my-charm --dry-run",
		Args:    Args(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.start(dir, dry)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be written, and write nothing")
	return cmd
}

// start writes the first tests of the charm in a directory.
func (a testVerbs) start(dir string, dry bool) error {
	if !hasCharm(dir) {
		return errors.NewNotFound(nil, fmt.Sprintf("%s is no charm's repository, as it has neither charmcraft.yaml nor metadata.yaml: run this in one, or name its directory", shownDir(dir)))
	}
	charm, err := charmdir.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, file := range starter.Files(charm.Charm, agent.Built().Release()) {
		path := filepath.Join(dir, file.Path)
		_, err := os.Lstat(path)
		switch {
		case err == nil:
			a.printf("left alone: %s, which is there\n", path)
			continue
		case !os.IsNotExist(err):
			return errors.Annotate(err, "cannot write the first tests")
		case dry:
			a.printf("would write: %s\n", path)
			continue
		}
		if err := writeNew(path, file.Text); err != nil {
			return errors.Annotate(err, "cannot write the first tests")
		}
		a.printf("wrote: %s\n", path)
	}
	return nil
}

// shownDir is a directory as people are told of it.
func shownDir(dir string) string {
	if dir == "." {
		return "this directory"
	}
	return dir
}

func hasCharm(dir string) bool {
	for _, name := range []string{"charmcraft.yaml", "metadata.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// writeNew writes a file that isn't there, with the directories above it.
func writeNew(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
