package agent

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Elsewhere is an agent of another host.
type Elsewhere struct {
	// Machine is as state.Model.Ask takes it.
	Machine string
	// Name is what people call it: "machine 1", "host db-1".
	Name    string
	Present bool
}

// Until is the host for something beside its command that ends with ctx. The store is open.
func (h *Host) Until(ctx context.Context) *Host {
	until := *h
	until.ctx = ctx
	return &until
}

// Others are the agents of other hosts that have something of a model.
func (h *Host) Others(m *state.Model) ([]Elsewhere, error) {
	dir, err := DataDir()
	if err != nil {
		return nil, err
	}
	joined, err := ReadJoin(dir)
	if err != nil {
		return nil, err
	}
	var all []Elsewhere
	if joined != nil {
		_, alive, err := m.Manager(h.ctx)
		if err != nil && !errors.Is(err, errors.NotFound) {
			return nil, err
		}
		all = append(all, Elsewhere{state.ManagingHost, "the host that has the models", alive})
	} else if managed, err := h.ManagedElsewhere(dir); err != nil {
		return nil, err
	} else if managed != nil {
		all = append(all, Elsewhere{state.ManagingHost, "host " + managed.Host, managed.Alive})
	}
	agents, err := m.Agents(h.ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if joined == nil || joined.Machine != a.ID {
			all = append(all, Elsewhere{a.ID, "machine " + a.ID, a.Present})
		}
	}
	return all, nil
}

// Whose are those of the agents of other hosts that a unit is on: none if it is on this host,
// and, for a unit that the model doesn't have, all that are there, as it was on one of them;
// known says which of these it is.
func (h *Host) Whose(m *state.Model, unit model.UnitName, others []Elsewhere) (on []Elsewhere, known bool, err error) {
	doc, err := m.Unit(h.ctx, unit)
	if errors.Is(err, errors.NotFound) {
		return slices.DeleteFunc(slices.Clone(others), func(o Elsewhere) bool { return !o.Present }), false, nil
	}
	if err != nil {
		return nil, false, err
	}
	machine := doc.Machine
	if doc.Provider == state.LocalProvider {
		machine = state.ManagingHost
	}
	return slices.DeleteFunc(slices.Clone(others), func(o Elsewhere) bool { return o.Machine != machine }), true, nil
}

// answerTime is how long another host's agent may take to answer.
const answerTime = 20 * time.Second

// Ask asks another host's agent, and says for people why it can't be asked.
func (h *Host) Ask(ctx context.Context, m *state.Model, from Elsewhere, q machine.FilesQuestion) (machine.Files, error) {
	if !from.Present {
		return machine.Files{}, errors.NewNotFound(nil, fmt.Sprintf("the agent of %s isn't there, and it alone has that: start it", from.Name))
	}
	within, stop := context.WithTimeout(ctx, answerTime)
	defer stop()
	files, err := machine.AskFiles(within, m, from.Machine, q)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return files, errors.Errorf("the agent of %s hasn't answered within %s: run the command there", from.Name, answerTime)
	}
	return files, errors.Annotatef(err, "cannot ask the agent of %s", from.Name)
}

// Fetched are files of another host, below a data directory of their own, which is whoever's to
// remove who has asked.
type Fetched struct {
	Data string
	machine.Files
	// Instead, where it is set, says why the agent couldn't be asked: the files are the newest
	// that it had put into the model, at a time.
	Instead error
	At      time.Time
	// Short, where it is set, says why it isn't the whole that was asked for.
	Short error
}

const (
	// fetchedAtMost is how much of another host's files is asked for, in bytes, and askedAtMost how often.
	fetchedAtMost = 64 << 20
	askedAtMost   = 200
)

// askEarlier asks for what was too much for one answer. short says why there is no more: the newest is there.
func (h *Host) askEarlier(m *state.Model, from Elsewhere, files *machine.Files) (short, err error) {
	for range askedAtMost {
		before := files.Earlier()
		if len(before) == 0 || files.Size() >= fetchedAtMost {
			break
		}
		earlier, err := h.Ask(h.ctx, m, from, machine.FilesQuestion{Before: before})
		if h.ctx.Err() != nil {
			return nil, errors.Trace(h.ctx.Err())
		}
		if err != nil {
			return err, nil
		}
		files.Precede(before, earlier)
	}
	return nil, nil
}

// Fetch gets files of a model from another host's agent, or what the model has of them if it
// can't be asked, which is no recordings: the newest of each, or the whole.
func (h *Host) Fetch(m *state.Model, from Elsewhere, names []string, whole bool) (Fetched, error) {
	f, failed := h.FetchAsked(m, from, names, whole)
	if failed == nil {
		return f, nil
	}
	var err error
	if f.Files, f.At, err = machine.Shipped(h.ctx, m, from.Machine); err == nil {
		f.Files.Only(names)
	}
	if err != nil || len(f.Files.Files) == 0 {
		return f, failed
	}
	f.Instead = failed
	f, err = f.keep(m)
	return f, errors.Trace(err)
}

// FetchAsked is Fetch without what the model has.
func (h *Host) FetchAsked(m *state.Model, from Elsewhere, names []string, whole bool) (f Fetched, err error) {
	if f.Files, err = h.Ask(h.ctx, m, from, machine.FilesQuestion{Names: names}); err != nil {
		return f, err
	}
	if whole {
		if f.Short, err = h.askEarlier(m, from, &f.Files); err != nil {
			return f, err
		}
	}
	f.WithoutHoles()
	f, err = f.keep(m)
	return f, errors.Trace(err)
}

func (f Fetched) keep(m *state.Model) (_ Fetched, err error) {
	if f.Data, err = os.MkdirTemp("", "unitd-"); err != nil {
		return f, errors.Trace(err)
	}
	if err := durable.Fleeting(machine.ModelDir(f.Data, m.UUID()), f.Files.Files); err != nil {
		os.RemoveAll(f.Data)
		return f, errors.Trace(err)
	}
	return f, nil
}
