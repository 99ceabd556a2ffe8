package agent

import (
	"context"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state"
)

// retryWord is how long an agent that was silent once is waited for.
const retryWord = time.Second

// Word is what the agent of this data directory says of itself past its store;
// nothing where none runs, or where it has another store than this command. That
// it doesn't answer is said once.
func (h *Host) Word(ctx context.Context) (machine.Word, error) {
	pid, err := Running()
	if err != nil || pid == 0 {
		return machine.Word{}, errors.Trace(err)
	}
	dir, err := DataDir()
	if err != nil {
		return machine.Word{}, errors.Trace(err)
	}
	if h.silent || h.waited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, retryWord)
		defer cancel()
	}
	w, err := machine.Ask(ctx, dir)
	if errors.Is(err, machine.ErrSilent) && h.ctx.Err() == nil && !h.silent {
		h.silent = true
		h.Note("the agent (process %d) doesn't answer: it was stopped, it hangs, or the host is very busy; the store may be behind", pid)
	}
	return w, errors.Trace(err)
}

// See is a model's status, with what an agent on this host couldn't write to the
// store.
func (h *Host) See(m *state.Model) (*state.FullStatus, error) {
	s, err := m.Status(h.ctx)
	if err != nil {
		return nil, err
	}
	w, err := h.Word(h.ctx)
	if errors.Is(err, machine.ErrSilent) {
		return s, nil // it was said
	}
	if err != nil {
		h.Note("%v", err)
		return s, nil
	}
	w.See(s)
	return s, nil
}
