package sqlite_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
)

const pageSize = 4096

// filled is a closed store's file with n keys.
func filled(t *testing.T, path string, n int) []byte {
	t.Helper()
	s, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < n; {
		if _, err := s.Update(t.Context(), func(tx store.Tx) error {
			for last := min(n, i+100); i < last; i++ {
				if err := tx.Put(fmt.Sprintf("m/key/%05d", i), bytes.Repeat([]byte{byte('a' + i%26)}, 300)); err != nil {
					return err
				}
			}
			return nil
		}, store.Relaxed); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Check(t.Context(), true); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAPageThatIsNoiseIsFound: a store with it is either not opened or found to be
// damaged, and all but what was on that page, or is found by it, is recovered.
func TestAPageThatIsNoiseIsFound(t *testing.T) {
	t.Parallel()
	const keys = 500
	for name, layout := range map[string]string{"rows by number": "SELECT 1", "rows by key": byKey} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := dbPath(t)
			filled(t, path, keys)
			execute(t, raw(t, path), layout+"; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			noise(t, whole, keys)
		})
	}
}

// noise has each page of a store's file be noise.
func noise(t *testing.T, whole []byte, keys int) {
	t.Helper()
	const perPage = pageSize / 300
	few := 0
	for page := 1; page < len(whole)/pageSize; page++ {
		file := bytes.Clone(whole)
		noise := rand.NewChaCha8([32]byte{byte(page)})
		if _, err := noise.Read(file[page*pageSize : (page+1)*pageSize]); err != nil {
			t.Fatal(err)
		}
		path := dbPath(t)
		write(t, path, file)
		s, err := sqlite.Open(path, sqlite.Options{})
		if err == nil {
			err = s.Check(t.Context(), false)
			if _, again := s.View(t.Context(), func(store.Reader) error { return nil }); again == nil {
				t.Errorf("page %d: it is read on", page)
			}
			s.Close()
		}
		if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("page %d: %v", page, err)
		}
		kvs, missing, err := sqlite.Salvage(t.Context(), path)
		if err != nil {
			t.Errorf("page %d: %v", page, err)
		}
		if len(kvs) >= keys-perPage {
			few++
		}
		if len(kvs)+len(missing) < keys && len(missing) != 0 {
			t.Errorf("page %d: of %d keys there are %d, and %d are missed", page, keys, len(kvs), len(missing))
		}
		for _, kv := range kvs {
			if len(kv.Value) != 300 || kv.Rev == 0 {
				t.Errorf("page %d: %s has %d bytes of revision %d", page, kv.Key, len(kv.Value), kv.Rev)
			}
		}
	}
	if pages := len(whole) / pageSize; few < pages*8/10 {
		t.Errorf("of %d pages each one of %d cost no more than what was on it", pages, few)
	}
}

// TestWhatIsLostInTwoPlacesIsReadBetweenThem reads keys that lie between two
// damaged pages.
func TestWhatIsLostInTwoPlacesIsReadBetweenThem(t *testing.T) {
	t.Parallel()
	const keys = 500
	path := dbPath(t)
	file := filled(t, path, keys)
	for _, i := range []int{100, 400} {
		at := bytes.Index(file, fmt.Appendf(nil, "m/key/%05d%s", i, strings.Repeat(string(rune('a'+i%26)), 300)))
		if at < 0 {
			t.Fatalf("key %d isn't found", i)
		}
		clear(file[at/pageSize*pageSize : (at/pageSize+1)*pageSize])
	}
	write(t, path, file)
	kvs, missing, err := sqlite.Salvage(t.Context(), path)
	if err != nil || len(kvs)+len(missing) != keys || len(missing) == 0 || len(missing) > 2*pageSize/300 {
		t.Errorf("%d keys, %d missing (%v)", len(kvs), len(missing), err)
	}
}

// TestRowsAreReadPastDamagedPages: of keys that were written long ago, in any order, and whose
// numbers are far apart, all are recovered that aren't on a damaged page, whatever pages these
// are; what the index says of others is missed.
func TestRowsAreReadPastDamagedPages(t *testing.T) {
	t.Parallel()
	const keys = 500
	const perPage = pageSize/300 + 1
	path := dbPath(t)
	filled(t, path, keys)
	execute(t, raw(t, path), `PRAGMA secure_delete = ON; DELETE FROM change;
CREATE TABLE mixed AS SELECT * FROM kv ORDER BY substr(key, 11) || key; DELETE FROM kv;
INSERT INTO kv (rowid, key, value, rev, created, lease) SELECT rowid * 1000003, key, value, rev, created, lease FROM mixed; DROP TABLE mixed;
PRAGMA wal_checkpoint(TRUNCATE)`)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	row := func(key int) int {
		at := bytes.Index(whole, fmt.Appendf(nil, "m/key/%05d%s", key, strings.Repeat(string(rune('a'+key%26)), 300)))
		if at < 0 {
			t.Fatalf("key %d isn't found", key)
		}
		return at / pageSize
	}
	const indexLeaf = 0x0a
	index := slices.IndexFunc(slices.Collect(slices.Chunk(whole, pageSize)), func(page []byte) bool {
		return page[0] == indexLeaf && bytes.Contains(page, []byte("m/key/00250"))
	})
	for _, c := range []struct {
		name  string
		pages []int
		named bool // the index says which keys there were
	}{
		{"the first and the last rows", []int{row(0), row(499)}, true},
		{"three of them", []int{row(0), row(255), row(499)}, true},
		{"a page of the index", []int{index}, false},
		{"a page of the index, and rows at both ends", []int{index, row(0), row(499)}, false},
		{"a page of the index, and rows in the middle", []int{index, row(255)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file, path := bytes.Clone(whole), dbPath(t)
			for _, page := range c.pages {
				clear(file[page*pageSize : (page+1)*pageSize])
			}
			write(t, path, file)
			kvs, missing, err := sqlite.Salvage(t.Context(), path)
			if err != nil || len(kvs) < keys-len(c.pages)*perPage || len(kvs) == keys && !slices.Equal(c.pages, []int{index}) || c.named && len(kvs)+len(missing) != keys {
				t.Errorf("%d keys, %d missing (%v)", len(kvs), len(missing), err)
			}
			for _, kv := range kvs {
				if len(kv.Value) != 300 || kv.Rev == 0 {
					t.Errorf("%s has %d bytes of revision %d", kv.Key, len(kv.Value), kv.Rev)
				}
			}
		})
	}
}

// TestAKeyThatHasChangedIsNotTakenForOneThatNeverWas, nor is one that was removed
// and is there again.
func TestAKeyThatHasChangedIsNotTakenForOneThatNeverWas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ damage, says string }{
		"nothing":           {"SELECT 1", ""},
		"a key":             {"UPDATE kv SET key = 'm/key/00001x' WHERE key = 'm/key/00001'", "m/key/00001 was written, and isn't there"},
		"its revision":      {"UPDATE kv SET rev = rev + 1000 WHERE key = 'm/key/00001'", "m/key/00001 isn't as it was written last"},
		"a removed one":     {"UPDATE change SET deleted = 1 WHERE key = 'm/key/00001'", "m/key/00001 isn't as it was written last"},
		"before its change": {"UPDATE kv SET rev = 1 WHERE key = 'm/key/00001'; DELETE FROM change WHERE key = 'm/key/00001'", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := dbPath(t)
			filled(t, path, 3)
			execute(t, raw(t, path), c.damage)
			err := open(t, path, sqlite.Options{}).Check(t.Context(), false)
			if c.says == "" && err != nil {
				t.Errorf("a store that is whole: %v", err)
			}
			if c.says != "" && (!errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("it says: %v", err)
			}
		})
	}
}

// TestAStoreOfAFormerFormatGetsTheNumberOfThisOne: no older program opens it
// then.
func TestAStoreOfAFormerFormatGetsTheNumberOfThisOne(t *testing.T) {
	t.Parallel()
	for name, former := range map[string]string{
		"1": "DROP TABLE boot; PRAGMA user_version = 1",
		"2": "PRAGMA user_version = 2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			formerFormat(t, former)
		})
	}
}

// formerFormat opens a store that a statement makes one of a former format.
func formerFormat(t *testing.T, former string) {
	t.Helper()
	path := dbPath(t)
	filled(t, path, 3)
	execute(t, raw(t, path), former)
	refusal := errors.New("somebody works on it")
	read := func(r store.Reader) error {
		if kv, err := r.Get("m/key/00001"); err != nil || len(kv.Value) != 300 {
			t.Errorf("before, a key has %q, %v", kv.Value, err)
		}
		return refusal
	}
	if _, err := sqlite.Open(path, sqlite.Options{Former: read}); !errors.Is(err, refusal) {
		t.Errorf("it is opened though that was refused: %v", err)
	}
	s := open(t, path, sqlite.Options{})
	if got := value(t, s, "m/key/00001"); len(got) != 300 {
		t.Errorf("a key has %q", got)
	}
	again := open(t, path, sqlite.Options{Former: read})
	if got := value(t, again, "m/key/00001"); len(got) != 300 {
		t.Errorf("a key has %q", got)
	}
	var version int
	if err := raw(t, path).QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&version); err != nil || version != 3 {
		t.Errorf("the format is %d (%v)", version, err)
	}
}
