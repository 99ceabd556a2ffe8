package debuglog

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

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
			l.size = rotateAt + 1
			if err := l.Write(Entry{Message: "full"}); err == nil {
				t.Error("nobody was told")
			}
			if err := l.Write(Entry{Message: "more"}); err != nil {
				t.Error(err)
			}
			mend()
			l.size = rotateAt + 1
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
