package machine_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/juju/clock"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/testcharms"
)

// watchedStore tells when a watch of it has ended.
type watchedStore struct {
	store.Store
	ended chan struct{}
}

func (s *watchedStore) Watch(ctx context.Context, of []store.Keys, from int64) (<-chan store.Batch, error) {
	in, err := s.Store.Watch(ctx, of, from)
	if err != nil {
		return nil, err
	}
	out := make(chan store.Batch)
	go func() {
		defer close(s.ended)
		defer close(out)
		for b := range in {
			select {
			case out <- b:
			case <-ctx.Done():
			}
		}
	}()
	return out, nil
}

// TestAnAgentThatIsToEndDoesNotTakeItsStoreForClosed: its watch ends with it, and it
// may hear of that first, as when it is busy with a model that has gone.
func TestAnAgentThatIsToEndDoesNotTakeItsStoreForClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	client, err := testcharms.Client()
	if err != nil {
		t.Fatal(err)
	}
	s := etcdtest.Open(t, filepath.Join(dir, "store.db"))
	t.Cleanup(func() { s.Close() })
	for range 12 { // by chance it hears of the other first
		ctx, cancel := context.WithCancel(t.Context())
		watched := &watchedStore{s, make(chan struct{})}
		err := machine.Run(ctx, machine.Config{
			Controller: state.NewController(watched, clock.WallClock), Dir: dir, Client: client, Clock: clock.WallClock, Host: machine.LocalHost(),
			Log:     slog.New(slog.DiscardHandler),
			Reserve: func() error { cancel(); <-watched.ended; return nil },
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
}
