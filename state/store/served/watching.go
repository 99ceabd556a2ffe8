package served

import (
	"context"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// rewatch is the pause before a watch that was ended is begun anew.
const (
	rewatch = 200 * time.Millisecond
	seldom  = 5 * time.Second // where that was in vain
)

// watching is one caller's watch.
type watching struct {
	s    *Store
	of   []store.Keys
	told int64 // the revision up to which the caller has been told everything
	c    *conn
	out  chan<- store.Batch
	// behind: the store isn't as far any more as the caller was told.
	behind bool
}

// Watch is part of store.Store. An agent that is away for a while is waited for.
func (s *Store) Watch(caller context.Context, of []store.Keys, from int64) (<-chan store.Batch, error) {
	ctx, leave, err := s.life.Enter(caller)
	if err != nil {
		return nil, errors.Trace(err)
	}
	out := make(chan store.Batch)
	w := &watching{s: s, of: of, told: from, out: out}
	if err := w.resume(ctx); err != nil {
		leave()
		return nil, errors.Annotate(err, "cannot watch the store")
	}
	go func() {
		defer leave()
		defer close(out)
		for pause := rewatch; ; {
			w.follow(ctx)
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			err := w.resume(ctx)
			if pause = rewatch; err != nil && ctx.Err() == nil {
				s.log.Warn("cannot watch the store", "err", err)
				pause = seldom
			}
		}
	}()
	return out, nil
}

// resume begins where the last batch has ended, on a connection of its own.
func (w *watching) resume(ctx context.Context) error {
	c, a, unhook, err := w.s.begin(ctx, question{Ask: askWatch, Of: w.of, Rev: w.told})
	if err != nil {
		return errors.Trace(err)
	}
	unhook()
	// A store that was restored from a copy may be behind what was told.
	w.behind = w.behind || a.Rev < w.told
	w.c, w.told = c, a.Rev
	return nil
}

// follow hands out what comes until the connection ends, or the context.
func (w *watching) follow(ctx context.Context) {
	if w.c == nil {
		return
	}
	c := w.c
	defer func() {
		c.Close()
		w.c = nil
	}()
	defer c.until(ctx)()
	if w.behind {
		select {
		case w.out <- store.Batch{Rev: w.told, Resync: true}:
			w.behind = false
		case <-ctx.Done():
			return
		}
	}
	for {
		a, err := c.hear()
		if err != nil || a.Batch == nil {
			return
		}
		select {
		case w.out <- *a.Batch:
			w.told = max(w.told, a.Batch.Rev)
			if a.Batch.Resync {
				w.told = a.Batch.Rev
			}
		case <-ctx.Done():
			return
		}
	}
}
