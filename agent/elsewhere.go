package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/juju/errors"

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
		all = append(all, Elsewhere{state.ManagingHost, "the host that has the models", true})
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
// and all that are there if the model doesn't have it, as it was on one of them.
func (h *Host) Whose(m *state.Model, unit model.UnitName, others []Elsewhere) ([]Elsewhere, error) {
	doc, err := m.Unit(h.ctx, unit)
	if errors.Is(err, errors.NotFound) {
		return slices.DeleteFunc(slices.Clone(others), func(o Elsewhere) bool { return !o.Present }), nil
	}
	if err != nil {
		return nil, err
	}
	on := doc.Machine
	if doc.Provider == state.LocalProvider {
		on = state.ManagingHost
	}
	return slices.DeleteFunc(slices.Clone(others), func(o Elsewhere) bool { return o.Machine != on }), nil
}

// answerTime is how long another host's agent may take to answer.
const answerTime = 20 * time.Second

// Fetch gets files of a model from another host's agent, and puts them below a data directory
// of their own, which is the caller's to remove.
func (h *Host) Fetch(m *state.Model, from Elsewhere, q machine.FilesQuestion) (data string, cut bool, err error) {
	if !from.Present {
		return "", false, errors.NewNotFound(nil, fmt.Sprintf("the agent of %s isn't there, and it alone has that: start it", from.Name))
	}
	ctx, stop := context.WithTimeout(h.ctx, answerTime)
	defer stop()
	files, err := machine.AskFiles(ctx, m, from.Machine, q)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && h.ctx.Err() == nil:
		return "", false, errors.Errorf("the agent of %s hasn't answered within %s: run the command there", from.Name, answerTime)
	case err != nil:
		return "", false, errors.Annotatef(err, "cannot ask the agent of %s", from.Name)
	}
	if data, err = os.MkdirTemp("", "unitd-"); err != nil {
		return "", false, errors.Trace(err)
	}
	for name, text := range files.Files {
		path := filepath.Join(machine.ModelDir(data, m.UUID()), filepath.FromSlash(name))
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			continue
		}
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			os.RemoveAll(data)
			return "", false, errors.Annotate(err, "cannot keep what another host has sent")
		}
	}
	return data, files.Cut, nil
}
