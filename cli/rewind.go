package cli

import (
	"cmp"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
)

func (a testVerbs) rewindCmd() *cobra.Command {
	var run int64
	cmd := &cobra.Command{
		Use:   "rewind UNIT --to RUN",
		Short: "Say how a scenario goes back to the moment after a hook run",
		Long: `Go back to the moment right after a run of a unit's hook. That works in test
worlds only, where everything is in one place and nothing outside follows from it:
in a scenario, "keep-runs" keeps the world after each hook run from there on, and
"rewind UNIT N" makes the whole world as it was after run N of the unit.

Here this command only says so. "unitd history UNIT --files" shows which files a
hook has changed, and "unitd backup" keeps a whole data directory.`,
		Example: "  unitd rewind ledger/0 --to 12",
		Args:    Args(1, 1, "no unit specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := unitNames(args); err != nil {
				return err
			}
			if run < 1 {
				return Usagef("expected --to with the number of a run")
			}
			if _, inWorld, err := agent.LabTime(); err != nil || inWorld {
				return cmp.Or(err, errors.Errorf(`in a scenario, "rewind %s %d" is a command of the script, after "keep-runs"`, args[0], run))
			}
			return errors.New(`rewind works in test worlds only: in a scenario, "keep-runs" and then "rewind UNIT N"`)
		},
	}
	cmd.Flags().Int64Var(&run, "to", 0, "the number of the run to go back to")
	return cmd
}
