package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd"
)

// Host is what a command knows of this host's agent, and of the store that both
// work on.
type Host struct {
	ctx       context.Context // the command's
	stderr    io.Writer
	log       *slog.Logger // the agent's own; nil: lines of text on stderr
	command   string       // what this program was called as
	StoreFlag string       // what the command line says of the store; empty: nothing

	// Quiet leaves out what is told beside the result, but for warnings.
	Quiet bool
	// Author says whose command changes models; nil: nobody's, and nothing is logged of it.
	Author func() state.Author
	// Show is how an agent in this process shows models to commands that ask it to, by
	// Shown; nil: it doesn't.
	Show machine.Showing

	elsewhere bool // there is no agent here, and need be none
	waited    bool // an answer of the agent was waited for in vain
	silent    bool // it was said that the agent doesn't answer

	away bool   // the command works on another controller than the host's own
	own  string // StoreFlag for that one, meanwhile

	// between, where it is set, stands between the models and the store that is opened.
	between    func(store.Store) store.Store
	store      store.Store
	controller *state.Controller
	clock      clock.Clock // the store's
	keys       string      // the directory with the keys of its secrets
	former     formerStore
}

// New is for a command that was called by that name, and that tells people of what
// it does on stderr, until the context ends.
func New(ctx context.Context, stderr io.Writer, command string) *Host {
	return &Host{ctx: ctx, stderr: stderr, command: command}
}

// Context is that of the command.
func (h *Host) Context() context.Context { return h.ctx }

// Command is what this program was called as.
func (h *Host) Command() string { return h.command }

// Within has what the host does from now on end with another context.
func (h *Host) Within(ctx context.Context) { h.ctx = ctx }

// Use has it work on these models, in a store that somebody else closes.
func (h *Host) Use(c *state.Controller) { h.controller = c }

// Opened are the models of the store that Open has opened; nil: it hasn't.
func (h *Host) Opened() *state.Controller { return h.controller }

// OpenedStore is the store of Opened; nil: none was opened.
func (h *Host) OpenedStore() store.Store { return h.store }

// StoreClock is the clock of that store.
func (h *Host) StoreClock() clock.Clock { return h.clock }

// ServedElsewhere says whether it was found that another host's agent does what this
// command asks for, so that none is needed here.
func (h *Host) ServedElsewhere() bool { return h.elsewhere }

// Note tells a person something beside the result.
func (h *Host) Note(format string, args ...any) {
	if !h.Quiet || strings.HasPrefix(format, "WARNING") {
		fmt.Fprintf(h.stderr, format+"\n", args...)
	}
}

// CloseStore closes the store, if one was opened.
func (h *Host) CloseStore() error {
	if h.store == nil {
		return nil
	}
	s := h.store
	h.store, h.controller = nil, nil
	return s.Close()
}

// Open opens the store, once, and has its models. The error says so where the agent
// of the data directory works on another one than this command.
func (h *Host) Open() (*state.Controller, error) {
	if h.controller != nil {
		return h.controller, nil
	}
	dir, err := DataDir()
	if err != nil {
		return nil, errors.Trace(err)
	}
	var c clock.Clock = clock.WallClock
	switch now, ok, err := LabTime(); {
	case err != nil:
		return nil, err
	case ok:
		c = lab.NewClock(now)
	}
	if err := CheckPrivate(dir); err != nil {
		return nil, err
	}
	if err := h.meant(dir); err != nil {
		return nil, err
	}
	s, keys, err := h.OpenStore(dir, c)
	if err != nil {
		return nil, err
	}
	here, err := Controller()
	if err != nil {
		return nil, err
	}
	h.keys = keys
	seen := s
	if h.between != nil {
		seen = h.between(s)
	}
	controller := state.NewController(seen, c).WithSealer(h.keyring(s, keys).sealer(func() bool { return h.keysComeFromElsewhere(keys) })).WithCommand(h.command).WithName(here.Name).WithCause(caused()).WithAuthor(h.Author)
	place, err := h.StoreName()
	if err == nil && !strings.HasPrefix(place, etcd.Scheme) {
		controller = controller.WithOneHost()
	}
	h.controller, h.clock = controller, c
	return controller, errors.Trace(err)
}
