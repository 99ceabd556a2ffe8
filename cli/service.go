package cli

import (
	"os"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/service/units"
)

func (a agentVerbs) serviceCmd() *cobra.Command {
	user := false
	cmd := &cobra.Command{
		Use:   "service [NAME]",
		Short: "Print the unit files by which systemd runs the agent and the page",
		Long: `Print a unit file for systemd, with the paths of this program and of this data
directory. unitd.service runs the agent, and unitd@.service an agent for each user.
unitd-ui.socket and unitd-ui.service run the page of "unitd ui". Without a name, the
command prints unitd.service. The Debian package already has these files.

With --user, the file is for your own service manager, which runs the agent as you.`,
		Example: `  sudo UNITD_DATA=/var/lib/unitd unitd service > /etc/systemd/system/unitd.service
  unitd service --user > ~/.config/systemd/user/unitd.service`,
		Args:      Args(0, 1, ""),
		ValidArgs: units.Names(),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.service(append(args, "unitd.service")[0], user)
		},
	}
	cmd.Flags().BoolVar(&user, "user", false, "for the service manager of a user: systemctl --user")
	return cmd
}

func (a agentVerbs) service(name string, user bool) error {
	file, ok := units.File(name)
	switch {
	case !ok:
		return Usagef("there is no unit file %q: give one of %s", name, strings.Join(units.Names(), ", "))
	case user && name == "unitd@.service":
		return Usagef("unitd@.service is for root's service manager: leave out --user")
	}
	program, err := os.Executable()
	if err != nil {
		return errors.Annotate(err, "cannot tell where this program is")
	}
	dir, err := agent.DataDirPath()
	if err != nil {
		return err
	}
	if name == "unitd@.service" {
		dir = units.Data // each of them has its own
	}
	a.printf("%s", units.At(file, program, dir, user))
	return nil
}
