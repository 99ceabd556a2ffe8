package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
)

// raw is a connection past the store, in a database of its own making.
func raw(t testing.TB, path string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); db.Close() })
	return conn
}

func execute(t testing.TB, conn *sql.Conn, query string, args ...any) {
	t.Helper()
	if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func TestWhatIsNotAStoreIsRefusedInOneLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		make func(t *testing.T, path string)
		want string
		kind error
	}{
		{"a short text", func(t *testing.T, path string) {
			write(t, path, []byte("hello\n"))
		}, "the file is not a store", errors.NotValid},
		{"a long text", func(t *testing.T, path string) {
			write(t, path, bytes.Repeat([]byte("0123456789abcde\n"), 1000))
		}, "the file is not a store", errors.NotValid},
		{"a database of a newer unitd", func(t *testing.T, path string) {
			execute(t, raw(t, path), "PRAGMA user_version = 1000")
		}, "made by a newer unitd (format 1000", errors.NotValid},
		{"a database of another program", func(t *testing.T, path string) {
			execute(t, raw(t, path), "CREATE TABLE theirs (x)")
		}, "the file is not a store", errors.NotValid},
		{"a folder", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "it is not a file", errors.NotValid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := dbPath(t)
			tt.make(t, path)
			before, _ := os.ReadFile(path)
			s, err := sqlite.Open(path, sqlite.Options{})
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if tt.kind != nil && !errors.Is(err, tt.kind) {
				t.Errorf("got %v, want %v", err, tt.kind)
			}
			prefix := "cannot open the store " + path + ": "
			if msg := err.Error(); !strings.HasPrefix(msg, prefix) || !strings.Contains(msg, tt.want) || strings.Contains(msg, "\n") {
				t.Errorf("the message is %q, want one line with %q", msg, prefix+"…"+tt.want)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAStoreInAFolderThatDoesNotExistIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nowhere", "store.db")
	_, err := sqlite.Open(path, sqlite.Options{})
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got %v, want %v", err, os.ErrNotExist)
	}
}

func TestDamageIsReportedNotReadOver(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path, sqlite.Options{})
	for i := range 50 {
		update(t, s, func(tx store.Tx) error { return tx.Put(fmt.Sprint("k/", i), make([]byte, 2000)) }, store.Relaxed)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 8192; i < len(b); i++ { // all but the first two pages
		b[i] = 0xa5
	}
	write(t, path, b)
	if s, err = sqlite.Open(path, sqlite.Options{}); err == nil {
		defer s.Close()
		_, err = s.View(t.Context(), func(r store.Reader) error {
			_, err := r.List("")
			return err
		})
	}
	if err == nil || !strings.Contains(err.Error(), "malformed") || strings.Contains(err.Error(), "\n") {
		t.Fatalf("got %v, want one line that says the database is malformed", err)
	}
}

func TestOnlyTheOwnerCanReadTheFiles(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path, sqlite.Options{})
	update(t, s, func(tx store.Tx) error { return tx.Put("a", nil) })
	watch(t, s, "", 0)
	for _, suffix := range []string{"", "-wal", "-shm", "-rev"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("the mode of %s is %o, want 600", info.Name(), mode)
		}
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 4 {
		t.Errorf("the files are %v (%v), want those four", files, err)
	}
}

func TestAPathMayHaveAnyCharacters(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b?c#d%41;é'\"&=:")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "it?mode=memory")
	s := open(t, path, sqlite.Options{})
	update(t, s, func(tx store.Tx) error { return tx.Put("a", []byte("1")) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := value(t, open(t, path, sqlite.Options{}), "a"); got != "1" {
		t.Fatalf("got %q from the store opened again", got)
	}
}

func TestContentAndRevisionsOutliveTheStore(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path, sqlite.Options{})
	from := update(t, s, func(tx store.Tx) error { return tx.Put("a", []byte("1")) })
	rev := update(t, s, func(tx store.Tx) error { return tx.Put("b", []byte("1")) }, store.Relaxed)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, sqlite.Options{})
	if e := await(t, watch(t, s, "", from), "b", false); e.Rev != rev {
		t.Fatalf("told of revision %d, want %d", e.Rev, rev)
	}
	if next := update(t, s, func(tx store.Tx) error { return tx.Put("a", nil) }); next != rev+1 {
		t.Fatalf("the next revision is %d, want %d", next, rev+1)
	}
}

func TestAnUpdateThatWaitsForTheLockGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path, sqlite.Options{})
	conn := raw(t, path)
	execute(t, conn, "BEGIN IMMEDIATE")
	begin := time.Now()
	var wg sync.WaitGroup
	for range 2 { // the one that waits for the lock, and the one behind it
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := s.Update(ctx, func(tx store.Tx) error { return tx.Put("a", nil) })
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
			}
		})
	}
	wg.Wait()
	if took := time.Since(begin); took > 5*time.Minute {
		t.Errorf("giving up after 50 ms took %v", took)
	}
	value(t, s, "a") // readers don't wait
	execute(t, conn, "ROLLBACK")
	update(t, s, func(tx store.Tx) error { return tx.Put("a", nil) })
}

func TestCloseDoesNotWaitForTheLock(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path, sqlite.Options{})
	conn := raw(t, path)
	execute(t, conn, "BEGIN IMMEDIATE")
	result := make(chan error, 1)
	go func() {
		_, err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Put("a", nil) })
		result <- err
	}()
	begin := time.Now()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, store.ErrClosed) {
		t.Errorf("the waiting Update returned %v, want ErrClosed", err)
	}
	if took := time.Since(begin); took > 5*time.Minute {
		t.Errorf("Close took %v", took)
	}
	execute(t, conn, "ROLLBACK")
}

func TestHistoryIsKeptWithinBounds(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path, sqlite.Options{})
	old := update(t, s, func(tx store.Tx) error { return tx.Put("a", nil) })
	// As if a million commits had been made.
	conn := raw(t, path)
	execute(t, conn, "UPDATE head SET rev = 1000000")
	execute(t, conn, "INSERT INTO change WITH RECURSIVE n(i) AS (VALUES (850000) UNION ALL SELECT i+1 FROM n WHERE i < 1000000) SELECT i, 'b', 0 FROM n")
	var rev int64
	for range 1001 {
		rev = update(t, s, func(tx store.Tx) error { return tx.Put("c", nil) }, store.Relaxed)
	}
	var n int
	if err := conn.QueryRowContext(t.Context(), "SELECT count(*) FROM change").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n > 110_000 || n < 90_000 {
		t.Errorf("%d changes are kept, want about 100000", n)
	}
	if b := <-watch(t, s, "", old); !b.Resync {
		t.Errorf("told %v after what is forgotten, want a Resync", b)
	}
	if e := await(t, watch(t, s, "", rev-1), "c", false); e.Rev != rev {
		t.Errorf("told of revision %d, want %d", e.Rev, rev)
	}
}

func TestViewsWithinViewsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	s := open(t, dbPath(t), sqlite.Options{})
	update(t, s, func(tx store.Tx) error { return tx.Put("a", []byte("1")) })
	const n = 16
	var inside, all sync.WaitGroup
	inside.Add(n)
	for range n {
		all.Go(func() {
			_, err := s.View(t.Context(), func(store.Reader) error {
				inside.Done()
				inside.Wait()
				if got := value(t, s, "a"); got != "1" {
					t.Errorf("got %q", got)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// Not parallel, so that no other test's goroutines and files are about.
func TestCloseLeavesNothingBehind(t *testing.T) {
	files := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0 // no such thing here
		}
		return len(all)
	}
	path := dbPath(t)
	cycle := func() {
		s := open(t, path, sqlite.Options{})
		for _, prefix := range []string{"", "a", "b"} {
			watch(t, s, prefix, 0)
		}
		update(t, s, func(tx store.Tx) error { return tx.Put("a", nil) })
		value(t, s, "a")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cycle()
	goroutines, fds := runtime.NumGoroutine(), files()
	for range 10 {
		cycle()
	}
	// A goroutine that has done its last step may take a moment to be gone.
	for end := time.Now().Add(5 * time.Minute); ; runtime.Gosched() {
		if runtime.NumGoroutine() <= goroutines && files() <= fds {
			return
		}
		if time.Now().After(end) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines and %d files became %d and %d\n%s", goroutines, fds,
				runtime.NumGoroutine(), files(), stacks[:runtime.Stack(stacks, true)])
		}
	}
}
