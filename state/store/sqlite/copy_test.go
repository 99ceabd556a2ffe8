package sqlite_test

import (
	"context"
	"os"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
)

func TestCopyIsTheStoreAsItWas(t *testing.T) {
	t.Parallel()
	s := open(t, dbPath(t), sqlite.Options{})
	lend(t, s, "leased")
	rev := update(t, s, func(tx store.Tx) error { return tx.Put("a", []byte("1")) })
	path := dbPath(t)
	if err := s.CopyTo(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx store.Tx) error { return tx.Put("a", []byte("2")) })
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy is %v, %v: not for its owner alone", info, err)
	}
	c := open(t, path, sqlite.Options{})
	if a, leased := value(t, c, "a"), value(t, c, "leased"); a != "1" || leased != "v" {
		t.Errorf("the copy has %q and %q", a, leased)
	}
	if got := update(t, c, func(tx store.Tx) error { return tx.Put("a", []byte("3")) }); got != rev+1 {
		t.Errorf("the copy goes on at revision %d, want %d", got, rev+1)
	}
	if value(t, s, "a") != "2" {
		t.Error("a write to the copy is in the original")
	}
	if err := s.CopyTo(t.Context(), path); err == nil {
		t.Error("a file that is there was written over")
	}
}

// TestAClosedStoreIsWholeInItsFile: nothing of it is in the write-ahead log,
// also where somebody reads, and gives up, just as it is closed.
func TestAClosedStoreIsWholeInItsFile(t *testing.T) {
	t.Parallel()
	for range 10 {
		path := dbPath(t)
		s := open(t, path, sqlite.Options{})
		update(t, s, func(tx store.Tx) error { return tx.Put("a", []byte("1")) })
		watch(t, s, "", 0)
		reading, read := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(read)
			readOn(t, s, reading)
		}()
		<-reading
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if wal, err := os.Stat(path + "-wal"); err == nil {
			t.Fatalf("%d bytes are in the write-ahead log", wal.Size())
		}
		<-read
		alone, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		other := dbPath(t)
		write(t, other, alone)
		if got := value(t, open(t, other, sqlite.Options{}), "a"); got != "1" {
			t.Fatalf("a copy of the file alone has %q", got)
		}
	}
}

// readOn begins to read, goes on for a while after Close was called, and gives
// up.
func readOn(t *testing.T, s store.Store, reading chan struct{}) {
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	_, _ = s.View(ctx, func(r store.Reader) error {
		close(reading)
		for {
			if err := s.Revoke(ctx, 0); errors.Is(err, store.ErrClosed) {
				break
			}
		}
		for range 500 {
			if _, err := r.Get("a"); err != nil {
				return err
			}
		}
		giveUp()
		return nil
	})
}
