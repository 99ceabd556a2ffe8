package scale

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter/resolver"
)

// unit is a unit with what its agent remembers.
type unit struct {
	doc     state.UnitDoc
	model   *state.Model
	lookout *state.Lookout
	host    *host
	local   resolver.Local
	phase   phase
	op      resolver.Op // of the hook that runs
	settled bool        // its agent has said that it is idle, and done nothing since
}

// phase says what a unit's agent is at.
type phase int

const (
	absent  phase = iota // its machine isn't up yet
	asleep               // it has nothing to do
	due                  // it is about to look
	queued               // it waits for its turn to run a hook
	running              // its hook runs
)

func (u *unit) application() string { return u.doc.Name.Application() }

// look reads the model and decides.
func (s *sim) look(ctx context.Context, u *unit) (resolver.Op, error) {
	before := s.store.Traffic
	remote, err := machine.LookOut(ctx, u.model, u.lookout, u.local, s.clock.Now())
	if err != nil {
		return resolver.Op{}, errors.Annotatef(err, "%s looks", u.doc.Name)
	}
	s.looking = s.looking.plus(s.store.Traffic.minus(before))
	s.f.Looks++
	return resolver.Next(u.local, remote), nil
}

// do carries out an operation that takes no time to speak of, as package uniter
// does by the doors of package machine.
func (s *sim) do(ctx context.Context, u *unit, op resolver.Op) error {
	switch op.Verb {
	case resolver.Deploy:
		if err := u.unlessCharm(ctx, model.StatusWaiting, "agent initialising"); err != nil {
			return errors.Trace(err)
		}
		if err := u.model.SetUnitCharm(ctx, u.doc.Name, op.Charm); err != nil {
			return errors.Trace(err)
		}
	case resolver.EnterScope:
		for _, id := range op.Relations {
			if err := u.model.EnterScope(ctx, u.doc.Name, id, u.host.settings()); err != nil {
				return errors.Trace(err)
			}
		}
	case resolver.Resign:
	default:
		return errors.Errorf("%s is to %s: %s", u.doc.Name, op.Verb, op.Reason)
	}
	u.local = resolver.After(u.local, op, s.event(resolver.Done))
	return nil
}

// begin begins a hook.
func (s *sim) begin(ctx context.Context, u *unit, op resolver.Op) error {
	u.op, u.phase = op, running
	u.local = resolver.After(u.local, op, s.event(resolver.Began))
	if op.Hook.Kind == hooks.Install {
		if err := u.unlessCharm(ctx, model.StatusMaintenance, "installing charm software"); err != nil {
			return errors.Trace(err)
		}
	}
	if !s.Executing {
		return nil
	}
	message := fmt.Sprintf("running %s hook", op.Hook.Name())
	if op.Hook.RemoteUnit != "" {
		message += " for " + string(op.Hook.RemoteUnit)
	}
	return u.agentStatus(ctx, model.StatusExecuting, message)
}

// end ends the hook that runs: it commits.
func (s *sim) end(ctx context.Context, u *unit) error {
	changes, err := u.wrote(ctx, u.op.Hook)
	if err != nil {
		return errors.Trace(err)
	}
	c := state.HookCommit{Unit: u.doc.Name, Run: u.op.Run, Changes: changes, LeaveScope: model.NoRelation}
	if c.Memory, err = json.Marshal(resolver.Remember(u.local, nil)); err != nil {
		return errors.Trace(err)
	}
	if u.op.Hook.Kind == hooks.ConfigChanged {
		c.Addresses = u.host.settings()
	}
	if err := u.model.CommitHook(ctx, c); err != nil {
		return errors.Annotatef(err, "%s commits %s", u.doc.Name, u.op.Hook.Name())
	}
	s.f.Hooks++
	u.local = resolver.After(u.local, u.op, s.event(resolver.Done))
	if u.op.Hook.Kind == hooks.Start {
		return u.unlessCharm(ctx, model.StatusUnknown, "")
	}
	return nil
}

// wrote is what a typical charm does in a hook: it shows itself in each of its
// relations, by its leader for the application too, reads what others say, opens
// a port, and says once that it is active.
func (u *unit) wrote(ctx context.Context, h hooks.Info) (c model.Changes, err error) {
	switch h.Kind {
	case hooks.Start:
		c.Ports = []model.PortChange{{Range: model.PortRange{Protocol: "tcp", From: 8000 + u.doc.Name.Number()%1000, To: 8000 + u.doc.Name.Number()%1000}}}
		return c, u.model.SetCharmStatus(ctx, u.doc.Name, model.Status{Status: model.StatusActive})
	case hooks.RelationCreated:
		change := model.RelationChange{Unit: model.Settings{"hostname": u.host.address, "port": "8080", "version": "1.2.3", "ready": "true"}}
		epoch, _, err := u.model.Leads(ctx, u.doc.Name)
		if err != nil {
			return c, errors.Trace(err)
		}
		if epoch > 0 {
			c.Epoch = epoch
			change.Application = model.Settings{"endpoints": u.host.address + ":8080", "cluster-name": u.application(), "tls": "true"}
		}
		c.Relations = map[model.RelationID]model.RelationChange{h.RelationID: change}
	case hooks.RelationChanged:
		if h.RemoteUnit == "" {
			_, err = u.model.ApplicationSettings(ctx, h.RelationID, h.RemoteApp)
		} else {
			_, err = u.model.Settings(ctx, h.RelationID, h.RemoteUnit)
		}
	}
	return c, errors.Trace(err)
}

func (u *unit) agentStatus(ctx context.Context, word, message string) error {
	return errors.Trace(u.model.SetStatus(ctx, state.AgentStatus, string(u.doc.Name), model.Status{Status: word, Message: message}))
}

// unlessCharm sets the workload status if the charm hasn't set one itself.
func (u *unit) unlessCharm(ctx context.Context, word, message string) error {
	doc, err := u.model.Unit(ctx, u.doc.Name)
	if err != nil || doc.StatusSet {
		return errors.Trace(err)
	}
	return errors.Trace(u.model.SetStatus(ctx, state.WorkloadStatus, string(u.doc.Name), model.Status{Status: word, Message: message}))
}
