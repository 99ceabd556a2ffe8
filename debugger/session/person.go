// Package session is the side of the person who debugs the hooks of a unit: it waits
// for what the agent offers ([github.com/unitd/unitd/debugger]), and runs each hook in
// a shell, in a window of tmux, or with the breakpoints of the charm.
package session

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debugger"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/terminal"
)

// Person waits for the hooks of a unit, and runs each in the place of the agent.
type Person struct {
	Unit model.UnitName
	// Hooks are the names of those that are wanted; none, or "*": all of them.
	Hooks []string
	// NoTmux has them run in this terminal, even if there is tmux; once ends after the
	// first.
	NoTmux, Once bool
	// Code: the hook itself is run, with at as its breakpoints.
	Code bool
	At   string
	// Debugpy has that hook wait for an editor, in the place of breakpoints; nil: it
	// doesn't.
	Debugpy *Debugpy
	// Commands are run for each hook, by sh; nil: a shell for the person is.
	Commands []byte

	In       io.Reader
	Out, Err io.Writer
	// Note tells the person something that may be said before tmux is shown, say what
	// goes on.
	Note, say func(format string, args ...any)

	listener *debugger.Listener
}

// Wait waits in the directory of the unit for its hooks and runs them, until ctx ends
// or the person leaves. ready is called once it listens. The error is AlreadyExists
// where somebody does.
func (p *Person) Wait(ctx context.Context, dir string, ready func() error) (err error) {
	p.say = p.Note
	if p.listener, err = debugger.Listen(dir); err != nil {
		if errors.Is(err, errors.AlreadyExists) {
			return errors.NewAlreadyExists(nil, fmt.Sprintf("somebody debugs %s already", p.Unit))
		}
		return err
	}
	defer p.listener.Close()
	if err := ready(); err != nil {
		return err
	}
	_, lookErr := exec.LookPath("tmux")
	if !p.Code && !p.NoTmux && p.Commands == nil && lookErr == nil && terminal.Is(p.Out) {
		return p.inTmux(ctx)
	}
	if !p.Code && !p.NoTmux && p.Commands == nil && lookErr != nil {
		p.Note("There is no tmux here: the hooks run in this terminal.")
	}
	return p.serve(ctx, func(_ context.Context, s *debugger.Session) (int, error) {
		return runInTerminal(ctx, s.Gone, p.task(s.Offer), p.In, p.Out, p.Err)
	})
}

// serve takes the runs that are wanted, one after the other, until ctx ends.
func (p *Person) serve(ctx context.Context, run func(context.Context, *debugger.Session) (int, error)) error {
	stop := context.AfterFunc(ctx, func() { p.listener.Close() })
	defer stop()
	p.say("%s", p.waiting())
	for {
		s, err := p.listener.Next()
		switch {
		case ctx.Err() != nil && p.Once: // a hook was to be debugged, and none was
			return errors.Trace(ctx.Err())
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return errors.Annotate(err, "cannot wait for hooks")
		case !s.Wanted(p.Hooks) || p.Code && s.Path == "":
			s.Refuse()
			continue
		case !s.Take():
			continue
		}
		exit, err := run(ctx, s)
		switch {
		case err != nil:
			s.Drop()
			p.say("%s: %s: %v", p.Unit, s.Hook, err)
		default:
			s.End(exit)
			p.say("%s: %s ended with exit code %d.", p.Unit, s.Hook, exit)
		}
		if p.Once || ctx.Err() != nil {
			return nil
		}
		p.say("%s", p.waiting())
	}
}

// waiting says what it waits for.
func (p *Person) waiting() string {
	which := "all hooks"
	if len(p.Hooks) > 0 && !slices.Contains(p.Hooks, "*") {
		which = strings.Join(p.Hooks, ", ")
	}
	return fmt.Sprintf("Waiting for %s of %s; Ctrl-C ends debugging.", which, p.Unit)
}
