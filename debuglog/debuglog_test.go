package debuglog_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/durable"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	entry := debuglog.Entry{Entity: "unit-shop-0", Level: "WARNING", Module: "unit.shop/0.install", Message: "m"}
	for _, test := range []struct {
		name   string
		filter debuglog.Filter
		want   bool
	}{
		{"the zero filter shows all", debuglog.Filter{}, true},
		{"a unit by its tag", debuglog.Filter{Include: []string{"unit-shop-0"}}, true},
		{"a unit by its name", debuglog.Filter{Include: []string{"shop/0"}}, true},
		{"another unit", debuglog.Filter{Include: []string{"shop/1"}}, false},
		{"a unit whose name begins alike", debuglog.Filter{Include: []string{"shop/00"}}, false},
		{"the application stands for its units", debuglog.Filter{Include: []string{"shop"}}, true},
		{"an application whose name begins alike", debuglog.Filter{Include: []string{"sho"}}, false},
		{"a pattern", debuglog.Filter{Include: []string{"unit-sh*"}}, true},
		{"a pattern that is broken matches nothing", debuglog.Filter{Include: []string{"unit-[*"}}, false},
		{"one of several", debuglog.Filter{Include: []string{"ledger", "shop"}}, true},
		{"exclude wins", debuglog.Filter{Include: []string{"shop"}, Exclude: []string{"shop/0"}}, false},
		{"exclude of another", debuglog.Filter{Exclude: []string{"ledger"}}, true},
		{"a module", debuglog.Filter{IncludeModule: []string{"unit.shop/0.install"}}, true},
		{"a module stands for those below it", debuglog.Filter{IncludeModule: []string{"unit"}}, true},
		{"a module that begins alike", debuglog.Filter{IncludeModule: []string{"uni"}}, false},
		{"a module left out", debuglog.Filter{ExcludeModule: []string{"unit.shop/0"}}, false},
		{"the same level", debuglog.Filter{Level: "WARNING"}, true},
		{"a less severe level", debuglog.Filter{Level: "INFO"}, true},
		{"a more severe level", debuglog.Filter{Level: "ERROR"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.filter.Match(entry); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func write(t *testing.T, l *debuglog.Log, messages ...string) {
	t.Helper()
	for _, m := range messages {
		if err := l.Write(debuglog.Entry{Time: time.Now(), Entity: "unit-a-0", Level: "INFO", Message: m}); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, path string) *debuglog.Log {
	t.Helper()
	l, err := debuglog.Open(durable.Disk{}, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func all(t *testing.T, path string) []string {
	t.Helper()
	var out []string
	err := debuglog.ReadAll(path, func(e debuglog.Entry) error {
		out = append(out, e.Message)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatWasWrittenIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "debug.log")
	if got := all(t, path); len(got) != 0 {
		t.Errorf("of no log: %v", got)
	}
	l := open(t, path)
	write(t, l, "one", "two\nlines")
	if got := all(t, path); !slices.Equal(got, []string{"one", "two\nlines"}) {
		t.Errorf("%q", got)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	stop := errors.New("stop")
	if err := debuglog.ReadAll(path, func(debuglog.Entry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

func TestALineThatIsNoEntryIsPassedOver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "debug.log")
	l := open(t, path)
	write(t, l, "one")
	if err := appendTo(path, "not an entry\n"); err != nil {
		t.Fatal(err)
	}
	write(t, l, "two")
	if got := all(t, path); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%q", got)
	}
}

func TestALineThatWasCutOffTakesNoOtherWithIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "debug.log")
	write(t, open(t, path), "one")
	if err := appendTo(path, `{"message":"hal`); err != nil {
		t.Fatal(err)
	}
	write(t, open(t, path), "two", "three")
	if got := all(t, path); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("%q", got)
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// TestFollow follows a log that isn't there yet, is written to, also half a
// line at a time, and is set aside and begun anew.
func TestFollow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "made", "debug.log")
	next, end := follow(t, path)
	l := open(t, path)
	write(t, l, "one")
	next("one")
	for _, part := range []string{`{"mess`, `age":"two"}`, "\n"} {
		if err := appendTo(path, part); err != nil {
			t.Fatal(err)
		}
	}
	next("two")
	l.Close()
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	l = open(t, path)
	write(t, l, "three")
	next("three")
	if err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// follow follows a log, once it has caught up with what is there: next waits for
// a message, and end ends it.
func follow(t *testing.T, path string) (next func(want string), end func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	got, caughtUp, done := make(chan string, 100), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- debuglog.Follow(ctx, path, func(e debuglog.Entry) error {
			got <- e.Message
			return nil
		}, func() error { close(caughtUp); return nil })
	}()
	next = func(want string) {
		t.Helper()
		select {
		case m := <-got:
			if m != want {
				t.Fatalf("%q, want %q", m, want)
			}
		case err := <-done:
			t.Fatalf("waiting for %q: %v", want, err)
		}
	}
	<-caughtUp
	return next, func() error {
		cancel()
		return <-done
	}
}

func TestAFullLogIsSetAside(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "debug.log")
	write(t, open(t, path), "before")
	// A hole is as good as what would take long to write.
	const full = 65 << 20
	if err := os.Truncate(path, full); err != nil {
		t.Fatal(err)
	}
	write(t, open(t, path), "after")
	if st, err := os.Stat(path + ".1"); err != nil || st.Size() != full {
		t.Errorf("what was set aside: %v, %v", st, err)
	}
	if st, err := os.Stat(path); err != nil || st.Size() > 4096 {
		t.Errorf("what was begun: %v, %v", st, err)
	}
}

func TestHandlerWritesWhatAnAgentLogs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "debug.log")
	log := slog.New(debuglog.Handler{Log: open(t, path), Entity: "machine-0", Module: "unitd", Level: slog.LevelInfo})
	log.Debug("not shown")
	log.Info("ready")
	log.With("unit", "shop/0").Error("cannot", "err", errors.New("no"), "n", 2)
	var got []string
	err := debuglog.ReadAll(path, func(e debuglog.Entry) error {
		got = append(got, fmt.Sprintf("%s %s %s %s", e.Entity, e.Level, e.Module, e.Message))
		return nil
	})
	want := []string{`machine-0 INFO unitd ready`, `unit-shop-0 ERROR unitd cannot err="no" n="2"`}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
}
