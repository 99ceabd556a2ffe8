package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
	"github.com/unitd/unitd/state/store/storetest"
)

// open opens the store at path; the test's end closes it.
func open(t testing.TB, path string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func dbPath(t testing.TB) string { return filepath.Join(t.TempDir(), "store.db") }

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, dbPath(t), sqlite.Options{}) })
}

func TestConformanceFromMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, dbPath(t), sqlite.Options{MirrorAfter: 1}) })
}

func TestConformanceOfAPairFromMemory(t *testing.T) {
	t.Parallel()
	storetest.RunPair(t, func(t *testing.T) (a, b store.Store) {
		path := dbPath(t)
		return open(t, path, sqlite.Options{MirrorAfter: 1}), open(t, path, sqlite.Options{MirrorAfter: 1})
	})
}

func TestConformanceOfAPair(t *testing.T) {
	t.Parallel()
	storetest.RunPair(t, func(t *testing.T) (a, b store.Store) {
		path := dbPath(t)
		return open(t, path, sqlite.Options{}), open(t, path, sqlite.Options{})
	})
}

func BenchmarkStore(b *testing.B) {
	b.Run("file", func(b *testing.B) {
		storetest.Bench(b, func(b *testing.B) store.Store { return open(b, dbPath(b), sqlite.Options{MirrorAfter: 1 << 60}) })
	})
	b.Run("memory", func(b *testing.B) {
		storetest.Bench(b, func(b *testing.B) store.Store { return open(b, dbPath(b), sqlite.Options{MirrorAfter: 1}) })
	})
}
