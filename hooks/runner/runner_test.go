package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/hooks/runner"
)

type sink struct {
	mu    sync.Mutex
	lines map[runner.Stream][]string
}

func (s *sink) add(st runner.Stream, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines == nil {
		s.lines = map[runner.Stream][]string{}
	}
	s.lines[st] = append(s.lines[st], line)
}

func (s *sink) get(st runner.Stream) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.lines[st]...)
}

func script(t testing.TB, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hook")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// ok says whether the program exited with 0.
func ok(o runner.Outcome) bool { return o.Err == nil && o.Exit == 0 }

func newRunner(t testing.TB) *runner.Runner {
	r := &runner.Runner{}
	t.Cleanup(r.Close)
	return r
}

func TestOutputComesWholeAndByLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	var out sink
	path := script(t, `echo one; echo two >&2; printf 'nul\000here\n'; printf '\377\n'; cat "$1"; printf last`)
	file := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(file, []byte(long+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := newRunner(t).Run(context.Background(), runner.Cmd{
		Path: path, Args: []string{file}, Env: []string{"PATH=/bin:/usr/bin"}, Output: out.add,
	})
	if !ok(o) {
		t.Fatalf("got %+v", o)
	}
	want := []string{"one", "nul\x00here", "\xff", long, "last"}
	if got := out.get(runner.Stdout); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("stdout: got %d lines, want %d", len(got), len(want))
	}
	if got := out.get(runner.Stderr); fmt.Sprint(got) != "[two]" {
		t.Errorf("stderr: got %q", got)
	}
}

func TestHowItEnded(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, body string
		want       runner.Outcome
	}{
		{"exit 0 is success", "exit 0", runner.Outcome{}},
		{"an exit code is passed on", "exit 7", runner.Outcome{Exit: 7}},
		{"a signal is named", "kill -SEGV $$", runner.Outcome{Exit: -1, Signal: syscall.SIGSEGV}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := newRunner(t).Run(context.Background(), runner.Cmd{Path: script(t, row.body)}); got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}

func TestWhatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	path := script(t, "")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	o := newRunner(t).Run(context.Background(), runner.Cmd{Path: path})
	if o.Err == nil || !strings.Contains(o.Err.Error(), "permission denied") {
		t.Errorf("got %+v", o)
	}
}

func TestTheEnvironmentIsWhatIsGiven(t *testing.T) {
	t.Parallel()
	var out sink
	newRunner(t).Run(context.Background(), runner.Cmd{
		Path: "/usr/bin/env", Env: []string{"A=1", "B=2"}, Output: out.add,
	})
	if got := fmt.Sprint(out.get(runner.Stdout)); got != "[A=1 B=2]" {
		t.Errorf("got %s", got)
	}
}

// TestADaemonThatHoldsTheOutputDoesNotHoldTheHook starts one that prints after
// its hook has ended; what it prints is still passed on.
func TestADaemonThatHoldsTheOutputDoesNotHoldTheHook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	late := make(chan string, 1)
	var out sink
	output := func(s runner.Stream, line string) {
		out.add(s, line)
		if line == "late" {
			late <- line
		}
	}
	r := newRunner(t)
	o := r.Run(context.Background(), runner.Cmd{
		Path: script(t, `(read x < `+fifo+`; echo late) & echo early`), Env: []string{"PATH=/bin:/usr/bin"},
		Output: output, Linger: 10 * time.Millisecond,
	})
	if !ok(o) || fmt.Sprint(out.get(runner.Stdout)) != "[early]" {
		t.Fatalf("got %+v, %q", o, out.get(runner.Stdout))
	}
	if err := os.WriteFile(fifo, []byte("x\n"), 0); err != nil {
		t.Fatal(err)
	}
	<-late
}

func TestAStoppedProgramIsEndedWithItsChildren(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pidFile := filepath.Join(dir, "pid")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var out sink
	output := func(s runner.Stream, line string) {
		out.add(s, line)
		if line == "ready" {
			cancel()
		}
	}
	o := newRunner(t).Run(ctx, runner.Cmd{
		Path: script(t, `trap '' TERM; sh -c 'trap "" TERM; echo $$ > `+pidFile+`; echo ready; while :; do sleep 60; done'`),
		Env:  []string{"PATH=/bin:/usr/bin"}, Output: output, Grace: 50 * time.Millisecond,
	})
	if !o.Stopped || o.Signal != syscall.SIGKILL {
		t.Errorf("got %+v", o)
	}
	b, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	waitGone(t, pid)
}

// waitGone waits until the process has gone or is a zombie that somebody else
// has to reap.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for time.Now().Before(deadline) {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("process %d lives", pid)
}

func TestWhatAKilledAgentLeftRunningIsEnded(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	mark := "RUNNER_TEST=" + t.TempDir()
	started := make(chan string, 1)
	ended := make(chan runner.Outcome, 1)
	r := newRunner(t)
	go func() {
		ended <- r.Run(context.Background(), runner.Cmd{
			Path: script(t, `setsid sh -c 'echo $$; exec sleep 600' & wait`),
			Env:  []string{"PATH=/bin:/usr/bin", mark},
			Output: func(_ runner.Stream, line string) {
				started <- line
			},
		})
	}()
	pid, err := strconv.Atoi(<-started)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := runner.EndLeftover(context.Background(), mark, "PATH=/bin:/usr/bin"); n < 2 {
		t.Errorf("ended %d processes, want the hook and its child", n)
	}
	waitGone(t, pid)
	<-ended
	if n, _ := runner.EndLeftover(context.Background(), mark); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// BenchmarkNoOp measures a program that does nothing, with a cgroup of its own,
// where that may be, and without.
func BenchmarkNoOp(b *testing.B) {
	path := script(b, "exit 0\n")
	groups := runner.OpenCgroups(b.TempDir())
	defer groups.Close()
	for name, r := range map[string]*runner.Runner{"plain": newRunner(b), "cgroup": {Cgroups: groups}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if o := r.Run(context.Background(), runner.Cmd{Path: path}); !ok(o) {
					b.Fatal(o)
				}
			}
		})
	}
}

// TestAllThatWasWrittenByThenIsPassedOn although a daemon holds the pipe and
// nobody is in a hurry to take the lines: also the last one, which has no end.
func TestAllThatWasWrittenByThenIsPassedOn(t *testing.T) {
	t.Parallel()
	var out sink
	o := newRunner(t).Run(context.Background(), runner.Cmd{
		Path: script(t, `sleep 600 & echo $!; i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); done; printf last`),
		Env:  []string{"PATH=/bin:/usr/bin"}, Linger: time.Millisecond,
		Output: func(s runner.Stream, line string) {
			out.add(s, line)
			time.Sleep(100 * time.Microsecond)
		},
	})
	got := out.get(runner.Stdout)
	if !ok(o) || len(got) != 302 || got[301] != "last" {
		t.Errorf("got %+v, %d lines: %q", o, len(got), got)
	}
	if pid, err := strconv.Atoi(got[0]); err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
