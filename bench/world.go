package bench

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/sqlite"
)

// patience is how long an agent has to end.
const patience = 30 * time.Second

// world is a data directory with a model, and an agent of it in a process of its
// own.
type world struct {
	dir   string
	store *sqlite.Store
	model *state.Model

	agent  *exec.Cmd
	orders io.WriteCloser
	log    *os.File
	said   chan said
	// ctx is over when the agent has ended, or who measures wants no more.
	ctx  context.Context
	fail context.CancelCauseFunc
}

// modelName is what the model of a world is called.
const modelName = "bench"

// within does something in a world of its own, whose agent is gone afterwards. What
// an agent that has ended by itself says of that is the error.
func (m *measuring) within(ctx context.Context, do func(*world) error) error {
	w := &world{said: make(chan said, 1024)}
	w.ctx, w.fail = context.WithCancelCause(ctx)
	err := w.open(m)
	if err == nil {
		err = do(w)
	}
	closed := w.close()
	if err == nil || closed != nil && errors.Is(err, errEnded) {
		err = closed
	}
	return err
}

// errEnded marks that the agent has ended by itself.
const errEnded = errors.ConstError("the agent has ended")

// open makes the world's files and its model, and starts its agent; it returns when
// that is ready. It may leave something for close to remove.
func (w *world) open(m *measuring) (err error) {
	if w.dir, err = os.MkdirTemp(m.dir, "world-"); err != nil {
		return errors.Trace(err)
	}
	data := filepath.Join(w.dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return errors.Trace(err)
	}
	if w.store, err = sqlite.Open(filepath.Join(data, m.Store), sqlite.Options{}); err != nil {
		return errors.Annotate(err, "cannot make a store")
	}
	if w.model, err = state.NewController(w.store, clock.WallClock).WithOneHost().AddModel(w.ctx, modelName); err != nil {
		return errors.Trace(err)
	}
	// What comes every few minutes would be in some figures and not in others.
	if err := w.model.SetModelConfig(w.ctx, map[string]string{state.UpdateStatusInterval: "0"}, nil); err != nil {
		return errors.Trace(err)
	}
	if err := w.start(m, data); err != nil {
		return errors.Annotate(err, "cannot start an agent")
	}
	first, err := w.next()
	if err == nil && !first.Ready {
		err = errors.New("the agent isn't ready, but has said something")
	}
	return errors.Trace(err)
}

// start starts the agent. It has a process group of its own: Ctrl-C is for who
// measures, who ends it in good order.
func (w *world) start(m *measuring, data string) error {
	var err error
	if w.log, err = os.Create(filepath.Join(w.dir, "agent.log")); err != nil {
		return errors.Trace(err)
	}
	cmd := m.Agent(data)
	cmd.Dir, cmd.Stderr = data, w.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if w.orders, err = cmd.StdinPipe(); err != nil {
		return errors.Trace(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return errors.Trace(err)
	}
	if err := cmd.Start(); err != nil {
		return errors.Trace(err)
	}
	w.agent = cmd
	go func() { // until close has ended the agent
		defer close(w.said)
		for lines := json.NewDecoder(out); ; {
			var s said
			if lines.Decode(&s) != nil {
				w.fail(errEnded)
				return
			}
			select {
			case w.said <- s:
			case <-w.ctx.Done(): // nobody wants to know
			}
		}
	}()
	return nil
}

// next is what the agent tells next: of one that has ended, first all that it has
// said. A hook that has failed is an error.
func (w *world) next() (said, error) {
	over := w.ctx.Done()
	for {
		select {
		case s, ok := <-w.said:
			switch {
			case !ok:
				return said{}, errors.Trace(context.Cause(w.ctx))
			case s.Run != nil && s.Run.Failed != "":
				return s, errors.Errorf("%s of %s has %s", s.Run.Kind, s.Run.Unit, s.Run.Failed)
			}
			return s, nil
		case <-over:
			if err := context.Cause(w.ctx); !errors.Is(err, errEnded) {
				return said{}, errors.Trace(err)
			}
			over = nil
		}
	}
}

// runs waits until enough says so of a hook that has run, and calls it with each;
// it returns how many hooks have started a process, and when the last one had ended.
func (w *world) runs(enough func(run) bool) (n int, last time.Time, err error) {
	for {
		s, err := w.next()
		if err != nil {
			return n, last, errors.Trace(err)
		}
		if s.Run == nil {
			continue
		}
		if !s.Run.Missing {
			n, last = n+1, s.Run.Ended
		}
		if enough(*s.Run) {
			return n, last, nil
		}
	}
}

// started is enough for runs once so many units have run start.
func started(units int) func(run) bool {
	return func(r run) bool {
		if r.Kind == hooks.Start {
			units--
		}
		return units == 0
	}
}

// order asks the agent for something, and returns its answer; all that it tells
// meanwhile goes to also.
func (w *world) order(o order, answers func(said) bool, also func(said)) (said, error) {
	if err := json.NewEncoder(w.orders).Encode(o); err != nil {
		return said{}, errors.Annotate(err, "cannot ask the agent")
	}
	for {
		s, err := w.next()
		if err != nil || answers(s) {
			return s, errors.Trace(err)
		}
		also(s)
	}
}

// used is the processor time that the agent has used so far.
func (w *world) used() (time.Duration, error) {
	s, err := w.order(order{}, func(s said) bool { return s.Used > 0 }, func(said) {})
	return s.Used, errors.Trace(err)
}

// settled waits until the agent has done all that the model asks for.
func (w *world) settled() error {
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	changes, err := w.model.Watch(ctx, 0)
	if err != nil {
		return errors.Trace(err)
	}
	rev, err := w.model.AskSettled(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	for {
		done, err := w.model.Settled(ctx, rev)
		switch {
		case w.ctx.Err() != nil:
			return errors.Trace(context.Cause(w.ctx))
		case err != nil || done:
			return errors.Trace(err)
		}
		select {
		case <-changes:
		case <-ctx.Done():
		}
	}
}

// close ends the agent, and removes all that there is of the world. An agent that
// doesn't end in good order is an error, with the last that it has logged.
func (w *world) close() error {
	var err error
	if w.agent != nil {
		w.orders.Close()
		w.fail(context.Canceled)
		late := time.AfterFunc(patience, func() { _ = w.agent.Process.Kill() })
		for range w.said { // the pipe is read before Wait closes it
		}
		err = w.agent.Wait()
		late.Stop()
		if err != nil {
			err = errors.Annotatef(err, "the agent didn't end cleanly (%s)", lastLine(w.log.Name()))
		}
	}
	w.fail(context.Canceled)
	if w.log != nil {
		w.log.Close()
	}
	if w.store != nil {
		if closed := w.store.Close(); err == nil {
			err = errors.Trace(closed)
		}
	}
	if w.dir != "" {
		if removed := os.RemoveAll(w.dir); err == nil {
			err = errors.Trace(removed)
		}
	}
	return err
}
