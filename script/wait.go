package script

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/state"
)

// patience is how long, in real time, a world may take to do what is due. The time
// in which more and more of an image comes from afar doesn't count.
const patience = 2 * time.Minute

// patiently is a context that ends after that time, counted from when more was last
// called with another number than before.
func patiently(ctx context.Context, wait time.Duration) (bounded context.Context, more func(int64), cancel func()) {
	bounded, end := context.WithCancel(ctx)
	timer := time.AfterFunc(wait, end)
	var before int64
	more = func(now int64) {
		if now != before && bounded.Err() == nil {
			before = now
			timer.Reset(wait)
		}
	}
	return bounded, more, func() { timer.Stop(); end() }
}

// let lets the agent go on for as long as fn takes. At all other times it
// stands still, so that what a script changes between two waits is one change
// for it, whatever the machine is busy with.
func (w *world) let(fn func() error) error {
	hold := func(hold bool) error {
		_, err := w.tell(lab.Request{Hold: &hold})
		return err
	}
	before, err := w.picture()
	if err != nil {
		return err
	}
	logs, err := w.logs()
	if err != nil {
		return err
	}
	if err := hold(false); err != nil {
		return err
	}
	began := time.Now()
	err = fn()
	took := time.Since(began)
	if _, rerr := w.running(); rerr == nil {
		if herr := hold(true); err == nil {
			err = herr
		}
	}
	after, perr := w.picture()
	w.change = &change{before, after, took, logs}
	if err == nil {
		err = perr
	}
	return err
}

// logs are where the logs of the models end.
func (w *world) logs() (map[string]debuglog.Spot, error) {
	infos, err := w.models.Models(w.ctx)
	if err != nil {
		return nil, err
	}
	ends := map[string]debuglog.Spot{}
	for _, info := range infos {
		if ends[info.UUID], err = debuglog.End(machine.LogPath(w.dir, info.UUID)); err != nil {
			return nil, err
		}
	}
	return ends, nil
}

// picture is how the model in focus looks; empty where there is none.
func (w *world) picture() (model.Picture, error) {
	m, err := w.model()
	if errors.Is(err, errors.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return m.Picture(w.ctx)
}

// settle waits until nothing is left to do. The agent has been let go.
func (w *world) settle() error {
	if w.ran == nil {
		return w.until(false)
	}
	_, err := w.byRuns(-1)
	return err
}

// untilPaused waits until as many hooks have run as may, or nothing is left to
// do.
func (w *world) untilPaused() error { return w.until(true) }

func (w *world) until(pause bool) error {
	wait := w.patience
	if w.hurry != nil {
		wait = min(wait, cmp.Or(w.hurry(), wait))
	}
	if w.troubled {
		wait = patience / 20
	}
	ctx, more, cancel := patiently(w.ctx, wait)
	defer cancel()
	a, err := w.running()
	if err != nil {
		return err
	}
	m, err := w.model()
	if err != nil {
		return err
	}
	watch, err := m.Watch(ctx, 0)
	if err != nil {
		return err
	}
	all, err := w.inquire(ctx)
	if err != nil {
		return err
	}
	var last lab.Answer
	var moved int64 // how often the model has, while the agent was troubled: it does something
	began := time.Now()
	for {
		done, err := all.settled(ctx)
		if ctx.Err() != nil {
			return w.unsettled(last, wait)
		}
		if err != nil || done {
			w.troubled = w.troubled && !done
			return err
		}
		answer, err := w.tell(lab.Request{})
		if err == nil {
			last = answer
			more(answer.Fetched + moved)
			done, err := w.carryOut(answer)
			if err == nil && done {
				err = all.ask(ctx) // what follows from it as well
			}
			if err != nil {
				return err
			}
		}
		switch {
		case err == nil && pause && answer.Paused:
			return nil
		case err == nil:
			if err := all.standing(ctx, answer); err != nil {
				return err
			}
		}
		// An agent that pauses, stands still or has failed writes nothing: it has to be
		// asked.
		ask := time.After(50 * time.Millisecond)
		if pause || slices.ContainsFunc(answer.Armed, lab.Fault.Waits) || len(answer.Hung) > 0 {
			ask = time.After(3 * time.Millisecond)
		}
		select {
		case <-watch:
			if w.troubled && time.Since(began) < patience {
				moved++
			}
		case <-ask:
		case <-a.ended:
			w.gone(a)
			next, err := w.rebooted(a)
			if err != nil || next == nil {
				return errors.Trace(cmp.Or(err, error(errAgentEnded)))
			}
			if a = next; pause {
				return nil // nobody knows how many more hooks may run
			}
		case <-ctx.Done():
			return w.unsettled(last, wait)
		}
	}
}

// isGone says whether a model that was to be destroyed is gone: nothing is left to do
// there, and no agent says so.
func isGone(ctx context.Context, m *state.Model) (bool, error) {
	_, err := m.Info(ctx)
	if errors.Is(err, errors.NotFound) {
		return true, nil
	}
	return false, err
}

// standing is why a settled model can't be had any more, if it can't be.
func standing(ctx context.Context, m *state.Model, answer lab.Answer, rev int64) error {
	switch {
	case answer.Lost:
		return errors.New("the store is out of the agent's reach, as the script wants; \"advance\" brings the time when it is back")
	case answer.Full:
		return errors.New("the disk is full, as the script wants; \"disk-full off\" ends that")
	case answer.Still < rev:
		return nil
	case len(answer.Hung) > 0:
		return standsStill{answer.Hung[0]}
	}
	// What has failed is asked for once the agent stands still: while it works, each
	// of its commits would have the whole model read.
	failed, err := failedAgents(ctx, m)
	if err != nil {
		return err
	}
	if len(failed) > 0 {
		return errors.WithType(errors.New(strings.Join(failed, "\n")), errAgentFailed)
	}
	return nil
}

// standsStill is the error of a wait for a unit that stands still.
type standsStill struct{ unit model.UnitName }

// Error is part of error.
func (s standsStill) Error() string {
	return fmt.Sprintf("%s stands still in its hook, as the script wants; \"release\" lets it go", s.unit)
}

// unsettled is the error of a wait that has lasted so long, by what the agent has said last.
func (w *world) unsettled(last lab.Answer, wait time.Duration) error {
	switch {
	case w.ctx.Err() != nil:
		return errors.New("interrupted")
	case w.troubled:
		return errors.New(`not settled: the agent tries again what it couldn't read or write only when time passes: "advance" lets it`)
	case len(last.Coming) > 0:
		return errors.Errorf("not settled after %s: not there yet: %s", wait, strings.Join(last.Coming, ", "))
	}
	return errors.Errorf("not settled after %s: %s", wait, cmp.Or(last.Busy, "the agent doesn't say why"))
}

// errAgentFailed says that nothing happens any more because the agent of a unit
// can't go on, and tries again when time has passed.
const errAgentFailed = errors.ConstError("the agent of a unit has failed")

// failedAgents says of each unit whose agent has failed why.
func failedAgents(ctx context.Context, m *state.Model) ([]string, error) {
	s, err := m.Status(ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var failed []string
	for _, app := range s.Applications {
		for _, u := range app.Units {
			if u.Agent.Status == model.StatusFailed {
				failed = append(failed, fmt.Sprintf("%s: its agent has failed, and tries again when time passes: %s", u.Name, u.Agent.Message))
			}
		}
	}
	return failed, nil
}

// errAgentEnded says that the agent has ended, most likely by a fault.
const errAgentEnded = errors.ConstError(`the agent has ended: "restart-agent" starts another one`)

// setTime moves the clocks of the world, on their way to target: the agent's
// first, which keeps its leases before others can see that they have expired.
func (w *world) setTime(ts stage, now, target time.Time, skip bool) (lab.Answer, error) {
	answer, err := w.tell(lab.Request{Now: now, Until: target, SkipStatus: skip})
	w.clock.Set(now)
	ts.Setenv(nowVariable, now.Format(time.RFC3339Nano))
	return answer, err
}

// advance lets time pass, and the agent go on, from one thing that is due to the
// next. What the agent does again and again by itself is no such thing: what it
// would have found is found at the end. skip: an update-status that changes nothing
// stands for those that follow it; see lab.Statuses.
func (w *world) advance(ts stage, d time.Duration, skip bool) error {
	target := w.clock.Now().Add(d)
	answer, err := w.tell(lab.Request{})
	if err != nil {
		return err
	}
	// What is due now comes before what time brings; but an agent that could
	// neither read nor write tries again only when time has passed.
	if !w.troubled {
		if err := w.goOn(answer); err != nil {
			return err
		}
	}
	for {
		if _, err := w.running(); err != nil { // a fault has ended the agent: nothing else is due
			w.clock.Set(target)
			ts.Setenv(nowVariable, target.Format(time.RFC3339Nano))
			return nil
		}
		answer, err := w.tell(lab.Request{})
		if err != nil {
			return err
		}
		next := answer.Next
		if !answer.Round.IsZero() && (next.IsZero() || answer.Round.Before(next)) {
			next = answer.Round
		}
		if answer.Lost || answer.Full {
			// Nothing tells when the agent has reacted: it gets a moment.
			next = w.clock.Now().Add(time.Second)
			time.Sleep(2 * time.Millisecond)
		}
		if next.IsZero() || next.After(target) {
			next = target
		}
		if _, err := w.setTime(ts, next, target, skip); err != nil {
			return err
		}
		if next.Equal(target) || !answer.Round.IsZero() && !next.Before(answer.Round) {
			if _, err := w.tell(lab.Request{Rounds: true}); err != nil {
				return err
			}
		}
		if err := w.goOn(answer); err != nil || next.Equal(target) {
			return err
		}
	}
}

// goOn is settle, unless nothing can be read or written. A unit that stands
// still does so until it has timed out, and one whose agent has failed waits for
// time to pass.
func (w *world) goOn(now lab.Answer) error {
	if now.Lost || now.Full {
		return nil
	}
	err := w.settle()
	if errors.As(err, &standsStill{}) || errors.Is(err, errAgentEnded) || errors.Is(err, errAgentFailed) {
		return nil
	}
	return err
}
