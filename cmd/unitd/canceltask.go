package main

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/cli"
)

func (a *app) cancelTaskCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel-task ID …",
		Short: "Cancel actions or commands",
		Long: `Cancel tasks. One that waits is not run; one that runs is ended, with all processes
that it has started, and what it wrote is dropped.`,
		Example: "  unitd cancel-task 2\n  unitd cancel-task 4 5",
		Args:    args(1, -1, "no task IDs specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			failed := false
			for _, id := range args {
				t, err := m.CancelTask(a.ctx, id)
				if err != nil {
					failed = true
					a.failure(err)
					continue
				}
				a.printf("task %s: %s\n", id, t.Status)
			}
			if failed {
				return cli.Exit(cli.Failed)
			}
			return a.ensureAgent()
		},
	}
}
