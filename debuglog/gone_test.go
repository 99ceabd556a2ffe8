package debuglog_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestALogThatSomebodyTookAwayIsMadeAgain: it was deleted, renamed or cut to
// nothing, as logrotate and people do.
func TestALogThatSomebodyTookAwayIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(path string) error{
		"deleted": os.Remove,
		"renamed": func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
		"cut": func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "debug.log")
			l := open(t, path)
			write(t, l, "before")
			if err := take(path); err != nil {
				t.Fatal(err)
			}
			write(t, l, "after", "and on")
			if got := all(t, path); !slices.Equal(got, []string{"after", "and on"}) {
				t.Errorf("%q", got)
			}
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", st, err)
			}
		})
	}
}

// TestADeletedLogIsFreedThoughNobodyWrites: Look lets go of it.
func TestADeletedLogIsFreedThoughNobodyWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "debug.log")
	l := open(t, path)
	write(t, l, "before")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := l.Look(); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Size() != 0 {
		t.Errorf("the new one: %v, %v", st, err)
	}
}

// TestFollowGoesOnAfterALogThatWasTakenAway deletes the log that is followed, and
// cuts it to nothing.
func TestFollowGoesOnAfterALogThatWasTakenAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "debug.log")
	l := open(t, path)
	write(t, l, "one")
	next, end := follow(t, path)
	next("one")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, l, "two, a longer line than any that comes later")
	next("two, a longer line than any that comes later")
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write(t, l, "three")
	next("three")
	if err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
