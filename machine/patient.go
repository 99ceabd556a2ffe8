package machine

import (
	"context"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// patient is the store as hook tools have it: one that can't be read or written
// to is tried again until the hook is over, as for a commit. The hook has done
// nothing wrong. What the store refuses is refused at once.
type patient struct{ *health }

// errNotRead marks that the store couldn't be read.
const errNotRead = errors.ConstError("the store can't be read")

// View is part of store.Store.
func (p patient) View(ctx context.Context, fn func(store.Reader) error) (rev int64, err error) {
	err = p.patiently(ctx, func() error {
		var said error
		rev, err = p.health.View(ctx, func(r store.Reader) error {
			said = fn(r)
			return said
		})
		if err != nil && (said == nil || errors.Is(said, errors.Timeout)) && !final(err) {
			return errors.WithType(err, errNotRead)
		}
		return err
	})
	return rev, err
}

// Update is part of store.Store.
func (p patient) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (rev int64, err error) {
	err = p.patiently(ctx, func() error {
		rev, err = p.health.Update(ctx, fn, opts...)
		return err
	})
	return rev, err
}

// patiently tries until it succeeds, fails for good, or ctx ends.
func (h *health) patiently(ctx context.Context, try func() error) error {
	for n := 0; ; n++ {
		hope := h.hoped()
		err := try()
		if err == nil || !errors.Is(err, errNotWritten) && !errors.Is(err, errNotRead) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-hope:
		case <-h.clock.After(min(100*time.Millisecond<<min(n, 10), retellAtMost)):
		}
	}
}
