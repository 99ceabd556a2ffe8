package machine

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/memory"
)

// faulty is a store that gives an error, to what reads and to what writes, as many times as it
// has left.
type faulty struct {
	store.Store
	err  error
	left int
}

func (f *faulty) fails() error {
	if f.left == 0 {
		return nil
	}
	f.left--
	return f.err
}

func (f *faulty) KeepAlive(ctx context.Context, id store.LeaseID) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.Store.KeepAlive(ctx, id)
}

func (f *faulty) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	return f.Store.Update(ctx, func(tx store.Tx) error { return fn(faultyTx{tx, f}) }, opts...)
}

type faultyTx struct {
	store.Tx
	f *faulty
}

func (t faultyTx) Get(key string) (store.KV, error) {
	if err := t.f.fails(); err != nil {
		return store.KV{}, err
	}
	return t.Tx.Get(key)
}

func healthOf(s store.Store) *health {
	return newHealth(Config{
		Controller: state.NewController(s, clock.WallClock), Clock: clock.WallClock,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Room: func() error { return nil },
	})
}

// Where nothing is to be written for long, the lease tells that the store can be
// written to again.
func TestALeaseThatIsKeptAgainEndsTheTrouble(t *testing.T) {
	t.Parallel()
	for _, why := range []error{errors.NewTimeout(nil, "it doesn't answer"), errors.WithType(errors.New("no room"), store.ErrFull)} {
		s := &faulty{Store: memory.New(clock.WallClock), err: why}
		h := healthOf(s)
		lease, err := h.Grant(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		s.left = 1
		if err := h.KeepAlive(t.Context(), lease); !errors.Is(err, errNotWritten) {
			t.Errorf("keeping the lease gives %v", err)
		}
		if trouble, _ := h.trouble(); trouble == "" {
			t.Error("nobody is told that the store can't be written to")
		}
		if err := h.KeepAlive(t.Context(), lease); err != nil {
			t.Error(err)
		}
		if trouble, _ := h.trouble(); trouble != "" {
			t.Errorf("once the store can be written to again it is said still that %s", trouble)
		}
	}
}

func TestAToolTriesAgainToWriteWhereTheStoreCantBeReadForThat(t *testing.T) {
	t.Parallel()
	s := &faulty{Store: memory.New(clock.WallClock), err: errors.NewTimeout(nil, "it doesn't answer"), left: 2}
	_, err := patient{healthOf(s)}.Update(t.Context(), func(tx store.Tx) error {
		if _, err := tx.Get("a"); err != nil && !errors.Is(err, errors.NotFound) {
			return err
		}
		return tx.Put("a", []byte("{}"))
	})
	if err != nil {
		t.Errorf("what a hook tool wrote was refused: %v", err)
	}
}

// TestAWriteThatRunsOutOfTimeIsTrouble, as one that fails; one that somebody has given
// up says nothing.
func TestAWriteThatRunsOutOfTimeIsTrouble(t *testing.T) {
	t.Parallel()
	late, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	givenUp, giveUp := context.WithCancel(t.Context())
	giveUp()
	for _, c := range []struct {
		ctx  context.Context
		want string
	}{{late, "it doesn't answer in time"}, {givenUp, ""}} {
		h := healthOf(&faulty{Store: memory.New(clock.WallClock), err: errors.Annotate(c.ctx.Err(), "cannot read"), left: 1})
		read := func(tx store.Tx) error {
			_, err := tx.Get("a")
			return err
		}
		_, err := h.Update(c.ctx, read)
		if why, _ := h.trouble(); why != c.want || errors.Is(err, errNotWritten) != (c.want != "") {
			t.Errorf("it is said that %q, and the error is %v; want %q", why, err, c.want)
		}
	}
}
