package cli

import (
	"slices"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/terminal"
)

// watchFlag is the flag --watch: whether the status is shown again at each change,
// and how often at least.
type watchFlag struct {
	on    bool
	every time.Duration // 0: only at changes
}

// Set is part of pflag.Value. A duration of nothing is no watching.
func (w *watchFlag) Set(text string) error {
	every, err := time.ParseDuration(text)
	switch {
	case text == watchAlways:
		*w = watchFlag{on: true}
	case err != nil || every < 0:
		return errors.New("expected a duration like 5s")
	default:
		*w = watchFlag{on: every > 0, every: every}
	}
	return nil
}

// String is part of pflag.Value.
func (w *watchFlag) String() string {
	switch {
	case !w.on:
		return ""
	case w.every == 0:
		return watchAlways
	}
	return w.every.String()
}

// Type is part of pflag.Value.
func (w *watchFlag) Type() string { return "duration" }

// watchAlways is the value of --watch that has none.
const watchAlways = "at each change"

// withInterval gives --watch of "status" the word behind it as its value, if that
// is a duration: Juju's has to have one, and unitd's can do without.
func withInterval(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd.Name() != "status" {
		return args
	}
	for i := 0; i+1 < len(args) && args[i] != "--"; i++ {
		if _, err := time.ParseDuration(args[i+1]); err == nil && args[i] == "--watch" {
			return slices.Concat(args[:i], []string{"--watch=" + args[i+1]}, args[i+2:])
		}
	}
	return args
}

// watchStatus shows the status at each change, and as often as it is to, until
// the context ends. A terminal shows one in the place of the other.
func (a statusVerbs) watchStatus(m *state.Model, selectors []string, f statusFlags) error {
	watch, err := m.Watch(a.Context(), 0)
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		s, err := a.See(m)
		switch {
		case err != nil:
			return err
		case terminal.Is(a.Out):
			a.printf("\x1b[H\x1b[2J")
		case !first:
			a.printf("\n")
		}
		if err := a.showStatus(m, s, selectors, f); err != nil {
			return err
		}
		if a.failed.Load() != nil {
			return nil // nobody can see it any more
		}
		var again <-chan time.Time
		if f.watch.every > 0 {
			again = time.After(f.watch.every)
		}
		select {
		case _, more := <-watch:
			if !more {
				return nil
			}
		case <-again:
		}
	}
}
