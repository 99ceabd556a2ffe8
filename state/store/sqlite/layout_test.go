package sqlite_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
)

// byKey makes of a store's tables what earlier programs have made.
const byKey = `BEGIN IMMEDIATE; DROP INDEX kv_lease;
CREATE TABLE former (key TEXT PRIMARY KEY, value BLOB NOT NULL, rev INTEGER NOT NULL, created INTEGER NOT NULL, lease INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
INSERT INTO former SELECT * FROM kv; DROP TABLE kv; ALTER TABLE former RENAME TO kv;
CREATE INDEX kv_lease ON kv (lease) WHERE lease != 0; COMMIT`

// TestAStoreOfAnEarlierProgramIsReadAndWritten as it is.
func TestAStoreOfAnEarlierProgramIsReadAndWritten(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]int{"from the file": 1 << 60, "from memory": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := dbPath(t)
			filled(t, path, 50)
			execute(t, raw(t, path), byKey)
			s, other := open(t, path, sqlite.Options{MirrorAfter: after}), open(t, path, sqlite.Options{MirrorAfter: after})
			before := all(t, other)
			lease := lend(t, s, "m/leased")
			update(t, other, func(tx store.Tx) error { return tx.Put("m/other", []byte("1")) })
			update(t, s, func(tx store.Tx) error { return tx.Put("m/other", []byte("2")) })
			if got := value(t, other, "m/other") + value(t, other, "m/leased"); got != "2v" || len(all(t, s)) != len(before)+2 {
				t.Errorf("it has %q, and %d keys", got, len(all(t, s)))
			}
			update(t, other, func(tx store.Tx) error { return tx.Delete("m/other") })
			if err := s.Revoke(t.Context(), lease); err != nil {
				t.Error(err)
			}
			if got := all(t, other); !slices.EqualFunc(got, before, func(a, b store.KV) bool {
				return a.Key == b.Key && bytes.Equal(a.Value, b.Value) && a.Rev == b.Rev && a.CreateRev == b.CreateRev && a.Lease == b.Lease
			}) {
				t.Errorf("there is %v, and was %v", got, before)
			}
			if err := s.Check(t.Context(), true); err != nil {
				t.Error(err)
			}
			if kvs, missing, err := sqlite.Salvage(t.Context(), path); len(kvs) != len(before) || len(missing) != 0 || err != nil {
				t.Errorf("%d of %d keys, %v missing (%v)", len(kvs), len(before), missing, err)
			}
			var text string
			if err := raw(t, path).QueryRowContext(t.Context(), "SELECT sql FROM sqlite_schema WHERE name = 'kv'").Scan(&text); err != nil || !strings.Contains(text, "WITHOUT ROWID") {
				t.Errorf("it isn't as earlier programs have made it: %s (%v)", text, err)
			}
		})
	}
}

// all is what a store has.
func all(t testing.TB, s *sqlite.Store) (kvs []store.KV) {
	t.Helper()
	if _, err := s.View(t.Context(), func(r store.Reader) (err error) {
		kvs, err = r.List("")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return kvs
}

// TestLargeValuesDoNotSlowDownOthers: what a key costs is about the same where there are parts of
// charms beside it as where there are none.
func TestLargeValuesDoNotSlowDownOthers(t *testing.T) {
	t.Parallel()
	small, large := beside(t, nil), beside(t, bytes.Repeat([]byte{1}, 512<<10))
	// The least of what was seen: others take processors away.
	without, with := time.Hour, time.Hour
	for range 20 {
		without, with = min(without, reading(t, small)), min(with, reading(t, large))
	}
	if with > 3*without {
		t.Errorf("beside large values keys are read in %s, without them in %s", with, without)
	}
}

// beside is a store with small values, and a large one after each few of them, read from its
// file.
func beside(t *testing.T, large []byte) *sqlite.Store {
	t.Helper()
	s := open(t, dbPath(t), sqlite.Options{MirrorAfter: 1 << 60})
	for i := range 40 {
		update(t, s, func(tx store.Tx) error {
			for j := range 5 {
				if err := tx.Put(fmt.Sprintf("m/%02d/%d", i, j), bytes.Repeat([]byte{2}, 100)); err != nil {
					return err
				}
			}
			return tx.Put(fmt.Sprintf("m/%02d/z", i), large)
		})
	}
	return s
}

// reading is how long it takes to read the small ones.
func reading(t *testing.T, s *sqlite.Store) time.Duration {
	t.Helper()
	began := time.Now()
	if _, err := s.View(t.Context(), func(r store.Reader) error {
		for i := range 200 {
			if _, err := r.Get(fmt.Sprintf("m/%02d/%d", i/5, i%5)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}
