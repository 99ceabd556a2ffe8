package state

import (
	"context"
	"fmt"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// SetStatus sets the workload or agent status of a unit, or that of an
// application; the zero Since is now. Nothing is written for a status that is
// there already, but for a workload's or application's, whose time moves.
func (m *Model) SetStatus(ctx context.Context, kind StatusKind, name string, s model.Status) error {
	_, err := m.update(ctx, func(tx *txn) error {
		if kind == ApplicationStatus {
			return tx.setApplicationStatus(name, s)
		}
		if _, err := tx.unit(model.UnitName(name)); err != nil {
			return errors.Trace(err)
		}
		return tx.setStatus(kind, name, s)
	}, store.Relaxed)
	return errors.Trace(err)
}

// SetApplicationStatus is SetStatus for the application of a unit that leads it;
// ErrNotLeader from any other.
func (m *Model) SetApplicationStatus(ctx context.Context, by model.UnitName, s model.Status) error {
	_, err := m.update(ctx, func(tx *txn) error {
		leads, err := tx.isLeader(by)
		if err != nil {
			return errors.Trace(err)
		}
		if !leads {
			return errors.Annotatef(ErrNotLeader, "cannot set the status of %q", by.Application())
		}
		return tx.setApplicationStatus(by.Application(), s)
	}, store.Relaxed)
	return errors.Trace(err)
}

// SetCharmStatus sets the workload status of a unit as its charm wants it, and
// remembers that the charm has: then the agent leaves it alone.
func (m *Model) SetCharmStatus(ctx context.Context, unit model.UnitName, s model.Status) error {
	_, err := m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		if !u.StatusSet {
			u.StatusSet = true
			if err := tx.put(unitKey(unit), u); err != nil {
				return errors.Trace(err)
			}
		}
		return tx.setStatus(WorkloadStatus, string(unit), s)
	}, store.Relaxed)
	return errors.Trace(err)
}

func (t *txn) setApplicationStatus(name string, s model.Status) error {
	app, err := t.application(name)
	if err != nil {
		return errors.Trace(err)
	}
	if !app.StatusSet {
		app.StatusSet = true
		if err := t.put(applicationKey(name), app); err != nil {
			return errors.Trace(err)
		}
	}
	return t.setStatus(ApplicationStatus, name, s)
}

func (t *txn) setStatus(kind StatusKind, name string, s model.Status) error {
	last, err := t.status(kind, name)
	if err != nil {
		return errors.Trace(err)
	}
	same := sameStatus(last, s)
	if same && kind == AgentStatus {
		return nil
	}
	if s.Since.IsZero() {
		s.Since = t.now()
	}
	if !same {
		if err := t.addHistory(kind, name, s); err != nil {
			return errors.Trace(err)
		}
	}
	return t.put(statusKey(kind, name), s)
}

// sameStatus says whether a status is one that was set before.
func sameStatus(a, b model.Status) bool {
	return a.Status == b.Status && a.Message == b.Message && len(a.Data) == 0 && len(b.Data) == 0
}

func (d docs) status(kind StatusKind, name string) (model.Status, error) {
	var s model.Status
	_, err := d.find(statusKey(kind, name), &s)
	return s, errors.Trace(err)
}

// StatusOf reads a status as it was set; the zero Status where none was.
func (m *Model) StatusOf(ctx context.Context, kind StatusKind, name string) (model.Status, error) {
	var s model.Status
	_, err := m.view(ctx, func(r docs) (err error) {
		s, err = r.status(kind, name)
		return errors.Trace(err)
	})
	return s, errors.Trace(err)
}

// StatusHistory are the newest statuses of an entity, oldest first: as many as
// StatusHistoryLines says, and fewer where they are long. Their times are whole
// milliseconds.
func (m *Model) StatusHistory(ctx context.Context, kind StatusKind, name string) ([]model.Status, error) {
	var h historyDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		h, _, err = r.history(kind, name)
		return errors.Trace(err)
	})
	all := make([]model.Status, len(h))
	for i, line := range h {
		all[i] = line.Status
	}
	return all, errors.Trace(err)
}

// UnitStatuses are the workload statuses of an application's units, and the
// application's own: what its leader set, else derived of the units'.
func (m *Model) UnitStatuses(ctx context.Context, application string) (app model.Status, units map[model.UnitName]model.Status, err error) {
	_, err = m.view(ctx, func(r docs) error {
		doc, err := r.application(application)
		if err != nil {
			return errors.Trace(err)
		}
		members, err := r.unitsOf(application)
		if err != nil {
			return errors.Trace(err)
		}
		units = map[model.UnitName]model.Status{}
		var shown []model.Status
		for _, u := range members {
			workload, _, err := r.unitStatus(u, true)
			if err != nil {
				return errors.Trace(err)
			}
			units[u.Name] = workload
			shown = append(shown, workload)
		}
		app, err = r.applicationStatus(doc, shown)
		return errors.Trace(err)
	})
	return app, units, errors.Trace(err)
}

func (d docs) applicationStatus(app ApplicationDoc, units []model.Status) (model.Status, error) {
	if app.StatusSet {
		return d.status(ApplicationStatus, app.Name)
	}
	return model.DeriveStatus(units), nil
}

// unitStatus is a unit's workload and agent status as people see them: a hook
// that failed is the agent's error, shown as the workload's, while the agent
// is idle. An agent that isn't there is lost, and what its workload does is
// unknown, unless it has failed or is terminated: nobody who waits for what is
// active is content with what nobody looks after.
// Source: docs/spec/uniter-facts.md §9.2.
func (d docs) unitStatus(u UnitDoc, present bool) (workload, agent model.Status, err error) {
	if workload, err = d.status(WorkloadStatus, string(u.Name)); err != nil {
		return workload, agent, errors.Trace(err)
	}
	if agent, err = d.status(AgentStatus, string(u.Name)); err != nil {
		return workload, agent, errors.Trace(err)
	}
	if agent.Status == model.StatusError {
		workload = agent
		if workload.Message, err = d.errorMessage(u, agent); err != nil {
			return workload, agent, errors.Trace(err)
		}
		agent = model.Status{Status: model.StatusIdle, Since: agent.Since}
	}
	if !present && u.Deployed && u.Life != model.Dead {
		agent = model.Status{Status: model.StatusLost, Message: "agent is not communicating with the server", Since: agent.Since}
		if workload.Status != model.StatusError && workload.Status != model.StatusTerminated {
			message := fmt.Sprintf("agent lost, see '%s show-status-log %s'", d.m.command, u.Name)
			workload = model.Status{Status: model.StatusUnknown, Message: message, Since: workload.Since}
		}
	}
	return workload, agent, nil
}

// seenApplicationStatus is applicationStatus as people see it, who see the units
// in these statuses: what a leader has set isn't active any more where the agents
// of all units are lost.
func (d docs) seenApplicationStatus(app ApplicationDoc, units []UnitView) (model.Status, error) {
	if app.Sidecar && len(units) == 0 && app.Life == model.Alive {
		return d.unprovided(app)
	}
	shown := make([]model.Status, len(units))
	lost := len(units) > 0
	for i, u := range units {
		shown[i] = u.Workload
		lost = lost && u.Agent.Status == model.StatusLost
	}
	s, err := d.applicationStatus(app, shown)
	if lost && s.Status == model.StatusActive {
		s = model.DeriveStatus(shown)
	}
	return s, errors.Trace(err)
}

// unprovided is the status of a container application without units: K-013.
func (d docs) unprovided(app ApplicationDoc) (model.Status, error) {
	charm, err := d.charm(app.Charm)
	if err != nil {
		return model.Status{}, errors.Trace(err)
	}
	if err := charm.Charm.CheckContainers(); err != nil {
		return model.Status{Status: model.StatusError, Message: err.Error()}, nil
	}
	s := model.Status{Status: model.StatusUnknown}
	if app.Scale > 0 {
		s = model.Status{Status: model.StatusWaiting, Message: "waiting for container"}
	}
	return s, nil
}

// errorMessage adds to the message of a failed relation hook which endpoint of
// which other application it was about: ` for mysql:db`.
func (d docs) errorMessage(u UnitDoc, agent model.Status) (string, error) {
	id, ok := agent.Data["relation-id"].(float64)
	if !ok {
		return agent.Message, nil
	}
	r, err := d.relation(model.RelationID(id))
	if errors.Is(err, errors.NotFound) {
		return agent.Message, nil
	}
	if err != nil {
		return "", errors.Trace(err)
	}
	_, other, _ := r.Endpoint(u.Name.Application())
	return agent.Message + " for " + other.String(), nil
}

// present says whether the agent of the machine is there.
func (d docs) present(machine string) (bool, error) {
	var there bool
	_, err := d.find(presenceKey(machine), &there)
	return there, errors.Trace(err)
}

// GoalState is the model's plan for an application: its units, and for each of
// its endpoints the remote applications and units, with their statuses.
type GoalState struct {
	Units     map[string]Goal
	Relations map[string]map[string]Goal
}

// Goal is a status word and since when it holds.
type Goal struct {
	Status string
	Since  time.Time
}

// GoalState reads the plan for the unit's application. It has no subordinates of
// other units, and no Dead units. Of what it has consumed it has the
// URL alone, and of who has consumed it nothing. Source: docs/spec/juju-clients.md §11.5.
func (m *Model) GoalState(ctx context.Context, unit model.UnitName) (GoalState, error) {
	g := GoalState{Units: map[string]Goal{}, Relations: map[string]map[string]Goal{}}
	app := unit.Application()
	_, err := m.view(ctx, func(r docs) error {
		if err := r.goals(unit, app, g.Units); err != nil {
			return errors.Trace(err)
		}
		rels, err := r.relationsOf(app)
		if err != nil {
			return errors.Trace(err)
		}
		for _, rel := range rels {
			own, other, _ := rel.Endpoint(app)
			if rel.IsPeer() || rel.Across != nil && rel.Across.Offering {
				continue
			}
			goals := g.Relations[own.Name]
			if goals == nil {
				goals = map[string]Goal{}
				g.Relations[own.Name] = goals
			}
			status := "joined"
			switch {
			case rel.Life != model.Alive:
				status = "dying"
			case rel.Suspended:
				status = "suspended"
			}
			if rel.Across != nil {
				saas, err := r.saas(other.Application)
				if err != nil {
					return errors.Trace(err)
				}
				goals[saas.URL] = Goal{status, rel.Since}
				continue
			}
			goals[other.Application] = Goal{status, rel.Since}
			if err := r.goals(unit, other.Application, goals); err != nil {
				return errors.Trace(err)
			}
		}
		return nil
	})
	return g, errors.Trace(err)
}

// goals are those that a unit is told of an application's units.
func (d docs) goals(of model.UnitName, app string, into map[string]Goal) error {
	units, err := d.unitsOf(app)
	if err != nil {
		return errors.Trace(err)
	}
	for _, u := range units {
		if u.Life == model.Dead || u.Principal != "" && u.Principal != of {
			continue
		}
		s, _, err := d.unitStatus(u, true)
		if err != nil {
			return errors.Trace(err)
		}
		if u.Life != model.Alive {
			s.Status = u.Life.String()
		}
		into[string(u.Name)] = Goal{s.Status, s.Since}
	}
	return nil
}
