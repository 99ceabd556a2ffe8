package cli

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/script/labagent"
)

// labCmd is the agent of a test world; see package script/lab. It is not for
// people, who have "unitd test".
func (a agentVerbs) labCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "lab SOCKET",
		Short:   "Run the agent of a test world",
		Example: "  UNITD_NOW=2026-01-01T00:00:00Z unitd lab /tmp/lab.socket",
		Hidden:  true,
		Args:    Args(1, 1, "no socket specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			rebooting, err := labagent.Serve(a.Context(), a.Host, a.Err, args[0])
			if rebooting {
				return Exit(lab.Rebooting)
			}
			return err
		},
	}
}
