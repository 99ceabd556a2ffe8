package script

import (
	"context"

	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/state"
)

// inquiry asks of all models of a world whether they are settled: those that use offers of each
// other are only together.
type inquiry struct{ models []*inquired }

// inquired is a model, and the revision up to which it is to be settled; done: it is, or is gone.
type inquired struct {
	*state.Model
	rev  int64
	done bool
}

// inquire begins to ask.
func (w *world) inquire(ctx context.Context) (*inquiry, error) {
	infos, err := w.models.Models(ctx)
	if err != nil {
		return nil, err
	}
	q := &inquiry{}
	for _, info := range infos {
		q.models = append(q.models, &inquired{Model: w.models.Open(info)})
	}
	return q, q.ask(ctx)
}

// ask asks anew, also of what has happened since.
func (q *inquiry) ask(ctx context.Context) error {
	for _, m := range q.models {
		gone, err := isGone(ctx, m.Model)
		if m.done = gone; err == nil && !gone {
			m.rev, err = m.AskSettled(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settled says whether all is. Where there are several models, one may have got something to do
// from another that was settled later, and is asked again.
func (q *inquiry) settled(ctx context.Context) (bool, error) {
	for _, m := range q.models {
		if m.done {
			continue
		}
		done, err := m.Settled(ctx, m.rev)
		if err == nil && !done {
			done, err = isGone(ctx, m.Model)
		}
		if m.done = done; err != nil || !done {
			return false, err
		}
	}
	if len(q.models) < 2 {
		return true, nil
	}
	for _, m := range q.models {
		gone, err := isGone(ctx, m.Model)
		more := false
		if err == nil && !gone {
			more, err = m.Unsettled(ctx, "")
		}
		if err != nil {
			return false, err
		}
		if more {
			return false, q.ask(ctx)
		}
	}
	return true, nil
}

// standing is why a settled world can't be had any more, if it can't be. While one model still has
// something to do, others may stand still.
func (q *inquiry) standing(ctx context.Context, answer lab.Answer) (why error) {
	for _, m := range q.models {
		if done, err := m.Settled(ctx, m.rev); m.done || err == nil && done {
			continue
		}
		err := standing(ctx, m.Model, answer, m.rev)
		if err == nil {
			return nil
		}
		if why == nil {
			why = err
		}
	}
	return why
}
