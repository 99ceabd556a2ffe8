package etcd_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

func update(t testing.TB, s store.Store, fn func(store.Tx) error) int64 {
	t.Helper()
	rev, err := s.Update(t.Context(), fn)
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func put(t testing.TB, s store.Store, keys ...string) int64 {
	t.Helper()
	return update(t, s, func(tx store.Tx) error {
		for _, key := range keys {
			if err := tx.Put(key, []byte("v")); err != nil {
				return err
			}
		}
		return nil
	})
}

func remove(t testing.TB, s store.Store, keys ...string) {
	t.Helper()
	update(t, s, func(tx store.Tx) error {
		for _, key := range keys {
			if err := tx.Delete(key); err != nil {
				return err
			}
		}
		return nil
	})
}

// attempts is how often an Update calls its function that reads, finds the
// change made by somebody else after its first reading, and writes.
func attempts(t *testing.T, s, other store.Store, read func(store.Tx) error, change func()) int {
	t.Helper()
	n := 0
	update(t, s, func(tx store.Tx) error {
		n++
		if err := read(tx); err != nil && !errors.Is(err, errors.NotFound) {
			return err
		}
		if n == 1 {
			change()
		}
		return tx.Put("z/out", nil)
	})
	return n
}

func TestATransactionIsTriedAgainWhereWhatItReadHasChanged(t *testing.T) {
	t.Parallel()
	get := func(key string) func(store.Tx) error {
		return func(tx store.Tx) error { _, err := tx.Get(key); return err }
	}
	list := func(prefix string) func(store.Tx) error {
		return func(tx store.Tx) error { _, err := tx.List(prefix); return err }
	}
	page := func(prefix, after string, limit int) func(store.Tx) error {
		return func(tx store.Tx) error { _, err := tx.Page(prefix, after, limit); return err }
	}
	// many reads so much that what is compared has to be thrown together.
	many := func(tx store.Tx) error {
		for i := range 300 {
			if _, err := tx.Get(fmt.Sprintf("m/1/k%d/x", i)); err != nil && !errors.Is(err, errors.NotFound) {
				return err
			}
			if i%3 == 0 {
				if _, err := tx.List(fmt.Sprintf("m/1/l%d/", i)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, tt := range []struct {
		name    string
		read    func(store.Tx) error
		written string
		deleted string
		want    int
	}{
		{"a key that was written", get("m/1/unit/a"), "m/1/unit/a", "", 2},
		{"a key that was deleted", get("m/1/unit/a"), "", "m/1/unit/a", 2},
		{"a key that was made", get("m/1/unit/new"), "m/1/unit/new", "", 2},
		{"another key", get("m/1/unit/a"), "m/1/unit/b", "m/1/unit/c", 1},
		{"a list with a new key", list("m/1/unit/"), "m/1/unit/new", "", 2},
		{"a list with a key that was written", list("m/1/unit/"), "m/1/unit/a", "", 2},
		{"a list with a key that was deleted", list("m/1/unit/"), "", "m/1/unit/b", 2},
		{"a list deep below with a key that was deleted", list("m/1/deep/x/y/"), "", "m/1/deep/x/y/z", 2},
		{"a list by half a name with a key that was deleted", list("m/1/unit/b"), "", "m/1/unit/b", 2},
		{"a list of a model with a key that was deleted", list("m/1/"), "", "m/1/deep/x/y/z", 2},
		{"a list of everything with a key that was deleted", list(""), "", "top", 2},
		{"a list of another model", list("m/1/"), "m/2/unit/new", "m/2/unit/a", 1},
		{"a list of another kind", list("m/1/unit/"), "m/1/app/new", "m/1/deep/x/y/z", 1},
		{"a page with a new key", page("m/1/unit/", "", 2), "m/1/unit/aa", "", 2},
		{"a page with a new key after it", page("m/1/unit/", "", 2), "m/1/unit/c0", "", 1},
		{"a page to the end with a new key at the end", page("m/1/unit/", "b", 9), "m/1/unit/new", "", 2},
		{"one of many keys that was made", many, "m/1/k77/x", "", 2},
		{"one of many lists with a new key", many, "m/1/l99/new", "", 2},
		{"one of many lists with a key that was deleted", many, "", "m/1/l99/old", 2},
		{"many keys and lists without the one", many, "m/2/unit/new", "m/2/unit/a", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := etcdtest.URL(t)
			s, other := open(t, url), open(t, url)
			put(t, s, "top", "m/1/app/a", "m/1/unit/a", "m/1/unit/b", "m/1/unit/c", "m/1/deep/x/y/z", "m/1/l99/old", "m/2/unit/a")
			got := attempts(t, s, other, tt.read, func() {
				if tt.written != "" {
					put(t, other, tt.written)
				}
				if tt.deleted != "" {
					remove(t, other, tt.deleted)
				}
			})
			if got != tt.want {
				t.Errorf("it took %d attempts, want %d", got, tt.want)
			}
		})
	}
}

func TestATransactionIsTriedAgainWhereAListWasChangedByDeletionsInMoreDirectoriesThanThereIsRoomFor(t *testing.T) {
	t.Parallel()
	url := etcdtest.URL(t)
	s, other := open(t, url), open(t, url)
	for _, shape := range []string{"m/1/kind%03d/x", "m/%03d/unit/x", "%03d/x"} {
		var keys []string
		for i := range store.MaxWrites {
			keys = append(keys, fmt.Sprintf(shape, i))
		}
		put(t, s, keys...)
		read := func(tx store.Tx) error { _, err := tx.List(keys[77][:len(keys[77])-1]); return err }
		if got := attempts(t, s, other, read, func() { remove(t, other, keys...) }); got != 2 {
			t.Errorf("%s: it took %d attempts, want 2", shape, got)
		}
	}
}

// The longest keys there can be, below the longest prefix, as many of them as
// there can be, read and written at once.
func TestATransactionAtAllLimitsIsTaken(t *testing.T) {
	t.Parallel()
	url := etcdtest.URL(t) + "-" + strings.Repeat("p", 80)
	s := open(t, url)
	key := func(i int) string { return fmt.Sprintf("m/1/%03d/%s", i, strings.Repeat("k", store.MaxKey-8)) }
	left := store.MaxBytes - store.MaxWrites*store.MaxKey
	value := bytes.Repeat([]byte{'v'}, left/store.MaxWrites)
	update(t, s, func(tx store.Tx) error {
		for i := range 400 {
			if _, err := tx.Get(key(i)); err != nil && !errors.Is(err, errors.NotFound) {
				return err
			}
		}
		for i := range 100 {
			if _, err := tx.List(key(1000 + i)[:store.MaxKey-1]); err != nil {
				return err
			}
		}
		for i := range store.MaxWrites {
			if err := tx.Put(key(i), value); err != nil {
				return err
			}
		}
		return nil
	})
	var all []string
	for i := range store.MaxWrites {
		all = append(all, key(i))
	}
	remove(t, s, all...)
	// No comparison is thrown together: as many as fit.
	update(t, s, func(tx store.Tx) error {
		for i := range 127 {
			if _, err := tx.Get(key(i)); err != nil && !errors.Is(err, errors.NotFound) {
				return err
			}
		}
		return firstError(tx.Put(key(0), make([]byte, store.MaxValue)), tx.Put(key(1), make([]byte, store.MaxBytes-store.MaxValue-2*store.MaxKey)))
	})
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestAStoreOfANewerFormatIsRefused(t *testing.T) {
	t.Parallel()
	url := etcdtest.URL(t)
	s := open(t, url)
	etcd.SetFormat(t.Context(), s, "4")
	o, err := etcd.ParseURL(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := etcd.Open(t.Context(), o); !errors.Is(err, errors.NotValid) || !strings.Contains(err.Error(), "newer unitd") {
		t.Errorf("opening gave %v", err)
	}
}

// TestAStoreOfAFormerFormatGetsTheNumberOfThisOne: no older program opens it
// then. Who may speak against it is asked before.
func TestAStoreOfAFormerFormatGetsTheNumberOfThisOne(t *testing.T) {
	t.Parallel()
	for _, former := range []string{"1", "2"} {
		url := etcdtest.URL(t)
		s := open(t, url)
		if _, err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Put("a", []byte("1")) }); err != nil {
			t.Fatal(err)
		}
		etcd.SetFormat(t.Context(), s, former)
		o, err := etcd.ParseURL(url, nil)
		if err != nil {
			t.Fatal(err)
		}
		refusal := errors.New("somebody works on it")
		o.Former = func(r store.Reader) error {
			if _, err := r.Get("a"); err != nil {
				t.Errorf("what is in it can't be read: %v", err)
			}
			return refusal
		}
		if _, err := etcd.Open(t.Context(), o); !errors.Is(err, refusal) {
			t.Errorf("it is opened though that was refused: %v", err)
		}
		if got := etcd.FormatOf(t.Context(), s); got != former {
			t.Errorf("the format is %s, want %s", got, former)
		}
		if got := etcd.FormatOf(t.Context(), open(t, url)); got != "3" {
			t.Errorf("the format is %s", got)
		}
	}
}
