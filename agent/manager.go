package agent

import (
	stderrors "errors"
	"fmt"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd"
)

// ManagedElsewhere is who else than the agent of this data directory manages the
// models, as another host does; nil: nobody. An agent that has joined minds its
// machine alone.
func (h *Host) ManagedElsewhere(dir string) (*state.ManagedError, error) {
	name, err := h.StoreName()
	if err != nil || name == LocalStore {
		return nil, err
	}
	if joined, err := ReadJoin(dir); err != nil || joined != nil {
		return nil, err
	}
	own, err := machine.AgentID(dir)
	if err != nil {
		return nil, err
	}
	c, err := h.Open()
	if err != nil {
		return nil, err
	}
	infos, err := c.Models(h.ctx)
	if err != nil {
		return nil, err
	}
	var gone *state.ManagedError
	for _, info := range infos {
		doc, alive, err := c.Open(info).Manager(h.ctx)
		switch {
		case errors.Is(err, errors.NotFound), errors.Is(err, errors.Unauthorized), err == nil && doc.Agent == own:
		case err != nil:
			return nil, err
		case alive:
			return &state.ManagedError{ManagerDoc: doc, Alive: true}, nil
		default:
			gone = &state.ManagedError{ManagerDoc: doc}
		}
	}
	return gone, nil
}

// ToDo is an error with what to do about it where it is that another agent
// manages the models.
func (h *Host) ToDo(err error) error {
	var managed *state.ManagedError
	if !stderrors.As(err, &managed) {
		return err
	}
	name, nameErr := h.StoreName()
	if nameErr != nil {
		return nameErr
	}
	join := fmt.Sprintf(`"unitd agent --store %s --join TOKEN", with a token of "unitd add-machine"`, name)
	switch {
	case managed.Copy:
		return errors.Annotatef(errors.New("one data directory is one agent's: give this host one of its own, and join"), "%v", managed)
	case name == LocalStore:
		return fmt.Errorf("%w: if that agent has ended without saying so, or the file is a copy of its store, try again in a minute", managed)
	case managed.Alive:
		return fmt.Errorf("%w, and one agent alone does: have this host join by %s", managed, join)
	case !strings.HasPrefix(name, etcd.Scheme):
		return fmt.Errorf("%w: start it there; other hosts join by %s", managed, join)
	}
	return fmt.Errorf(`%w: start it there, or, if that host is gone for good, "unitd agent --takeover" here, where its units begin anew; other hosts join by %s`, managed, join)
}
