package cli

import (
	"github.com/spf13/cobra"
)

func (a taskVerbs) cancelTaskCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel-task ID …",
		Short: "Cancel actions or commands",
		Long: `Cancel tasks. One that waits is not run; one that runs is ended, with all processes
that it has started, and what it wrote is dropped.`,
		Example: "  unitd cancel-task 2\n  unitd cancel-task 4 5",
		Args:    Args(1, -1, "no task IDs specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			done, failed := 0, 0
			for _, id := range args {
				t, err := m.CancelTask(a.Context(), id)
				if err != nil {
					failed++
					a.failure(err)
					continue
				}
				done++
				a.printf("task %s: %s\n", id, t.Status)
			}
			return a.afterEach(done, failed)
		},
	}
}
