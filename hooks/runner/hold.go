package runner

import (
	"context"
	"os"

	"github.com/juju/errors"
)

// Held is a program that runs on while nobody waits for it, nor reads what it prints:
// all that a successor of this process, which has the same number and children, needs
// to go on with it by Resume.
// Source: docs/upgrades.md, "What is handed over".
type Held struct {
	Pid int
	// Output has its standard output and its standard error.
	Output [2]HeldOutput
}

// HeldOutput is one of a program's outputs.
type HeldOutput struct {
	// File is where it is read from; nil: it has come to its end.
	File *os.File
	// Rest is what was read of a line that has no end yet.
	Rest []byte
}

// hold is the wish to hold a program. Who waits for that takes it, answers, and waits
// until on is closed.
type hold struct {
	held chan Held
	on   chan struct{}
}

// Hold holds the one program that Run or Resume wait for, until goOn is called: whatever
// it does, neither returns before. The error is NotFound if ctx ends before they have
// taken notice: there is no program, or it has ended.
func (r *Runner) Hold(ctx context.Context) (_ Held, goOn func(), err error) {
	h := hold{held: make(chan Held, 1), on: make(chan struct{})}
	select {
	case r.holding() <- h:
		return <-h.held, func() { close(h.on) }, nil
	case <-ctx.Done():
		return Held{}, nil, errors.NewNotFound(nil, "no program that can be held")
	}
}

// holding is where who waits for a program hears of a hold.
func (r *Runner) holding() chan hold {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holds == nil {
		r.holds = make(chan hold)
	}
	return r.holds
}

// take holds a program, from the goroutine that waits for it.
func (h hold) take(pid int, out *output) {
	held := Held{Pid: pid}
	for i, s := range out.streams {
		if rest, open := s.pause(); open {
			held.Output[i] = HeldOutput{File: s.file, Rest: rest}
		}
	}
	h.held <- held
	<-h.on
	for _, s := range out.streams {
		s.goOn()
	}
}

// Resume is Run for a program that Hold has held in this process before that became
// another program: it is a child of this process. Of c, Env, Within, Output, Grace and
// Linger are used.
func (r *Runner) Resume(ctx context.Context, c Cmd, h Held) Outcome {
	c = c.complete()
	group := r.Cgroups.enter(mark(c.Env), c.Within)
	defer group.leave()
	var streams [2]*stream
	for i, o := range h.Output {
		var err error
		if streams[i], err = resumeStream(o); err != nil {
			return Outcome{Exit: -1, Err: err}
		}
	}
	p, err := os.FindProcess(h.Pid)
	if err != nil {
		return Outcome{Exit: -1, Err: err}
	}
	exited := r.await(h.Pid, p.Wait)
	return r.see(ctx, c, h.Pid, exited, streams, group)
}

// resumeStream is where a program's output is read from; one that has ended already
// ends at once.
func resumeStream(o HeldOutput) (*stream, error) {
	if o.File == nil {
		in, out, err := os.Pipe()
		if err != nil {
			return nil, errors.Trace(err)
		}
		out.Close()
		return newStream(in)
	}
	s, err := newStream(o.File)
	if err == nil {
		s.rest = o.Rest
	}
	return s, err
}
