package cli

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/charmdir"
)

func (a testVerbs) packCmd() *cobra.Command {
	var output, base string
	cmd := &cobra.Command{
		Use:   "pack [DIR]",
		Short: "Write a charm as one .charm file",
		Long: `Write the charm in a directory (the current one) as NAME.charm, which "unitd deploy"
and Juju's own tools take. What a source tree lacks to run is made first: the
dispatch, and the Python packages that it asks for, for this machine's Python and
processor. The same tree and packages give the same bytes.`,
		Example: `  unitd pack
  unitd pack ./my-charm -o build/my-charm.charm
  unitd pack ./ledger --base ubuntu@24.04`,
		Args: Args(0, 1, ""),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.packTo(dir, output, base)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the file to write (NAME.charm in the current directory)")
	cmd.Flags().StringVar(&base, "base", "", "what it runs on, instead of what charmcraft.yaml says: as ubuntu@24.04")
	return cmd
}

func (a testVerbs) packTo(dir, output, base string) error {
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return Usagef("%s is not a directory: only an unpacked charm can be packed", dir)
	}
	var given []charmdir.Base
	if base != "" {
		b, err := charmdir.ParseBase(base, runtime.GOARCH)
		if err != nil {
			return Usagef("%v", err)
		}
		given = append(given, b)
	}
	charm, err := charmdir.Read(dir)
	if err != nil {
		return err
	}
	// Nothing here needs these, but Juju refuses charms that lack one.
	for _, must := range [][2]string{{"summary", charm.Summary}, {"description", charm.Description}} {
		if strings.TrimSpace(must[1]) == "" {
			return errors.NewNotValid(nil, fmt.Sprintf("cannot pack charm %s: it has no %s, and Juju's tools want one", dir, must[0]))
		}
	}
	if output == "" {
		output = charm.Name + ".charm"
	}
	if st, err := os.Stat(output); err == nil && !st.Mode().IsRegular() {
		return Usagef("%s is no file that could be written anew", output)
	}
	err = charm.AddManifest(runtime.GOARCH, given...)
	if host, herr := charmdir.ParseBase(hostBase(), runtime.GOARCH); errors.Is(err, errors.NotFound) && herr == nil {
		err = charm.AddManifest(runtime.GOARCH, host)
	}
	if err != nil {
		return err
	}
	charm.Portable()
	p, err := a.PackFor(charm, agent.HooksAnywhere())
	if err != nil {
		return err
	}
	defer p.Drop()
	if err := p.WriteTo(output); err != nil {
		return errors.Annotatef(err, "cannot write %s", output)
	}
	a.Note("Packed %s", output)
	return nil
}

// hostBase is this machine's base; empty where it runs what charms don't have
// for one.
func hostBase() string {
	data, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return ""
	}
	said := map[string]string{}
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		said[key] = strings.Trim(value, `"'`)
	}
	if said["ID"] != "ubuntu" {
		return ""
	}
	return "ubuntu@" + said["VERSION_ID"]
}
