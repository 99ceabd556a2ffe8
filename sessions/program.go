package sessions

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/juju/errors"
)

const (
	// goodbye is how long a program has to end by itself that nobody is connected with any more.
	goodbye = 5 * time.Second
	// last is how long its output may stay open once it has ended.
	last = 2 * time.Second
)

// errLeft is that the person has gone.
const errLeft = errors.ConstError("the other end has gone")

// program is what runs in a session.
type program struct {
	cmd *exec.Cmd
	// tty is the agent's end of its terminal; nil: it has pipes.
	tty   *os.File
	input io.WriteCloser
	// shown is closed once all that it has written to its terminal was passed on.
	shown chan struct{}
}

// run runs a program for who is at the other end of a connection, until it ends, and returns
// its exit code: 128 and the signal's number where one has ended it. The error is errLeft,
// or that it can't be run.
func run(from io.Reader, to *frames, cmd *exec.Cmd, r Request) (exit int, err error) {
	p, err := start(cmd, to, r)
	if err != nil {
		return 0, errors.Annotate(err, "cannot run the program of the session")
	}
	left := make(chan struct{})
	go func() {
		defer close(left)
		p.listen(from)
	}()
	ended := make(chan error, 1)
	go func() { ended <- p.wait() }()
	select {
	case err = <-ended:
	case <-left:
		p.hangUp(ended)
		return 0, errLeft
	}
	var code *exec.ExitError
	if err != nil && !errors.As(err, &code) && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, errors.Trace(err)
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// start starts a program in a session of the system's of its own, with a terminal if it is to
// have one.
func start(cmd *exec.Cmd, to *frames, r Request) (*program, error) {
	p := &program{cmd: cmd, shown: make(chan struct{})}
	if r.Terminal == nil {
		close(p.shown)
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = to.as(output), to.as(trouble), last
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		var err error
		if p.input, err = cmd.StdinPipe(); err != nil {
			return nil, errors.Trace(err)
		}
		return p, errors.Trace(cmd.Start())
	}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: r.Terminal.Rows, Cols: r.Terminal.Columns})
	if err != nil {
		return nil, errors.Trace(err)
	}
	p.tty, p.input = tty, tty
	go func() {
		defer close(p.shown)
		_, _ = io.Copy(to.as(output), tty) // until nobody has the terminal any more
	}()
	return p, nil
}

// wait waits until the program has ended, and what it has written was passed on.
func (p *program) wait() error {
	err := p.cmd.Wait()
	if p.tty == nil {
		return err
	}
	select {
	case <-p.shown:
	case <-time.After(last): // something of it goes on in the background
	}
	p.tty.Close()
	return err
}

// listen does what the person's end says, until that has gone.
func (p *program) listen(from io.Reader) {
	for {
		k, b, err := readFrame(from)
		if err != nil {
			return
		}
		switch k {
		case input:
			_, err = p.input.Write(b)
		case noInput:
			if p.tty == nil { // a terminal's input ends with it
				err = p.input.Close()
			}
		case resized:
			var size Size
			if err = json.Unmarshal(b, &size); err == nil && p.tty != nil {
				err = pty.Setsize(p.tty, &pty.Winsize{Rows: size.Rows, Cols: size.Columns})
			}
		case signals:
			if string(b) == "INT" {
				err = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT)
			}
		}
		_ = err // a program that has ended, or has closed its input, hears nothing
	}
}

// hangUp ends the program as the end of its terminal does, and after a while by force.
func (p *program) hangUp(ended <-chan error) {
	_ = p.input.Close()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGHUP)
	select {
	case <-ended:
	case <-time.After(goodbye):
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
}
