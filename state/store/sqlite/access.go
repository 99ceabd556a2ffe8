package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// View is part of store.Store.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.done.Done()
	rev, err := s.view(ctx, fn)
	// What an error of fn says of the store has to be durable too.
	if late := s.barrier.pass(rev); late != nil {
		return 0, errors.Trace(late)
	}
	if err != nil {
		return 0, err // fn's as it is
	}
	return rev, nil
}

// view is View before the barrier; the revision is what was read, or 0, also with an
// error.
func (s *Store) view(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, errors.Annotate(err, "cannot read the store")
	}
	r := &reader{caller: ctx, ctx: context.WithoutCancel(ctx), now: s.time.now(), alive: s.time.alive, since: s.time.up != nil, open: s.read.begin}
	if r.known = s.mirror.now(s.barrier.progress, r.now); r.known != nil {
		r.rev = r.known.rev
		return r.rev, s.noticed(fn(r))
	}
	from, end, err := s.read.begin(ctx)
	if err != nil {
		return 0, errors.Annotate(s.orClosed(err), "cannot read the store")
	}
	defer end()
	r.tx = from
	if err := r.head(ctx); err != nil {
		return 0, errors.Annotate(s.orClosed(err), "cannot read the store")
	}
	r.known = s.mirror.at(r)
	return r.rev, s.noticed(fn(r))
}

// orClosed is ErrClosed if the store was closed meanwhile, else err as noticed
// has it.
func (s *Store) orClosed(err error) error {
	if closed := s.check(); closed != nil {
		return closed
	}
	return s.noticed(err)
}

// Update is part of store.Store.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.done.Done()
	relaxed, modest := slices.Contains(opts, store.Relaxed), slices.Contains(opts, modest)
	rev, err := s.update(ctx, relaxed, fn)
	if errors.Is(err, store.ErrFull) && !modest && giveUpReserve(s.path) {
		rev, err = s.update(ctx, relaxed, fn)
	}
	return rev, err
}

// update is Update without the reserve.
func (s *Store) update(ctx context.Context, relaxed bool, fn func(store.Tx) error) (int64, error) {
	w, err := s.writer()
	if err != nil {
		return 0, s.orClosed(s.filled(errors.Annotate(err, "cannot write to the store")))
	}
	rev, wrote, err := w.update(ctx, s, relaxed, fn)
	// What an error of fn says of the store has to be durable too.
	if late := s.barrier.pass(rev); late != nil {
		return 0, errors.Trace(late)
	}
	if err != nil {
		return 0, s.noticed(s.filled(err))
	}
	if wrote {
		s.announce(rev)
	}
	return rev, nil
}

// announce tells everybody that a commit is visible now.
func (s *Store) announce(rev int64) {
	s.mu.Lock()
	h := s.hub
	s.mu.Unlock()
	if h != nil {
		h.poke()
	}
	// What is written doesn't matter, that something is does: see hub.
	if _, err := s.rev.WriteAt(fmt.Appendf(nil, "%020d\n", rev), 0); err != nil {
		s.log.Warn("cannot tell other processes of a commit", "err", err)
	}
}
