package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// TestAFullDiskIsSaidToBeOne, after the reserve was given up for what is to be
// written, and not for leases, which come again and again.
func TestAFullDiskIsSaidToBeOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Reserve(); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(reservePath(path)); err != nil || st.Size() != reserveSize || st.Mode().Perm() != 0o600 {
		t.Fatalf("the reserve is %v, %v", st, err)
	}
	lease, err := s.Grant(t.Context(), 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.opened(t).conn.ExecContext(t.Context(), "PRAGMA max_page_count = 16"); err != nil {
		t.Fatal(err)
	}
	put := func() error {
		_, err := s.Update(context.Background(), func(tx store.Tx) error { return tx.Put("key", bytes.Repeat([]byte{1}, 100<<10)) })
		return err
	}
	if err := s.KeepAlive(t.Context(), lease); err != nil {
		t.Error(err) // it fits
	}
	want := fmt.Sprintf("cannot write to the store: the disk of %s is full", path)
	for range 2 {
		if err := put(); !errors.Is(err, store.ErrFull) || err.Error() != want {
			t.Errorf("it says %v", err)
		}
		if _, err := os.Stat(reservePath(path)); !os.IsNotExist(err) {
			t.Errorf("the reserve is still there: %v", err)
		}
	}
	if _, err := s.opened(t).conn.ExecContext(t.Context(), "PRAGMA max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	if err := put(); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if err := s.Reserve(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(reservePath(path)); err != nil {
		t.Errorf("the reserve isn't there again: %v", err)
	}
}
