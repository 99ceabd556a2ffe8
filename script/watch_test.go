package script_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script"
)

// TestAChangeRunsTheScriptsAgainThatItTouches, and no others.
func TestAChangeRunsTheScriptsAgainThatItTouches(t *testing.T) {
	t.Parallel()
	charm := t.TempDir()
	dir := filepath.Join(charm, "tests")
	other := filepath.Join(t.TempDir(), "tests")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		// As editors do it: another file takes its place.
		if err := os.WriteFile(path+"~", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+"~", path); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(charm, "metadata.yaml"), "name: app\n")
	write(filepath.Join(dir, "one.txtar"), "stop\n")
	write(filepath.Join(dir, "two.txtar"), "stop\n")
	write(filepath.Join(other, "far.txtar"), "exec cat $SCRIPT_DIR/../data\n")
	write(filepath.Join(filepath.Dir(other), "data"), "one\n")
	write(filepath.Join(other, "steps.txtar"), "stop\nexplore -runs 2 steps\n-- steps --\nexec cat $SCRIPT_DIR/../more\n")
	write(filepath.Join(filepath.Dir(other), "more"), "one\n")
	var lost atomic.Bool
	find := func() ([]string, error) {
		if lost.Load() {
			return nil, errors.New("lost")
		}
		here, err := script.Find(dir)
		if err != nil {
			return nil, err
		}
		there, err := script.Find(other)
		return append(here, there...), err
	}
	ctx, cancel := context.WithCancel(t.Context())
	rounds, ended := make(chan string), make(chan error)
	s := &script.Suite{Params: script.Params{Unitd: program(t), Isolate: model.IsolateOff}, Out: io.Discard}
	go func() {
		ended <- s.Watch(ctx, find, func(outcomes []script.Outcome, err error) {
			var words []string
			for _, o := range outcomes {
				words = append(words, o.Name+" "+o.Outcome)
			}
			if err != nil {
				words = append(words, "error")
			}
			slices.Sort(words)
			rounds <- strings.Join(words, ", ")
		})
	}()
	for _, step := range []struct {
		change func()
		want   string
	}{
		{func() {}, "far pass, one pass, steps pass, two pass"},
		{func() { write(filepath.Join(dir, "two.txtar"), "settle now\n") }, "two fail"},
		// What doesn't matter to a charm runs nothing: the round is that of what comes after it.
		{func() {
			write(filepath.Join(charm, ".git", "index"), "x")
			write(filepath.Join(dir, "new.txtar"), "stop\n")
		}, "new pass"},
		{func() { write(filepath.Join(charm, "src", "charm.py"), "pass\n") }, "new pass, one pass, two fail"},
		{func() { write(filepath.Join(charm, "src", "charm.py"), "pass # more\n") }, "new pass, one pass, two fail"},
		{func() { write(filepath.Join(filepath.Dir(other), "data"), "two\n") }, "far pass"},
		{func() { write(filepath.Join(filepath.Dir(other), "more"), "two\n") }, "steps pass"},
		{func() { write(filepath.Join(dir, "two.txtar"), "-- --\n") }, "error"},
		{func() { write(filepath.Join(dir, "two.txtar"), "stop\n") }, "two pass"},
		// What was found before counts once scripts are found again.
		{func() { lost.Store(true); write(filepath.Join(filepath.Dir(other), "nothing"), "") }, "error"},
		{func() { lost.Store(false); write(filepath.Join(dir, "one.txtar"), "stop\nstop\n") }, "one pass"},
	} {
		step.change()
		if got := <-rounds; got != step.want {
			t.Fatalf("ran %q, want %q", got, step.want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestARunTellsHowFarItHasCome while a script runs, and that there is nothing to show
// before it prints an outcome.
func TestARunTellsHowFarItHasCome(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var told []script.Progress
	outcomes := suite(t, map[string]string{"waits": "exec cat " + pipe + "\n"}, func(s *script.Suite) {
		s.Progress = func(p script.Progress) {
			told = append(told, p)
			if len(p.Running) > 0 {
				// The script then ends, if it reads already.
				if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
					f.Close()
				}
			}
		}
	})
	if len(outcomes) != 1 || outcomes[0].Outcome != script.Passed {
		t.Fatalf("outcomes: %+v", outcomes)
	}
	i := slices.IndexFunc(told, func(p script.Progress) bool {
		return p.Done == 0 && p.Of == 1 && len(p.Running) == 1 && p.Running[0].Name == "waits" && p.Running[0].For > 0
	})
	if i < 0 || len(told[len(told)-1].Running) != 0 {
		t.Errorf("told: %+v", told)
	}
}
