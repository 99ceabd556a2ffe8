package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/state/store"
)

// answers is what a store says to every kind of question.
func answers(t *rapid.T, s *Store, keys []string) []string {
	var out []string
	say := func(what string, v any, err error) {
		if errors.Is(err, errors.NotFound) {
			err = errors.New("not found")
		}
		out = append(out, fmt.Sprintf("%s: %v %v", what, v, err))
	}
	rev, err := s.View(context.Background(), func(r store.Reader) error {
		for _, key := range keys {
			kv, err := r.Get(key)
			kv.Value = []byte(fmt.Sprint(len(kv.Value)))
			say("get "+key, kv, err)
		}
		for _, prefix := range []string{"a/", "b", "zz"} {
			for name, ask := range map[string]func() ([]store.KV, error){
				"list":  func() ([]store.KV, error) { return r.List(prefix) },
				"page":  func() ([]store.KV, error) { return r.Page(prefix, "a/1", 2) },
				"keys":  func() ([]store.KV, error) { return r.Keys(prefix, "", 3) },
				"since": func() ([]store.KV, error) { return r.Since(prefix, r.Rev()-3) },
				"all":   func() ([]store.KV, error) { return r.Since(prefix, 0) },
			} {
				kvs, err := ask()
				for i := range kvs {
					kvs[i].Value = []byte(fmt.Sprint(len(kvs[i].Value)))
				}
				if len(kvs) == 0 {
					kvs = nil
				}
				say(name+" "+prefix, kvs, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	out = append(out, fmt.Sprint("at ", rev))
	slices.Sort(out)
	return out
}

// Whoever writes, and whatever: a store that answers from memory says what one says
// that asks the file, also of large values, and of leases that come, are kept alive,
// end and are over.
func TestMemorySaysWhatTheFileSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "mirror")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		up := time.Hour
		open := func(after int) *Store {
			s, err := Open(filepath.Join(dir, "store.db"), Options{MirrorAfter: after, Up: func() (string, time.Duration) { return "boot", up }})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		memory, file := open(1), open(1<<60)
		defer memory.Close()
		defer file.Close()
		keys := []string{"a/1", "a/2", "a/22", "a/3", "b/1", "c"}
		var leases []store.LeaseID
		key := rapid.SampledFrom(keys)
		either := rapid.Map(rapid.Bool(), func(m bool) *Store {
			if m {
				return memory
			}
			return file
		})
		ctx := context.Background()
		must := func(err error) {
			if err != nil && !errors.Is(err, errors.NotFound) {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				many, fails := rapid.IntRange(1, 3).Draw(t, "keys"), rapid.IntRange(0, 4).Draw(t, "fails") == 0
				_, err := either.Draw(t, "store").Update(ctx, func(tx store.Tx) error {
					for range many {
						k := key.Draw(t, "key")
						size := rapid.SampledFrom([]int{0, 5, mirrorValue, mirrorValue + 1}).Draw(t, "size")
						lease := store.LeaseID(0)
						if len(leases) > 0 && rapid.Bool().Draw(t, "leased") {
							lease = rapid.SampledFrom(leases).Draw(t, "lease")
						}
						if err := tx.PutLease(k, make([]byte, size), lease); err != nil {
							return err
						}
						kv, err := tx.Get(k)
						if err != nil || len(kv.Value) != size || kv.Lease != lease {
							t.Fatalf("own write of %s: %d bytes, %v", k, len(kv.Value), err)
						}
						if since, err := tx.Since(k, tx.Rev()); err != nil || len(since) == 0 {
							t.Fatalf("own write of %s isn't new: %v", k, err)
						}
					}
					if fails {
						return errors.NotFoundf("a reason to commit")
					}
					return nil
				}, store.Relaxed)
				must(err)
			},
			"delete": func(t *rapid.T) {
				_, err := either.Draw(t, "store").Update(ctx, func(tx store.Tx) error { return tx.Delete(key.Draw(t, "key")) }, store.Relaxed)
				must(err)
			},
			"grant": func(t *rapid.T) {
				id, err := either.Draw(t, "store").Grant(ctx, time.Duration(rapid.IntRange(1, 20).Draw(t, "s"))*time.Second)
				must(err)
				leases = append(leases, id)
			},
			"keep alive": func(t *rapid.T) {
				if len(leases) > 0 {
					must(either.Draw(t, "store").KeepAlive(ctx, rapid.SampledFrom(leases).Draw(t, "lease")))
				}
			},
			"revoke": func(t *rapid.T) {
				if len(leases) > 0 {
					must(either.Draw(t, "store").Revoke(ctx, rapid.SampledFrom(leases).Draw(t, "lease")))
				}
			},
			"time": func(t *rapid.T) { up += time.Duration(rapid.IntRange(-2, 12).Draw(t, "s")) * time.Second },
			"compact": func(t *rapid.T) {
				must(either.Draw(t, "store").Compact(ctx, int64(rapid.IntRange(0, 30).Draw(t, "rev"))))
			},
			"": func(t *rapid.T) {
				have, want := answers(t, memory, keys), answers(t, file, keys)
				for i := range want {
					if have[i] != want[i] {
						t.Fatalf("from memory\n  %s\nfrom the file\n  %s", have[i], want[i])
					}
				}
			},
		})
	})
}

// Who goes by another side file is found out: memory isn't believed then.
func TestMemoryIsGivenUpWhereTheSideFileIsAnother(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	open := func() *Store {
		s, err := Open(path, Options{MirrorAfter: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	has := func(s *Store, key string) bool {
		_, err := s.View(t.Context(), func(r store.Reader) error {
			_, err := r.Get(key)
			return err
		})
		return err == nil
	}
	s := open()
	if err := write(s, "a"); err != nil || !has(s, "a") {
		t.Fatal(err)
	}
	s.verify()
	if err := os.Remove(path + "-rev"); err != nil {
		t.Fatal(err)
	}
	if err := write(open(), "b"); err != nil {
		t.Fatal(err)
	}
	s.verify()
	if !has(s, "b") {
		t.Error("it isn't seen")
	}
}

// What was deleted and written again, by somebody else, was both.
func TestMemoryTellsOfDeletionsThatAreOver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(path, Options{MirrorAfter: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	see := func() {
		if _, err := s.View(t.Context(), func(store.Reader) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	see()
	if err := write(other, "k"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Update(t.Context(), func(tx store.Tx) error { return tx.Delete("k") }); err != nil {
		t.Fatal(err)
	}
	if err := write(other, "k"); err != nil {
		t.Fatal(err)
	}
	see()
	have, err := s.news(0)
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.changes(0)
	if err != nil || !slices.Equal(have.Events, want.Events) {
		t.Errorf("from memory %+v, from the file %+v, %v", have.Events, want.Events, err)
	}
}

// TestMemoryIsMadeAgainAfterAnError of the file, which may pass.
func TestMemoryIsMadeAgainAfterAnError(t *testing.T) {
	t.Parallel()
	const after = 3
	s, err := Open(filepath.Join(t.TempDir(), "store.db"), Options{MirrorAfter: after})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	read := func() (fromMemory bool) {
		t.Helper()
		_, err := s.View(t.Context(), func(r store.Reader) error {
			fromMemory = r.(*reader).known != nil
			_, err := r.Get("a")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return fromMemory
	}
	if err := write(s, "a"); err != nil {
		t.Fatal(err)
	}
	for range after {
		read()
	}
	if !read() {
		t.Fatal("nothing is in memory")
	}
	ended, cancel := context.WithCancel(t.Context())
	from, end, err := s.read.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	cancel()
	// Newer than what is in memory, and nothing of it can be read.
	if got := s.mirror.at(&reader{ctx: ended, tx: from, rev: 1 << 40}); got != nil {
		t.Fatalf("in memory is %+v", got)
	}
	if read() {
		t.Error("memory that couldn't be brought up to date answers")
	}
	for range after {
		read()
	}
	if !read() {
		t.Error("nothing is in memory any more")
	}
}
