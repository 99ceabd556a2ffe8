package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// opened is the connection that writes.
func (s *Store) opened(t *testing.T) *writer {
	t.Helper()
	w, err := s.writer()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func putOne(t *testing.T, s *Store, value string) {
	t.Helper()
	_, err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Put("key", []byte(value)) })
	if err != nil {
		t.Fatal(err)
	}
}

func wantOne(t *testing.T, s *Store, want string) {
	t.Helper()
	_, err := s.View(t.Context(), func(r store.Reader) error {
		kv, err := r.Get("key")
		if err == nil && string(kv.Value) != want {
			t.Errorf("it reads %q, not %q", kv.Value, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWhoOnlyReadsOpensNothingToWrite: until it writes.
func TestWhoOnlyReadsOpensNothingToWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	first, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	putOne(t, first, "1")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wantOne(t, s, "1")
	if s.write != nil {
		t.Error("it has opened a connection that writes")
	}
	putOne(t, s, "2")
	wantOne(t, s, "2")
	if s.write == nil {
		t.Error("it has written by none")
	}
}

// TestAReaderBringsOverWhatAKilledWriterHasLeft: though it has no connection that
// writes, the file alone is the whole store once it is closed.
func TestAReaderBringsOverWhatAKilledWriterHasLeft(t *testing.T) {
	t.Parallel()
	writing, left := filepath.Join(t.TempDir(), "store.db"), filepath.Join(t.TempDir(), "store.db")
	w, err := Open(writing, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	putOne(t, w, "1")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(writing + suffix)
		if err == nil {
			err = os.WriteFile(left+suffix, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(left, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantOne(t, s, "1")
	if s.write != nil {
		t.Error("it has opened a connection that writes")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left + "-wal"); !os.IsNotExist(err) {
		t.Errorf("the log is left: %v", err)
	}
	again, err := Open(left, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	wantOne(t, again, "1")
}

// TestAViewEndsWithItsContext: at its next question, and within a list.
func TestAViewEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join(t.TempDir(), "store.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	putOne(t, s, "1")
	for name, ask := range map[string]func(store.Reader) error{
		"Get":   func(r store.Reader) error { _, err := r.Get("key"); return err },
		"List":  func(r store.Reader) error { _, err := r.List(""); return err },
		"Since": func(r store.Reader) error { _, err := r.Since("", 0); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := s.View(ctx, func(r store.Reader) error {
			if err := ask(r); err != nil {
				t.Errorf("%s before: %v", name, err)
			}
			cancel()
			return ask(r)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s says %v", name, err)
		}
	}
}
