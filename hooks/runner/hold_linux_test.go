package runner

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// heldProgram is a program that prints the beginning of a line, says by a pipe that it
// has, and prints the rest once it reads something from another one.
func heldProgram(t *testing.T) (c Cmd, lines func() []string, begun, goOn func()) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"begun", "go"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var all []string
	c = Cmd{
		Path: "/bin/sh", Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")},
		Args:   []string{"-c", `echo first; printf 'half a '; echo >begun; read x <go; echo line; printf 'no end'; exit 3`},
		Output: func(_ Stream, line string) { mu.Lock(); all = append(all, line); mu.Unlock() },
	}
	lines = func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(all) }
	begun = func() {
		if _, err := os.ReadFile(filepath.Join(dir, "begun")); err != nil {
			t.Error(err)
		}
	}
	goOn = func() {
		if err := os.WriteFile(filepath.Join(dir, "go"), []byte("go\n"), 0); err != nil {
			t.Error(err)
		}
	}
	return c, lines, begun, goOn
}

func TestAHeldProgramGoesOnAsIfNothingHadBeen(t *testing.T) {
	t.Parallel()
	c, lines, begun, goOn := heldProgram(t)
	r := &Runner{}
	defer r.Close()
	ended := make(chan Outcome, 1)
	go func() { ended <- r.Run(t.Context(), c) }()
	begun()
	for range 3 {
		held, release, err := r.Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := string(held.Output[0].Rest); got != "half a " && got != "" || held.Output[1].File == nil {
			t.Errorf("held %q of a line, standard error %v", got, held.Output[1].File)
		}
		release()
	}
	goOn()
	if o := <-ended; o.Exit != 3 || o.Err != nil {
		t.Errorf("it ended with %+v", o)
	}
	if got := lines(); !slices.Equal(got, []string{"first", "half a line", "no end"}) {
		t.Errorf("it printed %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := r.Hold(ctx); err == nil {
		t.Error("nothing runs, and was held")
	}
}

// TestAnotherRunnerResumesAHeldProgram has the second of two Runners wait for what the
// first has started: the two stand for two programs that a process is in turn.
func TestAnotherRunnerResumesAHeldProgram(t *testing.T) {
	t.Parallel()
	c, lines, begun, goOn := heldProgram(t)
	first, second := &Runner{}, &Runner{}
	defer second.Close()
	cmd, streams, err := first.start(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := first.read(streams, c.Output)
	begun()
	h := hold{held: make(chan Held, 1), on: make(chan struct{})}
	go h.take(cmd.Process.Pid, out)
	held := <-h.held
	for i, o := range held.Output {
		conn, err := o.File.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var fd int
		if err := conn.Control(func(of uintptr) { fd, _ = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 3) }); err != nil || fd == 0 {
			t.Fatal(err)
		}
		held.Output[i].File = os.NewFile(uintptr(fd), "output")
	}
	goOn()
	if o := second.Resume(t.Context(), c, held); o.Exit != 3 || o.Err != nil {
		t.Errorf("it ended with %+v", o)
	}
	if got := lines(); !slices.Equal(got, []string{"first", "half a line", "no end"}) {
		t.Errorf("it printed %q", got)
	}
	close(h.on)
	first.Close()
}
