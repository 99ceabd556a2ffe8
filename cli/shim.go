package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/juju/errors"
	"github.com/spf13/cobra"
)

func (a agentVerbs) jujuShimCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "juju-shim DIR",
		Short: "Put a program called juju, which is unitd, into a directory",
		Long: `Put a link called juju to this program into a directory, for tests and scripts that
call juju. The directory is made if there is none. Another program of that name stays
as it is: the command fails.

The PATH must have the directory before that of another juju; a line says where it
has not.`,
		Example: "  unitd juju-shim ~/.local/share/unitd/bin\n  PATH=~/.local/share/unitd/bin:$PATH pytest tests/integration",
		Args:    Args(1, 1, "no directory specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return errors.Trace(err)
			}
			path, err := putShim(args[0], self)
			if err != nil {
				return err
			}
			a.printf("%s\n", path)
			if !slices.Contains(filepath.SplitList(os.Getenv("PATH")), filepath.Dir(path)) {
				a.Note("PATH doesn't have it: put %s at its beginning", filepath.Dir(path))
			}
			return nil
		},
	}
}

// putShim puts the link to the program into the directory, and says where it is. What is
// called so and isn't this program is left alone: the error is AlreadyExists.
func putShim(dir, program string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", errors.Trace(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", errors.Annotate(err, "cannot make the directory")
	}
	path := filepath.Join(dir, jujuName)
	if _, err := os.Lstat(path); err == nil {
		there, statErr := os.Stat(path)
		own, err := os.Stat(program)
		if err == nil && statErr == nil && os.SameFile(there, own) {
			return path, nil
		}
		return "", errors.NewAlreadyExists(nil, fmt.Sprintf("%s is another program: remove it, or choose another directory", path))
	}
	return path, errors.Annotate(os.Symlink(program, path), "cannot put juju there")
}
