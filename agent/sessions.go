package agent

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/pattern"
	"github.com/unitd/unitd/service"
	"github.com/unitd/unitd/sessions"
	"github.com/unitd/unitd/state"
)

// sessionVariable marks the environment of a command that runs in a session of another host,
// and so leads no further.
const sessionVariable = "UNITD_SESSION"

// InSession says whether this command runs for somebody of another host.
func InSession() bool { return os.Getenv(sessionVariable) != "" }

// address is what an agent was told to be reached by; empty: it finds out.
func (r *Joined) address(o Options) string {
	if r != nil {
		return r.Address
	}
	return o.Join.Address
}

// openSessions lets people of other hosts open sessions here. host is the address by which this
// one is reached; empty: that is found out.
func (m *Measured) openSessions(h *Host, c *machine.Config, host string) error {
	s, err := sessions.NewServer()
	if err != nil {
		return errors.Trace(err)
	}
	self, err := StableSelf(c.Dir)
	if err != nil {
		return errors.Trace(err)
	}
	store, err := h.StoreName()
	if err != nil {
		return errors.Trace(err)
	}
	s.Log = c.Log.Info
	s.Command = (&sessionCommands{self: self, dir: c.Dir, store: store, controller: c.Controller}).command
	c.Session = func(model, print string) (machine.SessionDoor, error) {
		if err := s.Expect(sessions.Print(print), model); err != nil {
			return machine.SessionDoor{}, errors.Trace(err)
		}
		return machine.SessionDoor{Addresses: m.doors(host), Print: string(s.Print())}, nil
	}
	m.sessions = s
	sent := m.end
	m.end = func() { s.Close(); sent() }
	return nil
}

// holdSessions ends all sessions of people of other hosts, and lets none begin until back is
// called.
func (m *Measured) holdSessions() (back func()) {
	if m.sessions == nil {
		return func() {}
	}
	return m.sessions.Hold()
}

// doors are the addresses by which others reach the listener.
func (m *Measured) doors(host string) []string {
	address := m.address.Load()
	if address == nil {
		return nil
	}
	at, port, err := net.SplitHostPort(*address)
	if err != nil {
		return nil
	}
	if ip := net.ParseIP(at); ip != nil && !ip.IsUnspecified() {
		return []string{*address}
	}
	var all []string
	for _, a := range machine.ReachableHost(host).Addresses {
		all = append(all, net.JoinHostPort(a, port))
	}
	return all
}

// sessionCommands says which commands people of other hosts may have run here, and how.
type sessionCommands struct {
	self, dir, store string
	controller       *state.Controller
}

// sessionFlags are the verbs that lead inside of units, and of each the flags that have a
// meaning for another host: none of them names a model, a file or an address.
var sessionFlags = map[string][]string{
	"ssh":         {"--container", "--pty"},
	"debug-hooks": {"--no-tmux", "--once"},
	"debug-code":  {"--at", "--once"},
}

// sessionTarget is a unit, or a machine, and who goes there.
var sessionTarget = pattern.New(`^([A-Za-z_][A-Za-z0-9_.-]*@)?([a-z][a-z0-9-]*/[0-9]+|[0-9]+)$`)

// language is what $LANG may be.
var language = pattern.New(`^[A-Za-z0-9_.@-]+$`)

// check is the error of a request that nobody may make. A person's own command makes none of
// these.
func (s *sessionCommands) check(r sessions.Request) error {
	flags, ok := sessionFlags[r.Verb]
	switch {
	case !ok:
		return errors.NotValidf("the verb %q", r.Verb)
	case r.Program != "unitd" && r.Program != "juju":
		return errors.NotValidf("the program %q", r.Program)
	case !sessionTarget.MatchString(r.Target):
		return errors.NotValidf("the target %q", r.Target)
	}
	for _, f := range r.Flags {
		// One without a value would take the next word for that.
		if name, _, valued := strings.Cut(f, "="); !valued || !slices.Contains(flags, name) {
			return errors.NotValidf("the flag %q", f)
		}
	}
	for _, w := range r.Words {
		if r.Verb != "ssh" && strings.HasPrefix(w, "-") {
			return errors.NotValidf("the hook %q", w)
		}
	}
	return nil
}

// command is sessions.Server.Command: this program, called in the data directory of the agent.
func (s *sessionCommands) command(model string, r sessions.Request) (*exec.Cmd, error) {
	if err := s.check(r); err != nil {
		return nil, errors.Trace(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), answerTime)
	defer stop()
	infos, err := s.controller.Models(ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	at := slices.IndexFunc(infos, func(i state.ModelInfo) bool { return i.UUID == model })
	if at < 0 {
		return nil, errors.NewNotFound(nil, "the model has been removed")
	}
	cmd := exec.Command(s.self)
	cmd.Args = append([]string{r.Program, r.Verb, "--model=" + infos[at].Name}, r.Flags...)
	cmd.Args = append(append(cmd.Args, r.Target), r.Words...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(notForSessions, name)
	})
	cmd.Env = append(cmd.Env, dataVariable+"="+s.dir, storeVariable+"="+s.store, sessionVariable+"=1", "TERM="+r.Term)
	if language.MatchString(r.Language) {
		cmd.Env = append(cmd.Env, "LANG="+r.Language)
	}
	return cmd, nil
}

// notForSessions are variables of the agent that mean nothing to a command, or something else.
var notForSessions = append(service.Variables(), readyVariable, "TERM", "UNITD_MODEL", "JUJU_MODEL")

// OpenSession runs a command on the host of another agent, in the terminal of this one, and
// returns its exit code. The errors say for people why it can't.
func (h *Host) OpenSession(ctx context.Context, m *state.Model, on Elsewhere, call sessions.Call) (exit int, err error) {
	if !on.Present {
		return 0, errors.NewNotFound(nil, fmt.Sprintf("the agent of %s isn't there: start it, or run the command there", on.Name))
	}
	if call.Self, err = sessions.NewIdentity(); err != nil {
		return 0, errors.Trace(err)
	}
	within, stop := context.WithTimeout(ctx, answerTime)
	defer stop()
	door, err := machine.AskForSession(within, m, on.Machine, string(call.Self.Print))
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return 0, errors.Errorf("the agent of %s hasn't answered within %s: run the command there", on.Name, answerTime)
	case err != nil:
		return 0, errors.Annotatef(err, "the agent of %s", on.Name)
	}
	call.Door = sessions.Door{Addresses: door.Addresses, Print: sessions.Print(door.Print)}
	exit, err = call.Run(ctx)
	return exit, errors.Annotatef(err, "%s", on.Name)
}
