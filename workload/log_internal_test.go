package workload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhyAPebbleHasEndedIsWhatItSaidLast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, printed, want string }{
		{"nothing", "", ""},
		{"one line", "cannot run daemon: cannot load plan: no\n", "cannot run daemon: cannot load plan: no"},
		{"the last of several", "cannot run daemon: old\ncannot run daemon: new\n", "cannot run daemon: new"},
		{"several lines", "cannot run daemon: yaml:\n  line 1: no\n  line 2: neither\n", "cannot run daemon: yaml: line 1: no line 2: neither"},
		{"of a former start", "cannot run daemon: old\n2026-03-01T09:30:00.125Z [pebble] Started daemon.\n", ""},
		{"a service's", "2026-03-01T09:30:00.125Z [web] cannot say hunter2\n", ""},
		{"no control characters", "cannot \x1b[31mrun\n", "cannot  [31mrun"},
		{"too long", "cannot " + strings.Repeat("x", 1000) + "\n", "cannot " + strings.Repeat("x", maxReason-8) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(c.printed), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := lastWords(path); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := lastWords(filepath.Join(t.TempDir(), "nothing")); got != "" {
		t.Errorf("of no file: %q", got)
	}
}

func TestWhatAPebblePrintsIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write := func(text string) {
		t.Helper()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	printed := func(lines int, want string) {
		t.Helper()
		got, err := Printed(path, lines)
		if err != nil || got != want {
			t.Errorf("%d lines are %q, %v; want %q", lines, got, err, want)
		}
	}
	write("one\ntwo\n")
	if err := bound(path); err != nil {
		t.Fatal(err)
	}
	printed(-1, "one\ntwo\n")
	printed(1, "two\n")
	printed(0, "")
	write(strings.Repeat(strings.Repeat("x", 99)+"\n", maxLog/100+1))
	if err := bound(path); err != nil {
		t.Fatal(err)
	}
	write("last\n") // by who has had it open all the time
	st, err := os.Stat(path)
	if err != nil || st.Size() > keptLog+5 || st.Size() < keptLog-200 {
		t.Errorf("it is %v, %v", st, err)
	}
	printed(2, strings.Repeat("x", 99)+"\nlast\n")
	if got, err := Printed(path+"x", -1); got != "" || err != nil {
		t.Errorf("of no file: %q, %v", got, err)
	}
	if err := bound(path + "x"); err != nil {
		t.Error(err)
	}
}
