package script

import (
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/state"
)

// timeCommands let a world do what is due, and time pass.
func timeCommands() []Cmd {
	return []Cmd{
		{Name: "settle", Args: "[HOOKS]", Summary: "wait until nothing is left to do; fails if a unit is in error, or if hooks go on after that many", run: (*call).settle_},
		{Name: "run-hooks", Args: "N", Summary: "let so many hooks run, or fewer where fewer are due, and then hold the world", run: (*call).runHooks},
		{Name: "order", Args: "SEED", Summary: "have units run their hooks in an order left to chance, the same for the same seed; 0: by turns", run: (*call).order},
		{Name: "advance", Args: "[--skip-update-status] DURATION", Summary: "let time pass: update-status, retries and leases come due in their order; by the flag an update-status that changes nothing stands for those that follow it", run: (*call).advance_},
		{Name: "restart-agent", Summary: "end the agent in good order, if it hasn't ended, and start another one", run: (*call).restartAgent},
		{Name: "stop-agent", Summary: "end the agent in good order", run: (*call).stopAgent},
	}
}

func (c *call) none() error {
	if len(c.args) > 0 {
		return c.usagef("%s takes no arguments", c.cmd.Name)
	}
	return nil
}

func (c *call) settle_() error {
	wait := c.settle
	if len(c.args) == 1 {
		n, err := strconv.Atoi(c.args[0])
		if err != nil || n < 1 {
			return c.usagef("%q is not a number of hooks", c.args[0])
		}
		wait = func() error { return c.within(n) }
	} else if err := c.none(); err != nil {
		return err
	}
	m, err := c.model()
	if err != nil {
		return err
	}
	settled := c.let(wait)
	if gone, err := isGone(c.ctx, m); err != nil || gone {
		return err
	}
	if settled != nil {
		return c.explained(settled)
	}
	failed, err := c.inError(m)
	if err != nil {
		return err
	}
	found, err := c.untold()
	if err != nil {
		return err
	}
	if failed = append(failed, found...); len(failed) == 0 {
		return nil
	}
	return c.explained(errors.New(strings.Join(failed, "\n")))
}

func (c *call) runHooks() error {
	if len(c.args) != 1 {
		return c.usagef("expected how many")
	}
	n, err := strconv.Atoi(c.args[0])
	if err != nil || n < 1 {
		return c.usagef("%q is not a number of hooks", c.args[0])
	}
	if c.ran != nil {
		return c.let(func() error {
			_, err := c.byRuns(n)
			return err
		})
	}
	if _, err := c.tell(lab.Request{Limit: &n}); err != nil {
		return err
	}
	err = c.let(c.untilPaused)
	none := -1
	if _, rerr := c.running(); rerr == nil {
		if _, terr := c.tell(lab.Request{Limit: &none}); err == nil {
			err = terr
		}
	}
	return err
}

// within is settle, for no longer than so many hooks take. The agent has been let go.
func (c *call) within(n int) error {
	if c.ran != nil {
		paused, err := c.byRuns(n)
		if err == nil && paused {
			err = errors.Errorf("not settled after %d hooks", n)
		}
		return err
	}
	if _, err := c.tell(lab.Request{Limit: &n}); err != nil {
		return err
	}
	none := -1
	err := c.untilPaused()
	var answer lab.Answer
	if err == nil {
		answer, err = c.tell(lab.Request{})
	}
	if err != nil {
		if _, rerr := c.running(); rerr == nil {
			_, _ = c.tell(lab.Request{Limit: &none}) // what failed is told
		}
		return err
	}
	if answer.Paused {
		// It stands still until "let" holds it: it isn't let go once more.
		hold := true
		if _, err := c.tell(lab.Request{Hold: &hold}); err != nil {
			return err
		}
	}
	if _, err := c.tell(lab.Request{Limit: &none}); err != nil {
		return err
	}
	if answer.Paused {
		return errors.Errorf("not settled after %d hooks", n)
	}
	return c.settle() // an agent that was rebooted counts no more
}

func (c *call) order() error {
	if len(c.args) != 1 {
		return c.usagef("expected a seed")
	}
	seed, err := strconv.ParseUint(c.args[0], 10, 64)
	if err != nil {
		return c.usagef("%q is not a seed", c.args[0])
	}
	if _, err = c.tell(lab.Request{Order: &seed}); err == nil {
		c.chosen = &seed
	}
	return err
}

// recallWishes tells an agent that has just started how it is to run hooks.
func (w *world) recallWishes() error {
	var wishes []lab.Request
	if w.twice {
		wishes = append(wishes, lab.Request{Twice: &w.twice})
	}
	if w.chosen != nil {
		wishes = append(wishes, lab.Request{Order: w.chosen})
	}
	for _, wish := range wishes {
		if _, err := w.tell(wish); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) advance_() error {
	// By hand: package flag takes -5m for a flag.
	args, skip := c.args, false
	if len(args) > 0 && strings.TrimLeft(args[0], "-") == "skip-update-status" {
		args, skip = args[1:], true
	}
	if len(args) != 1 {
		return c.usagef("expected how long")
	}
	d, err := time.ParseDuration(args[0])
	if err != nil || d <= 0 {
		return c.usagef("%q is not a duration like 90s, 5m or 2h", args[0])
	}
	return c.let(func() error { return c.advance(c.ts, d, skip) })
}

func (c *call) restartAgent() error {
	if err := c.none(); err != nil {
		return err
	}
	// A fault that is still to end the agent comes first.
	if a, err := c.running(); err == nil {
		if answer, err := c.tell(lab.Request{}); err == nil && answer.Kills {
			if err := c.let(func() error { return c.awaitEnd(a) }); err != nil {
				return err
			}
		}
	}
	c.stop(syscall.SIGTERM)
	return c.start()
}

// askAlone asks the world's only model whether all is settled. The error says why that isn't known: there are
// more, or the store is out of reach.
func (c *call) askAlone() (m *state.Model, asked int64, err error) {
	infos, err := c.models.Models(c.ctx)
	if err != nil || len(infos) != 1 {
		return nil, 0, errors.Errorf("there are %d models (%v)", len(infos), err)
	}
	m = c.models.Open(infos[0])
	asked, err = m.AskSettled(c.ctx)
	return m, asked, errors.Trace(err)
}

// awaitEnd waits until a fault has ended the agent. If that finds nothing to do any more, none will.
func (c *call) awaitEnd(a *agent) error {
	late := time.After(c.patience)
	m, asked, aerr := c.askAlone()
	for {
		select {
		case <-a.ended:
			c.gone(a)
			return nil
		case <-time.After(50 * time.Millisecond):
			// What comes before it in the hook may have to be done.
			answer, err := c.tell(lab.Request{})
			if err != nil {
				continue // it ends
			}
			if carried, err := c.carryOut(answer); errors.Is(err, errDeedFailed) {
				return err
			} else if carried {
				m, asked, aerr = c.askAlone()
			}
			if aerr != nil || !answer.Kills {
				continue
			}
			if settled, err := m.Settled(c.ctx, asked); err == nil && settled {
				return misuse{errors.New("the agent was to be killed, and has nothing left to do in which it would be")}
			}
		case <-late:
			return misuse{errors.Errorf("the agent was to be killed, and is not after %s", c.patience)}
		case <-c.ctx.Done():
			return errors.Trace(c.ctx.Err())
		}
	}
}

func (c *call) stopAgent() error {
	if err := c.none(); err != nil {
		return err
	}
	c.stop(syscall.SIGTERM)
	return nil
}
