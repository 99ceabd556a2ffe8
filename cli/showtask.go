package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

func (a taskVerbs) showTaskCmd() *cobra.Command {
	var format, output string
	var wait time.Duration
	cmd := &cobra.Command{
		Use:     "show-task ID",
		Short:   "Show an action or commands, with the results",
		Example: "  unitd show-task 2\n  unitd show-task 2 --wait 1m --format json",
		Args:    Args(1, 1, "no task ID specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			t, err := m.Task(a.Context(), args[0])
			if err != nil {
				return err
			}
			if wait > 0 && !t.Status.Ended() {
				tasks, err := a.waitForTasks(m, args, wait, nil)
				if err != nil {
					return err
				}
				t = tasks[0]
			}
			if format == "plain" {
				return a.printTasks(format, output, []state.TaskDoc{t})
			}
			out := render.TaskOf(t)
			if t.Kind == state.ActionTask {
				out.Action = &render.TaskAction{Name: t.Action, Parameters: t.Params}
			}
			return a.write(format, output, out)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait this long for the task to end")
	cmd.Flags().StringVar(&format, "format", "yaml", "plain, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file instead")
	formats(cmd, "plain", "json", "yaml")
	return cmd
}
