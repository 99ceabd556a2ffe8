package cli

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/sessions"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/terminal"
)

// Remote leads to a unit, or to a machine, of another host, by the agent there. Source:
// docs/machines.md, "Sessions on other hosts".
type Remote struct {
	// Target is what the agent knows it by: a unit's name, or a machine's id.
	Target string
	// Open has a command run there, in the terminal of this one, with an input; exit is its
	// exit code.
	Open func(ctx context.Context, r sessions.Request, in io.Reader) (exit int, err error)
}

// remote is the door to a unit or a machine of another host; nil: it is on this one, or
// nobody knows it, or OpenSSH leads there.
func (a insideVerbs) remote(_ context.Context, target string) (*Remote, error) {
	m, err := a.model()
	if err != nil {
		return nil, err
	}
	name, bare, err := a.targeted(m, target)
	if err != nil {
		return nil, a.notFound(err)
	}
	if bare != nil {
		return a.remoteMachine(m, *bare)
	}
	doc, err := m.Unit(a.Context(), name)
	if errors.Is(err, errors.NotFound) {
		return nil, nil //nolint:nilnil // whoever looks for it next says so
	}
	if err != nil {
		return nil, err
	}
	here := a.Here(m, name)
	switch {
	case here == nil:
		return nil, nil //nolint:nilnil // as the comment above says
	case agent.InSession():
		return nil, here // who has led here was wrong
	}
	if u, err := a.elsewhere(m, doc, here); err == nil && u.Address != "" {
		return nil, nil //nolint:nilnil // as the comment above says
	}
	return a.remoteUnit(m, name, here)
}

// remoteUnit is the door to a unit of another host; here says that it isn't on this one.
func (a insideVerbs) remoteUnit(m *state.Model, name model.UnitName, here error) (*Remote, error) {
	if agent.InSession() {
		return nil, here
	}
	others, err := a.Others(m)
	if err != nil {
		return nil, err
	}
	on, known, err := a.Whose(m, name, others)
	if err != nil {
		return nil, err
	}
	if !known || len(on) != 1 {
		return nil, here
	}
	return a.remoteOn(m, on[0], string(name)), nil
}

func (a insideVerbs) remoteMachine(m *state.Model, doc state.MachineDoc) (*Remote, error) {
	here := a.MachineHere(doc)
	if here != nil && agent.InSession() {
		return nil, here
	}
	if here == nil || a.Command() == jujuName && reachable(doc) != "" {
		return nil, nil //nolint:nilnil // as the comment of remote says
	}
	others, err := a.Others(m)
	if err != nil {
		return nil, err
	}
	machine := doc.ID
	if doc.Provider == state.LocalProvider {
		machine = state.ManagingHost
	}
	for _, on := range others {
		if on.Machine == machine {
			return a.remoteOn(m, on, doc.ID), nil
		}
	}
	return nil, nil //nolint:nilnil // nobody has joined as it
}

func (a insideVerbs) remoteOn(m *state.Model, on agent.Elsewhere, target string) *Remote {
	return &Remote{Target: target, Open: func(ctx context.Context, r sessions.Request, in io.Reader) (int, error) {
		host, _ := os.Hostname() // the log goes without
		r.Program, r.By = a.Command(), account(os.Getenv)+"@"+host
		r.Language = cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
		if r.Program != jujuName {
			r.Program = "unitd"
		}
		return a.OpenSession(ctx, m, on, sessions.Call{Request: r, In: in, Out: a.Out, Err: a.Err})
	}}
}

// sshThere is ssh to a unit of another host.
func (d Inside) sshThere(ctx context.Context, on *Remote, c sshCall, container string, words []string) error {
	if c.forwards != "" {
		return errors.Errorf("%s: port forwarding needs OpenSSH on the unit's host; %s is on another one than this", c.forwards, on.Target)
	}
	r := sessions.Request{Verb: "ssh", Target: on.Target, Words: words, Term: os.Getenv("TERM")}
	if c.user != "" {
		r.Target = c.user + "@" + on.Target
	}
	if container != "" {
		r.Flags = append(r.Flags, "--container="+container)
	}
	if c.terminal == noTerminal {
		r.Flags = append(r.Flags, "--pty=false")
	} else if terminal.Is(d.Err) || len(c.command) == 0 { // else what a command says of errors goes elsewhere
		r.Terminal = sessions.SizeOf(d.In, d.Out)
	}
	if c.silent {
		d.In = nil
	}
	exit, err := on.Open(ctx, r, d.In)
	return ended(exit, err)
}

// debugThere debugs the hooks of a unit of another host.
func (d *debugging) debugThere(m *state.Model, here error) error {
	if d.Debugpy != nil {
		return errors.Annotate(here, "--debugpy needs the unit's host")
	}
	on, err := d.remoteUnit(m, d.Unit, here)
	if err != nil {
		return err
	}
	r := sessions.Request{Verb: "debug-hooks", Target: on.Target, Words: d.Hooks, Term: os.Getenv("TERM")}
	if d.Code {
		r.Verb, r.Flags = "debug-code", append(r.Flags, "--at="+d.At)
	}
	if d.NoTmux {
		r.Flags = append(r.Flags, "--no-tmux=true")
	}
	if d.Once {
		r.Flags = append(r.Flags, "--once=true")
	}
	in := d.insideVerbs.In
	if d.Commands != nil {
		in = bytes.NewReader(d.Commands)
	}
	r.Terminal = sessions.SizeOf(in, d.insideVerbs.Out)
	exit, err := on.Open(d.Context(), r, in)
	return ended(exit, err)
}

// ended is how a session has ended, as this command's end.
func ended(exit int, err error) error {
	if err != nil || exit == 0 {
		return err
	}
	return Exit(exit)
}
