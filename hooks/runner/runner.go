// Package runner runs one program of a charm to its end: in a process group of
// its own, with an environment that is given whole, its output read line by
// line, and everything that it started ended when it has to stop.
//
// It knows nothing of hooks, units or the model, and has no time-outs of its
// own: who runs a program with a time limit passes a context that ends.
//
// Why each step is as it is: the write ends of the output pipes are closed
// here as soon as the program has them, so that its exit is the end of the
// output and nobody waits a fixed time (spec/latency-measured.md §3). Where a
// grandchild keeps a pipe open, such as a daemon that the hook has started,
// Run returns after a short bound and the rest of the output is still read and
// passed on until it ends or the Runner is closed.
package runner

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/unitd/unitd/durable"
)

// Stream is where a line of output came from.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// maxLine is the longest line in bytes that Output gets at once; a longer one
// comes in pieces.
const maxLine = 4 << 20

// Cmd is one program to be run.
type Cmd struct {
	// Path is the program; Args are its arguments without the program's name.
	Path string
	Args []string
	// Dir is the working directory.
	Dir string
	// Env is the whole environment.
	Env []string
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

// Outcome says how a program ended.
type Outcome struct {
	// Exit is the exit code; -1 where a signal ended it or it couldn't start.
	Exit int
	// Signal ended the program; 0: it exited.
	Signal syscall.Signal
	// Stopped: the program was ended because the context was.
	Stopped bool
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

	readers sync.WaitGroup
	mu      sync.Mutex
	open    map[*os.File]bool
	closed  bool
}

// Close stops reading the output of processes that outlived their program. It
// doesn't end them.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	for f := range r.open {
		_ = f.SetReadDeadline(time.Unix(1, 0))
	}
	r.mu.Unlock()
	r.readers.Wait()
}

// Run runs the program and returns when it has exited and its output is read,
// or Linger after the exit. When ctx ends first, the program's process group
// gets TERM, then KILL after Grace, and is gone when Run returns.
func (r *Runner) Run(ctx context.Context, c Cmd) Outcome {
	if c.Grace <= 0 {
		c.Grace = defaultGrace
	}
	if c.Linger <= 0 {
		c.Linger = defaultLinger
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var outputs [2]*os.File
	for i, dst := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		in, out, err := os.Pipe()
		if err != nil {
			closeAll(outputs[:])
			return Outcome{Exit: -1, Err: err}
		}
		defer out.Close()
		*dst, outputs[i] = out, in
	}
	if err := r.Disk.Do(durable.Step{Do: Start, Path: c.Path}, cmd.Start); err != nil {
		closeAll(outputs[:])
		return Outcome{Exit: -1, Err: err}
	}
	cmd.Stdout.(*os.File).Close()
	cmd.Stderr.(*os.File).Close()
	if c.Started != nil {
		c.Started(cmd.Process.Pid)
	}
	done := r.read(outputs, c.Output)
	o := wait(ctx, cmd, c.Grace)
	linger(done, c.Linger)
	return o
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// wait waits for the program, and ends its process group if ctx ends first.
func wait(ctx context.Context, cmd *exec.Cmd, grace time.Duration) Outcome {
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	select {
	case err := <-exited:
		return outcome(cmd, err)
	case <-ctx.Done():
	}
	group := -cmd.Process.Pid
	_ = syscall.Kill(group, syscall.SIGTERM)
	var err error
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err = <-exited:
	case <-timer.C:
		_ = syscall.Kill(group, syscall.SIGKILL)
		err = <-exited
	}
	// Whoever of the group ignored TERM while its leader did not.
	_ = syscall.Kill(group, syscall.SIGKILL)
	o := outcome(cmd, err)
	o.Stopped = true
	return o
}

func outcome(cmd *exec.Cmd, err error) Outcome {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Outcome{Exit: -1, Err: err}
	}
	o := Outcome{Exit: cmd.ProcessState.ExitCode()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		o.Signal = ws.Signal()
	}
	return o
}

// read starts a reader for each stream; the channel is closed when both have
// come to the end.
func (r *Runner) read(outputs [2]*os.File, output func(Stream, string)) <-chan struct{} {
	if output == nil {
		output = func(Stream, string) {}
	}
	done := make(chan struct{})
	var both sync.WaitGroup
	for i, s := range []Stream{Stdout, Stderr} {
		f := outputs[i]
		r.mu.Lock()
		if r.open == nil {
			r.open = map[*os.File]bool{}
		}
		r.open[f] = true
		if r.closed {
			_ = f.SetReadDeadline(time.Unix(1, 0))
		}
		r.mu.Unlock()
		both.Add(1)
		r.readers.Add(1)
		go func() {
			defer r.readers.Done()
			defer both.Done()
			lines(f, func(line string) { output(s, line) })
			r.mu.Lock()
			delete(r.open, f)
			r.mu.Unlock()
			f.Close()
		}()
	}
	go func() {
		both.Wait()
		close(done)
	}()
	return done
}

// lines passes on every line until the end, whatever bytes are in it.
func lines(f io.Reader, line func(string)) {
	br := bufio.NewReaderSize(f, 16<<10)
	var part []byte
	for {
		chunk, err := br.ReadSlice('\n')
		part = append(part, chunk...)
		if n := len(part); n > 0 && part[n-1] == '\n' {
			line(string(part[:n-1]))
			part = part[:0]
		} else if n >= maxLine {
			line(string(part))
			part = part[:0]
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	if len(part) > 0 {
		line(string(part))
	}
}

// linger waits for the end of the output, but not for ever.
func linger(done <-chan struct{}, bound time.Duration) {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
