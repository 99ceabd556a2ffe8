package sessions

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/juju/errors"
)

const (
	// goodbye is how long a program has to end by itself that nobody is connected with any more.
	goodbye = 5 * time.Second
	// last is how long a program's output may stay open once it has ended and nothing comes:
	// something of it goes on in the background.
	last = 2 * time.Second
)

// errLeft is that the person has gone.
const errLeft = errors.ConstError("the other end has gone")

// program is what runs in a session.
type program struct {
	cmd *exec.Cmd
	// tty is the agent's end of its terminal; nil: it has pipes.
	tty *os.File
	// input is where what is in waiting goes; finish is closed once there is no more.
	input   io.WriteCloser
	waiting chan []byte
	finish  chan struct{}
	// await waits until it has ended.
	await func() error
	// pumps pass on what it writes.
	pumps []*pump
	// ended is closed when it has, with all that it wrote passed on.
	ended chan struct{}
	err   error
}

// start starts a program in a session of the system's of its own, with a terminal if it is to
// have one.
func start(cmd *exec.Cmd, to *frames, r Request) (*program, error) {
	p := &program{cmd: cmd, waiting: make(chan []byte, window), finish: make(chan struct{}), ended: make(chan struct{})}
	begin := p.startWithPipes
	if r.Terminal != nil {
		begin = func(to *frames) error { return p.startInTerminal(to, *r.Terminal) }
	}
	if err := begin(to); err != nil {
		return nil, errors.Annotate(err, "cannot run the program of the session")
	}
	go p.feed(to)
	go func() {
		p.err = p.wait()
		close(p.ended)
	}()
	return p, nil
}

func (p *program) startWithPipes(to *frames) error {
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	tie(p.cmd.SysProcAttr)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return errors.Trace(err)
	}
	var theirs []*os.File
	for _, k := range []kind{output, trouble} {
		from, end, err := os.Pipe()
		if err != nil {
			return errors.Trace(err)
		}
		theirs = append(theirs, end)
		p.pumps = append(p.pumps, &pump{from: from, to: to.as(k), done: make(chan struct{})})
	}
	p.input, p.cmd.Stdout, p.cmd.Stderr = in, theirs[0], theirs[1]
	p.await, err = startTied(p.cmd)
	for _, end := range theirs {
		end.Close()
	}
	for _, one := range p.pumps {
		if err != nil {
			one.from.Close()
			continue
		}
		go one.run()
	}
	return errors.Trace(err)
}

// startTied starts a program that ends with the agent, and returns what waits for its end. The kernel
// takes the end of the thread that has started the program for the agent's, and threads of the agent
// end, as after each start of a hook in a cell. So the thread is nobody else's as long as the program runs.
func startTied(cmd *exec.Cmd) (await func() error, err error) {
	started, ended := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	return func() error { return <-ended }, <-started
}

func (p *program) startInTerminal(to *frames, s Size) error {
	tty, err := pty.StartWithSize(p.cmd, &pty.Winsize{Rows: s.Rows, Cols: s.Columns})
	if err != nil {
		return errors.Trace(err)
	}
	one := &pump{from: tty, to: to.as(output), done: make(chan struct{})}
	p.tty, p.input, p.pumps, p.await = tty, tty, []*pump{one}, p.cmd.Wait
	go one.run() // until nobody has the terminal any more
	return nil
}

// wait waits until the program has ended, and what it has written was passed on.
func (p *program) wait() error {
	err := p.await()
	for _, one := range p.pumps {
		one.drain()
	}
	if p.tty != nil {
		p.tty.Close()
	}
	return err
}

// exit is how it has ended: 128 and the signal's number where one has ended it.
func (p *program) exit() (int, error) {
	var code *exec.ExitError
	if p.err != nil && !errors.As(p.err, &code) {
		return 0, errors.Trace(p.err)
	}
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return p.cmd.ProcessState.ExitCode(), nil
}

// feed gives the program its input, and says of each part that it has taken it.
func (p *program) feed(to *frames) {
	give := func(b []byte) {
		_, _ = p.input.Write(b) // one that has closed its input hears nothing
		_ = to.write(taken, nil)
	}
	for {
		select {
		case <-p.ended:
			return
		case b := <-p.waiting:
			give(b)
		case <-p.finish:
			for len(p.waiting) > 0 {
				give(<-p.waiting)
			}
			if p.tty == nil { // a terminal's input ends with it
				p.input.Close()
			}
			return
		}
	}
}

// listen does what the person's end says, until that has gone. It never waits for the program:
// whoever sends more than that may take has gone, too.
func (p *program) listen(next func() (kind, []byte, error)) {
	over := false
	for {
		k, b, err := next()
		if err != nil {
			return
		}
		switch k {
		case input:
			select {
			case <-p.ended:
			case p.waiting <- b:
			default:
				return
			}
		case noInput:
			if !over {
				over = true
				close(p.finish)
			}
		case resized:
			var size Size
			if json.Unmarshal(b, &size) == nil && p.tty != nil {
				_ = pty.Setsize(p.tty, &pty.Winsize{Rows: size.Rows, Cols: size.Columns}) // it may have ended
			}
		case signals:
			if string(b) == "INT" {
				p.signal(syscall.SIGINT)
			}
		}
	}
}

// signal tells the program's group, unless it has ended.
func (p *program) signal(s syscall.Signal) {
	select {
	case <-p.ended:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// hangUp ends the program as the end of its terminal does, and after a while by force.
func (p *program) hangUp(after time.Duration) {
	if p.tty != nil {
		p.tty.Close()
	}
	for _, one := range p.pumps {
		one.from.Close() // nobody hears it any more
	}
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGHUP)
	select {
	case <-p.ended:
	case <-time.After(after):
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
}

// pump passes on what a program writes.
type pump struct {
	from *os.File
	to   io.Writer
	// busy: something was read, and isn't passed on yet; moved counts what was.
	busy  atomic.Bool
	moved atomic.Int64
	done  chan struct{}
}

func (p *pump) run() {
	defer close(p.done)
	b := make([]byte, mostBytes)
	for {
		n, err := p.from.Read(b)
		p.busy.Store(true)
		if n > 0 {
			if _, err := p.to.Write(b[:n]); err != nil {
				return
			}
		}
		p.moved.Add(1)
		p.busy.Store(false)
		if err != nil {
			return
		}
	}
}

// drain waits until all was passed on, however slowly it is taken; of what stays open in the
// background until nothing has come for a while.
func (p *pump) drain() {
	look := time.NewTicker(last)
	defer look.Stop()
	for moved := int64(-1); ; {
		select {
		case <-p.done:
			p.from.Close()
			return
		case <-look.C:
		}
		if now := p.moved.Load(); p.busy.Load() || now != moved {
			moved = now
			continue
		}
		p.from.Close()
		<-p.done
		return
	}
}
