// Package runner runs one program of a charm to its end: in a process group of
// its own, with an environment that is given whole, its output read line by
// line, and everything that it started ended when it has to stop.
//
// It knows nothing of hooks, units or the model, and has no time-outs of its
// own: who runs a program with a time limit passes a context that ends.
//
// What belongs to a program that has to stop is found in three ways (tree.go):
// by the program's cgroup, where there may be one (cgroup_linux.go), by who
// has started whom, and by the variable MarkVariable, which processes pass on.
// What a program leaves behind that ends by itself is none of that: it is meant
// to live on, and is reaped when it ends (reaper_linux.go).
//
// Why each step is as it is: the write ends of the output pipes are closed
// here as soon as the program has them, so that its exit is the end of the
// output and nobody waits a fixed time (docs/spec/latency-measured.md §3). Where a
// grandchild keeps a pipe open, such as a daemon that the hook has started,
// Run returns after a short bound, once all is passed on that was written by
// then; the rest is still read until it ends or the Runner is closed.
package runner

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// MarkVariable in the environment of a program tells its
// processes from all others: no two programs may have the same value.
const MarkVariable = "UNITD_RUN"

// mark is "UNITD_RUN=…" of an environment; empty: it has none.
func mark(env []string) string {
	for _, v := range env {
		if strings.HasPrefix(v, MarkVariable+"=") {
			return v
		}
	}
	return ""
}

// Cmd is one program to be run.
type Cmd struct {
	// Path is the program; Args are its arguments without the program's name.
	Path string
	Args []string
	// Dir is the working directory.
	Dir string
	// Env is the whole environment.
	Env []string
	// Within is a directory of cgroups: the program moves to the one that the function of
	// that name says, or stays where it is. Empty: it stays.
	Within string
	// Output gets each line without its newline. Calls for one stream come one
	// after the other; the two streams' may come at once, and after Run has
	// returned where a grandchild holds on to the pipe.
	Output func(s Stream, line string)
	// Started is called once the program runs, with its process id; may be nil.
	Started func(pid int)
	// Grace is how long processes have between TERM and KILL when the context
	// ends. Zero is 5 s.
	Grace time.Duration
	// Linger bounds the wait for output after the exit. Zero is 100 ms.
	Linger time.Duration
}

// The defaults of Cmd.
const (
	defaultGrace  = 5 * time.Second
	defaultLinger = 100 * time.Millisecond
)

// AtOnce is the cause (see context.WithCancelCause) with which a context ends
// that leaves a program and what it has started no grace: they get KILL alone.
const AtOnce = errors.ConstError("ended at once")

// Outcome says how a program ended.
type Outcome struct {
	// Exit is the exit code; -1 where a signal ended it or it couldn't start.
	Exit int
	// Signal ended the program; 0: it exited.
	Signal syscall.Signal
	// Stopped: the program was ended because the context was.
	Stopped bool
	// Left counts processes that couldn't be ended with a program that was
	// stopped: another user's, or some that wait for a disk.
	Left int
	// Err says why the program couldn't be started or waited for.
	Err error
}

// Start is the durable.Verb of the start of a program.
const Start durable.Verb = "start"

// Runner runs programs and owns the goroutines that read what daemons left
// behind still print. The zero value is ready; Close it.
type Runner struct {
	// Disk is told of each start of a program.
	Disk durable.Disk
	// Cgroups gives each program a cgroup; nil: none has one.
	Cgroups *Cgroups
	// Reaper is this process's, which has to know what isn't its to reap; nil:
	// it has none.
	Reaper *Reaper

	readers sync.WaitGroup
	mu      sync.Mutex
	open    map[*stream]bool
	closed  bool
	holds   chan hold // see Hold; nil: nobody has asked
}

// Close stops reading the output of processes that outlived their program. It
// doesn't end them.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	for s := range r.open {
		s.close()
	}
	r.mu.Unlock()
	r.readers.Wait()
}

// Run runs the program and returns when it has exited and its output is read,
// or Linger after the exit. When ctx ends first, the program and all that it has
// started get TERM, and KILL after Grace (see AtOnce), and are gone when Run returns,
// but for Outcome.Left of them.
func (r *Runner) Run(ctx context.Context, c Cmd) Outcome {
	c = c.complete()
	group := r.Cgroups.enter(mark(c.Env), c.Within)
	defer group.leave()
	cmd, streams, err := r.start(c, group)
	if err != nil && group != nil {
		// The group may be the reason: then it is no use to others either.
		if cmd, streams, err = r.start(c, nil); err == nil {
			r.Cgroups.giveUp()
			group = nil
		}
	}
	if err != nil {
		return Outcome{Exit: -1, Err: err}
	}
	exited := r.await(cmd.Process.Pid, func() (*os.ProcessState, error) {
		err := cmd.Wait()
		return cmd.ProcessState, err
	})
	if c.Started != nil {
		c.Started(cmd.Process.Pid)
	}
	return r.see(ctx, c, cmd.Process.Pid, exited, streams, group)
}

// complete is c with what it doesn't say.
func (c Cmd) complete() Cmd {
	if c.Grace <= 0 {
		c.Grace = defaultGrace
	}
	if c.Linger <= 0 {
		c.Linger = defaultLinger
	}
	return c
}

// see reads what a program prints, and waits for its end.
func (r *Runner) see(ctx context.Context, c Cmd, pid int, exited <-chan func() end, streams [2]*stream, group *cgroup) Outcome {
	out := r.read(streams, c.Output)
	o := r.wait(ctx, exited, out, tree{pid: pid, marks: marks(c.Env), whole: true, group: group}, c.Grace)
	out.linger(c.Linger)
	return o
}

// marks are those of a tree.
func marks(env []string) []string {
	if m := mark(env); m != "" {
		return []string{m}
	}
	return nil
}

// start starts the program, in the group if there is one.
func (r *Runner) start(c Cmd, group *cgroup) (*exec.Cmd, [2]*stream, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	group.hold(cmd.SysProcAttr)
	var streams [2]*stream
	var files []*os.File
	fail := func(err error) (*exec.Cmd, [2]*stream, error) {
		for _, f := range files {
			f.Close()
		}
		return nil, streams, err
	}
	for i, dst := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		in, out, err := os.Pipe()
		if err != nil {
			return fail(err)
		}
		files = append(files, in, out)
		if streams[i], err = newStream(in); err != nil {
			return fail(err)
		}
		*dst = out
	}
	if err := r.Disk.Do(durable.Step{Do: Start, Path: c.Path}, cmd.Start); err != nil {
		return fail(err)
	}
	files[1].Close()
	files[3].Close()
	return cmd, streams, nil
}

// end is how a program has ended, by who has waited for it.
type end struct {
	state *os.ProcessState
	err   error
}

// await waits for the program in the background, and tells then how to hear how it has
// ended. Until somebody does, a successor of this process can hear it as well; see Hold.
func (r *Runner) await(pid int, wait func() (*os.ProcessState, error)) <-chan func() end {
	exited := make(chan func() end, 1)
	release := r.Reaper.spare(pid)
	hear := func() end {
		state, err := wait()
		release()
		return end{state, err}
	}
	go func() {
		if !awaitEnd(pid) {
			e := hear()
			hear = func() end { return e }
		}
		exited <- hear
	}()
	return exited
}

// wait waits for the program, and ends its tree if ctx ends first.
func (r *Runner) wait(ctx context.Context, exited <-chan func() end, out *output, t tree, grace time.Duration) Outcome {
	for waiting := true; waiting; {
		select {
		case ended := <-exited:
			return ended().outcome()
		case h := <-r.holding():
			h.take(t.pid, out)
		case <-ctx.Done():
			waiting = false
		}
	}
	select {
	case ended := <-exited: // both at once
		return ended().outcome()
	default:
	}
	if errors.Is(context.Cause(ctx), AtOnce) {
		grace = 0
	}
	left := t.end(grace)
	o := Outcome{Exit: -1}
	if left == 0 {
		o = (<-exited)().outcome()
	} else {
		select {
		case ended := <-exited:
			o = ended().outcome()
		default: // the program itself can't be ended: nobody waits for it
			go func() { (<-exited)() }()
		}
	}
	o.Stopped, o.Left = true, left
	return o
}

func (e end) outcome() Outcome {
	var exit *exec.ExitError
	if e.err != nil && !errors.As(e.err, &exit) {
		return Outcome{Exit: -1, Err: e.err}
	}
	o := Outcome{Exit: e.state.ExitCode()}
	if ws, ok := e.state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		o.Signal = ws.Signal()
	}
	return o
}
