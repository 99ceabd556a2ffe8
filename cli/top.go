package cli

import (
	"context"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/terminal"
	"github.com/unitd/unitd/top"
)

func (a statusVerbs) topCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Show the model in this terminal, as it is and as it changes",
		Long: `Show the model's units and what they are doing. Below them, show the newest hook
runs, the log, or a timeline. Press Ctrl-C or q to end it.

Keys: up and down choose a unit. Tab switches between hook runs, log and timeline.
f shows only what concerns the chosen unit. + and - zoom the timeline. / filters
units by words in their names and statuses.`,
		Example: "  unitd top\n  unitd top --model staging",
		Args:    Args(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return a.top() },
	}
}

func (a statusVerbs) top() error {
	if !terminal.Is(a.Out) || !terminal.Is(a.In) {
		return Usagef(`"unitd top" needs a terminal: "unitd status" prints what there is, "unitd status --watch" each change`)
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	dir, err := agent.DataDir()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(a.Context())
	defer stop()
	view := a.view(m, dir)
	p := tea.NewProgram(top.New(time.Now, terminal.Colourful(a.Out)), tea.WithContext(ctx), tea.WithInput(a.In), tea.WithOutput(a.Out), tea.WithoutSignalHandler())
	var over sync.WaitGroup
	over.Go(func() {
		if err := view.Run(ctx); ctx.Err() == nil {
			p.Send(top.Ended{Err: err})
		}
	})
	watcher, end := view.Watch()
	over.Go(func() {
		defer end()
		for {
			e, err := watcher.Next(ctx)
			if err != nil {
				return
			}
			p.Send(e)
		}
	})
	last, err := p.Run()
	stop()
	over.Wait()
	if a.Context().Err() != nil {
		return errors.Trace(a.Context().Err())
	}
	if s, ok := last.(top.Screen); ok && s.Err() != nil {
		return s.Err()
	}
	return errors.Trace(err)
}
