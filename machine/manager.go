package machine

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// agentIDFile has the id of an agent that manages models. Whoever has a copy of it
// is taken for that agent.
const agentIDFile = "agent.id"

// AgentID is the id of the agent that manages the models, as its directory
// (Config.Dir) has it; empty where none has run in it yet.
func AgentID(dir string) (string, error) {
	path := filepath.Join(dir, agentIDFile)
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", errors.Annotate(err, "cannot tell which agent this is")
	}
	id := strings.TrimSpace(string(b))
	if _, err := uuid.Parse(id); err != nil {
		return "", errors.NewNotValid(nil, path+" is damaged: put it back from a backup, or remove it and have the agent take over as one that is new")
	}
	return id, nil
}

// keepAgentID is AgentID for the agent itself, which makes one if there is none.
func keepAgentID(disk durable.Disk, dir string) (string, error) {
	id, err := AgentID(dir)
	if err != nil || id != "" {
		return id, errors.Trace(err)
	}
	made, err := uuid.NewRandom()
	if err != nil {
		return "", errors.Annotate(err, "cannot make the agent's id")
	}
	err = disk.ReplaceFile(filepath.Join(dir, agentIDFile), []byte(made.String()+"\n"), 0o600)
	return made.String(), errors.Annotate(err, "cannot keep the agent's id")
}

// beManager makes the agent one that manages models, and changes none that
// another one manages.
func (a *agent) beManager() error {
	id, err := keepAgentID(a.Disk, a.Dir)
	if err != nil {
		return errors.Trace(err)
	}
	run, err := uuid.NewRandom()
	if err != nil {
		return errors.Annotate(err, "cannot make an id")
	}
	a.manager = &state.ManagerDoc{Agent: id, Host: a.present.now().Hostname, Run: run.String()}
	a.Controller = a.Controller.ManagedBy(a.manager.Run, a.end)
	return nil
}

// manageAll makes the agent the manager of all models that there are and that it
// may see, or of none.
func (a *agent) manageAll(ctx context.Context) error {
	if a.manager == nil {
		return nil
	}
	infos, err := a.Controller.Models(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	claim := state.Return
	if a.TakeOver {
		claim = state.TakeOver
	}
	var begun []*state.Model
	for _, info := range infos {
		m := a.Controller.Open(info)
		first, err := m.Manage(ctx, *a.manager, a.lease.current(), claim)
		switch {
		case errors.Is(err, errors.Unauthorized):
			continue // it isn't this agent's to see
		case err != nil:
			for _, m := range begun {
				if err := m.Unmanage(ctx, a.manager.Run); err != nil {
					a.Log.Error("cannot give back a model", "model", m.Name(), "err", err)
				}
			}
			return errors.Trace(err)
		case first:
			begun = append(begun, m)
		}
	}
	return nil
}

// manage makes the agent the manager of the model, of which nobody is, and says
// on its present lease that it is there. The error is state.ErrManaged once
// another one is.
func (a *modelAgent) manage(ctx context.Context) error {
	if a.manager == nil {
		return nil
	}
	err := a.leased(ctx, func(l store.LeaseID) error {
		_, err := a.model.Manage(ctx, *a.manager, l, state.Stay)
		return errors.Trace(err)
	})
	if errors.Is(err, errors.Unauthorized) {
		return nil // it isn't this agent's to see, which its log says
	}
	return errors.Trace(err)
}
