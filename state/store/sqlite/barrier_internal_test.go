package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// syncing is a store whose syncs are counted, and wait until they may go on.
func syncing(t *testing.T, path string) (s *Store, syncs *atomic.Int64, may chan error) {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	syncs, may = new(atomic.Int64), make(chan error)
	s.barrier.sync = func() error {
		syncs.Add(1)
		return <-may
	}
	return s, syncs, may
}

func write(s *Store, key string, opts ...store.Option) error {
	_, err := s.Update(context.Background(), func(tx store.Tx) error { return tx.Put(key, []byte("x")) }, opts...)
	return err
}

// head waits until a revision is committed, whether or not it is durable.
func head(t *testing.T, s *Store, rev int64) {
	t.Helper()
	for s.barrier.head.Load() < rev {
		time.Sleep(time.Millisecond) // until the next look
	}
}

func TestCommitsOfOneMomentShareASync(t *testing.T) {
	t.Parallel()
	const many = 20
	s, syncs, may := syncing(t, filepath.Join(t.TempDir(), "store.db"))
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			if err := write(s, string(rune('a'+i))); err != nil {
				t.Error(err)
			}
		})
	}
	head(t, s, many) // nobody holds the right to write meanwhile
	go func() {
		for {
			select {
			case may <- nil:
			case <-t.Context().Done():
				return
			}
		}
	}()
	all.Wait()
	if n := syncs.Load(); n > 2 {
		t.Errorf("%d syncs for %d commits that waited together", n, many)
	}
}

func TestRelaxedCommitsWaitForNoSync(t *testing.T) {
	t.Parallel()
	s, syncs, _ := syncing(t, filepath.Join(t.TempDir(), "store.db"))
	if err := write(s, "a", store.Relaxed); err != nil || syncs.Load() != 0 {
		t.Errorf("%v, %d syncs", err, syncs.Load())
	}
}

// What a power cut could take back nobody goes by: neither who reads in the same
// process nor in another one, whose handle this one could be.
func TestNobodySeesWhatIsNotDurable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, _, may := syncing(t, path)
	other, syncs, mayOther := syncing(t, path)
	done := make(chan error, 1)
	go func() { done <- write(s, "a") }()
	head(t, s, 1)
	read := make(chan int64, 2)
	for _, from := range []*Store{s, other} {
		go func() {
			rev, err := from.View(context.Background(), func(r store.Reader) error {
				_, err := r.Get("a")
				return err
			})
			if err != nil {
				t.Error(err)
			}
			read <- rev
		}()
	}
	for syncs.Load() == 0 {
		time.Sleep(time.Millisecond) // until the other one syncs by itself
	}
	select {
	case rev := <-read:
		t.Fatalf("revision %d was read before it was durable", rev)
	default:
	}
	mayOther <- nil
	may <- nil
	if err := <-done; err != nil {
		t.Error(err)
	}
	for range 2 {
		if rev := <-read; rev != 1 {
			t.Errorf("revision %d, want 1", rev)
		}
	}
}

// After a sync that failed nobody knows what the disk has: a second one would say
// that all is well.
func TestAStoreThatCannotBeSyncedIsGivenUp(t *testing.T) {
	t.Parallel()
	s, _, may := syncing(t, filepath.Join(t.TempDir(), "store.db"))
	done := make(chan error, 1)
	go func() { done <- write(s, "a") }()
	may <- errors.New("the disk is on fire")
	for _, err := range []error{<-done, write(s, "b")} {
		if err == nil {
			t.Error("a commit was acknowledged")
		}
	}
	if _, err := s.View(context.Background(), func(store.Reader) error { return nil }); err == nil {
		t.Error("it was read")
	}
}

// A copy of a store that was set back has lower revisions than its side file
// knows of: they have to be synced as well.
func TestAStoreThatWasSetBackIsSynced(t *testing.T) {
	t.Parallel()
	s, syncs, may := syncing(t, filepath.Join(t.TempDir(), "store.db"))
	for _, n := range []*atomic.Int64{&s.barrier.asked, &s.barrier.done, &s.barrier.begun, &s.barrier.head} {
		n.Store(1000)
	}
	done := make(chan error, 1)
	go func() { done <- write(s, "a") }()
	may <- nil
	if err := <-done; err != nil || syncs.Load() != 1 || !s.barrier.at(1) {
		t.Errorf("%v, %d syncs", err, syncs.Load())
	}
}

// An error of the function says something of the store, too: that there is no such key.
func TestAnErrorWaitsForWhatItSays(t *testing.T) {
	t.Parallel()
	s, _, may := syncing(t, filepath.Join(t.TempDir(), "store.db"))
	done := make(chan error, 1)
	go func() { done <- write(s, "a") }()
	head(t, s, 1)
	says := errors.New("there is an a")
	said := make(chan error, 2)
	go func() {
		_, err := s.View(context.Background(), func(store.Reader) error { return says })
		said <- err
	}()
	go func() {
		_, err := s.Update(context.Background(), func(store.Tx) error { return says })
		said <- err
	}()
	select {
	case err := <-said:
		t.Fatalf("%v, before that was durable", err)
	case may <- nil:
	}
	for range 2 {
		if err := <-said; err != says {
			t.Errorf("%v, want the function's own", err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestALinkToAStoreIsTheStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.db"), filepath.Join(dir, "link.db")
	first, err := Open(real, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	s, err := Open(link, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.barrier.path != first.barrier.path {
		t.Errorf("it syncs %s, and not %s", s.barrier.path, first.barrier.path)
	}
	if err := write(s, "a"); err != nil || !first.barrier.at(1) {
		t.Errorf("%v; the other one wasn't told", err)
	}
}

func TestAWatchOfAClosedStoreIsRefused(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join(t.TempDir(), "store.db"), Options{MirrorAfter: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := s.Watch(ctx, []store.Keys{store.Below("a")}, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.View(ctx, func(store.Reader) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Watch(ctx, []store.Keys{store.Below("a")}, 0); !errors.Is(err, store.ErrClosed) {
		t.Errorf("%v, want %v", err, store.ErrClosed)
	}
}
