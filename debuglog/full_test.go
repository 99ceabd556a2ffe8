package debuglog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/durable"
)

// TestALogThatCannotBeSetAsideIsWrittenOn: neither the line that finds the log
// full is lost, nor those after it, and it is set aside once that can be done.
func TestALogThatCannotBeSetAsideIsWrittenOn(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func(t *testing.T, l *Log) (mend func()){
		"no new one can be made": func(_ *testing.T, l *Log) func() {
			l.disk.Around = func(s durable.Step, _, whole func() error) error {
				if s.Do == durable.Create {
					return errors.New("too many open files")
				}
				return whole()
			}
			return func() { l.disk.Around = nil }
		},
		"something is in the way": func(t *testing.T, l *Log) func() {
			dir := l.path + ".1"
			if err := os.MkdirAll(filepath.Join(dir, "full"), 0o700); err != nil {
				t.Fatal(err)
			}
			return func() { os.RemoveAll(dir) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "debug.log")
			l, err := Open(durable.Disk{}, path)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			mend := broken(t, l)
			l.room.budget = -1
			if err := l.Write(Entry{Message: "full"}); err == nil {
				t.Error("nobody was told")
			}
			l.room.budget = rotateAt
			if err := l.Write(Entry{Message: "more"}); err != nil {
				t.Error(err)
			}
			mend()
			l.room.budget = -1
			if err := l.Write(Entry{Message: "new"}); err != nil {
				t.Error(err)
			}
			for path, want := range map[string][]string{path + ".1": {"full", "more"}, path: {"new"}} {
				var got []string
				if err := readOne(path, func(e Entry) error { got = append(got, e.Message); return nil }); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s has %q, want %q", filepath.Base(path), got, want)
				}
			}
		})
	}
}

// TestAFloodLeavesTheReserveFree writes without end to a log on a small disk, on
// which somebody else takes what is left meanwhile: the reserve stays free as
// long as anybody can see to it, the newest lines are there, and the log says
// what it has dropped.
func TestAFloodLeavesTheReserveFree(t *testing.T) {
	t.Parallel()
	const disk = 100 << 20
	path := filepath.Join(t.TempDir(), "debug.log")
	l, err := Open(durable.Disk{}, path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	others := int64(0)
	free := func() int64 {
		left := disk - others
		for _, p := range []string{path, path + ".1"} {
			if st, err := os.Stat(p); err == nil {
				left -= st.Size()
			}
		}
		return left
	}
	l.room.ask = func(string) (uint64, uint64, error) { return uint64(max(free(), 0)), disk, nil }
	line := strings.Repeat("x", 1<<10)
	flood := func(mib int) {
		t.Helper()
		for range mib << 10 {
			if err := l.Write(Entry{Message: line}); err != nil {
				t.Fatal(err)
			}
		}
	}
	reserve := int64(Reserve(disk))
	others = 70 << 20 // the log has 14 MiB beside the reserve
	flood(40)
	if left := free(); left < reserve-lookEvery {
		t.Errorf("%d bytes are free, of a reserve of %d", left, reserve)
	}
	others = 90 << 20
	flood(10)
	if left := free(); left < disk-others-2*scarceAt-2*lookEvery {
		t.Errorf("%d bytes are left of 10 MiB", left)
	}
	dropped := ""
	for _, p := range []string{path + ".1", path} {
		if err := readOne(p, func(e Entry) error {
			if e.Module == "unitd.log" {
				dropped = e.Message
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if want := "older lines (1.0 MiB) were dropped, as the disk has little left, which is kept free"; dropped != want {
		t.Errorf("the log says %q, want %q", dropped, want)
	}
}

// TestLinesThatCannotBeWrittenAreCounted: the first is an error, and the log says
// how many there were once it can be written to again.
func TestLinesThatCannotBeWrittenAreCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "debug.log")
	full := false
	l, err := Open(durable.Disk{Around: func(s durable.Step, _, whole func() error) error {
		if full && s.Do == durable.Write {
			return syscall.ENOSPC
		}
		return whole()
	}}, path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)
	for n := range 5 {
		full = n > 0 && n < 4
		if err := l.Write(Entry{Time: at, Message: fmt.Sprint(n)}); (err != nil) != (n == 1) {
			t.Errorf("line %d: %v", n, err)
		}
	}
	var got []string
	if err := readOne(path, func(e Entry) error { got = append(got, e.Message); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"0", "3 lines (243 bytes) since 09:00:00 could not be written and were dropped", "4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
