package cli

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/debugger/session"
)

// debugWindowCmd is the program of a hook's window.
func (a insideVerbs) debugWindowCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "debug-window SOCKET",
		Short:  "Run one hook for debug-hooks",
		Hidden: true,
		Args:   Args(1, 1, "no socket specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			return session.Window(a.Context(), args[0], a.In, a.Out, a.Err)
		},
	}
}
