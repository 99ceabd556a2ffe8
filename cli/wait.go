package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/terminal"
)

// waiting is the verb wait, and what others need that wait for something.
type waiting struct{ base }

func (a waiting) waitCmd() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait",
		Short: "Wait until nothing is left to do",
		Long: `Wait until all that the model asks for is done: every unit has run the hooks that
were due, its containers are up, and what was removed is gone. A unit in error
waits for a person and counts as done. So do a container that can't be started and
a failed hook of a container, although they are tried again. The command then fails
and names them. A unit whose agent is lost isn't done: the command waits until the
agent is back, or until --timeout.`,
		Example: "  unitd deploy ./ledger && unitd wait --timeout 2m",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			if err := a.Ensure(); err != nil {
				return err
			}
			ctx := a.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			if err := a.settle(ctx, m, nil); err != nil {
				if errors.Is(err, context.DeadlineExceeded) {
					return a.timedOut(m, timeout)
				}
				return err
			}
			return a.failIfInError(m)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this long, as 90s or 5m (0: never)")
	return cmd
}

// settle waits until the agent has done all that the model asks for. ended
// tells when an agent in this process has ended; nil: it is another process, here
// or on another host.
func (a waiting) settle(ctx context.Context, m *state.Model, ended chan error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := m.Watch(ctx, 0)
	if err != nil {
		return err
	}
	rev, err := m.AskSettled(ctx)
	if err != nil {
		return err
	}
	w := newAwaited(m)
	wake(w, changes)
	err = a.await(ctx, w, ended, func() (bool, error) {
		if done, err := m.Settled(ctx, rev); err != nil || !done {
			return false, err
		}
		return a.hasTold(ctx, m)
	})
	if errors.Is(err, errAgentEnded) {
		return fmt.Errorf("%w; \"unitd wait\" starts another one", err)
	}
	return err
}

// errAgentEnded marks that there is no agent any more to wait for.
const errAgentEnded = errors.ConstError("the agent has ended")

// hasTold says whether the agent here could write all that it has to say of the
// model's units to the store. One that doesn't answer is asked again.
func (a waiting) hasTold(ctx context.Context, m *state.Model) (bool, error) {
	w, err := a.Word(ctx)
	if errors.Is(err, machine.ErrSilent) {
		return false, nil
	}
	return w.Told(m.UUID()), err
}

// wordInterval is how often the agent is asked while somebody waits for it.
const wordInterval = time.Second

// awaited is a model that somebody waits for.
type awaited struct {
	model *state.Model
	woken chan struct{} // has room for one: "look again"
}

func newAwaited(m *state.Model) *awaited { return &awaited{model: m, woken: make(chan struct{}, 1)} }

// wake has whatever comes from a watch be a reason to look again.
func wake[T any](w *awaited, watch <-chan T) {
	go func() {
		for range watch {
			select {
			case w.woken <- struct{}{}:
			default:
			}
		}
	}()
}

// await waits until done says so, which it asks at each change, and shows on a
// terminal what for. ended is that of settle; once the agent has ended nothing
// will come of itself, and the error says so.
func (a waiting) await(ctx context.Context, w *awaited, ended chan error, done func() (bool, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	here := ended == nil
	if here {
		ended = make(chan error, 1)
	}
	if here && !a.ServedElsewhere() {
		go func() {
			err := agent.WaitForEnd(ctx)
			if err == nil {
				err = errAgentEnded
			}
			ended <- err
		}()
	}
	progress := a.progress(w.model)
	defer progress.end()
	// What an agent can't write to the store doesn't come by the watch.
	look := time.NewTicker(wordInterval)
	defer look.Stop()
	said := ""
	for {
		if ok, err := done(); err != nil || ok {
			return err
		}
		progress.show()
		select {
		case <-w.woken:
		case <-look.C:
			if word, err := a.Word(ctx); err == nil && word.Trouble != said {
				if said = word.Trouble; said != "" {
					progress.end()
					a.Note("the agent can't write to the store, and tries again: %s", said)
				}
			}
		case err := <-ended:
			ended <- err // for others who ask
			if ok, _ := done(); ok {
				return nil // it was the last that the agent did
			}
			return err
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		}
	}
}

// failIfInError is the error of a model that has settled with units in error, or
// with something of containers that has failed.
func (a waiting) failIfInError(m *state.Model) error {
	s, err := a.See(m)
	if err != nil {
		return err
	}
	statusWithAuthors(s, a.sources(m))
	return settledWith(s, true)
}

func (a waiting) timedOut(m *state.Model, timeout time.Duration) error {
	busy := "the agent has not looked yet"
	if s, err := a.See(m); err == nil {
		for _, app := range s.Applications {
			for _, u := range app.Units {
				if u.Agent.Status != model.StatusIdle {
					busy = strings.TrimSpace(fmt.Sprintf("%s is %s %s", u.Name, u.Agent.Status, u.Agent.Message))
				} else if c := coming(u); c != "" {
					busy = fmt.Sprintf("%s waits for %s", u.Name, c)
				}
			}
		}
	}
	return errors.Errorf("not settled after %s: %s", timeout, busy)
}

// coming is the first container of a unit that is coming up; empty: none is.
func coming(u state.UnitView) string {
	if u.Fetching != "" {
		return strings.TrimPrefix(u.Fetching, "fetching ")
	}
	for _, c := range u.Containers.Containers {
		if c.Coming() {
			return fmt.Sprintf("container %s (%s)", c.Name, c.State)
		}
	}
	if n := u.Containers.Next; n != nil && n.Fault == "" {
		return fmt.Sprintf("the next image of container %s: %s", n.Container, n.Image)
	}
	return ""
}

// progress shows on a terminal what a long wait is waiting for, in one line.
type progress struct {
	a     base
	model *state.Model
	on    bool
}

func (a waiting) progress(m *state.Model) *progress {
	return &progress{a: a.base, model: m, on: terminal.Is(a.Err)}
}

func (p *progress) show() {
	if !p.on {
		return
	}
	s, err := p.a.See(p.model)
	if err != nil {
		return
	}
	var busy []string
	for _, app := range s.Applications {
		for _, u := range app.Units {
			if u.Agent.Status != model.StatusIdle {
				busy = append(busy, string(u.Name)+" "+strings.TrimSuffix(strings.TrimPrefix(u.Agent.Message, "running "), " hook"))
			} else if c := coming(u); c != "" {
				busy = append(busy, string(u.Name)+" "+c)
			}
		}
	}
	line := "waiting for " + strings.Join(busy, ", ")
	if len(line) > 78 {
		line = line[:75] + "..."
	}
	fmt.Fprintf(p.a.Err, "\r\x1b[K%s", line)
}

func (p *progress) end() {
	if p.on {
		fmt.Fprint(p.a.Err, "\r\x1b[K")
	}
}
