package state

import (
	"bytes"
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// Report is what the agent of a unit wants people to see of it: how the unit is
// to look in the model, not what has happened. What is nil stays as it is.
type Report struct {
	Agent *model.Status `json:"agent,omitempty"`
	// Passed are statuses that the agent had before, in their order, and that the model
	// doesn't have: for the history alone, which has the newest of them.
	Passed   []model.Status `json:"passed,omitempty"`
	Workload *model.Status  `json:"workload,omitempty"`
	// UnlessCharm: Workload is for a unit whose charm has set none itself.
	UnlessCharm bool `json:"unless-charm,omitempty"`
	// Failed is which run has put the unit in error; its Run is 0: it is in error
	// no more.
	Failed *FailureDoc `json:"failed,omitempty"`
	// Containers are the unit's workload containers.
	Containers *ContainersDoc `json:"containers,omitempty"`
}

// Empty says whether nothing is wanted.
func (r Report) Empty() bool {
	return r.Agent == nil && r.Workload == nil && r.Failed == nil && r.Containers == nil
}

// maxPassed is how many statuses that have passed a report has at most.
const maxPassed = 20

// Then is what is wanted once something later is.
func (r Report) Then(later Report) Report {
	if later.Agent != nil {
		r.Agent = later.Agent
	}
	r.Passed = append(r.Passed[:len(r.Passed):len(r.Passed)], later.Passed...)
	r.Passed = r.Passed[max(0, len(r.Passed)-maxPassed):]
	if later.Workload != nil {
		r.Workload, r.UnlessCharm = later.Workload, later.UnlessCharm
	}
	if later.Failed != nil {
		r.Failed = later.Failed
	}
	if later.Containers != nil {
		r.Containers = later.Containers
	}
	return r
}

// Tell has a unit look as its agent wants it to, in one transaction: nobody sees
// a failed run without its status. It can be called again with the same report.
// The error is NotFound where there is no such unit.
func (m *Model) Tell(ctx context.Context, name model.UnitName, r Report) error {
	if told, err := m.hasTold(ctx, name, r); told || err != nil {
		return errors.Trace(err)
	}
	_, err := m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(name)
		if err != nil {
			return errors.Trace(err)
		}
		return tx.tell(u, r)
	}, store.Relaxed)
	return errors.Trace(err)
}

// tell is Tell in a transaction.
func (t *txn) tell(u UnitDoc, r Report) error {
	if r.Failed != nil {
		if err := t.setFailed(u, *r.Failed); err != nil {
			return errors.Trace(err)
		}
	}
	if r.Containers != nil {
		if err := t.tellContainers(u.Name, *r.Containers); err != nil {
			return errors.Trace(err)
		}
	}
	if r.Workload != nil && !(r.UnlessCharm && u.StatusSet) {
		if err := t.setStatus(WorkloadStatus, string(u.Name), *r.Workload); err != nil {
			return errors.Trace(err)
		}
	}
	for _, passed := range r.Passed {
		if err := t.setStatus(AgentStatus, string(u.Name), passed); err != nil {
			return errors.Trace(err)
		}
	}
	if r.Agent == nil {
		return nil
	}
	return t.setStatus(AgentStatus, string(u.Name), *r.Agent)
}

// hasTold says whether a report is of nothing but a status that the unit's agent has by
// now, as that of each unit is when an agent starts again.
func (m *Model) hasTold(ctx context.Context, name model.UnitName, r Report) (told bool, err error) {
	if r.Agent == nil || len(r.Passed) > 0 || r.Workload != nil || r.Failed != nil || r.Containers != nil {
		return false, nil
	}
	_, err = m.view(ctx, func(d docs) error {
		if _, err := d.unit(name); err != nil {
			return errors.Trace(err)
		}
		now, err := d.status(AgentStatus, string(name))
		told = err == nil && sameStatus(now, *r.Agent)
		return errors.Trace(err)
	})
	return told, errors.Trace(err)
}

// setFailed says which run has put the unit in error, and what its agent
// remembers. Both change at once, so that nobody takes what is remembered for
// another run's.
func (t *txn) setFailed(u UnitDoc, f FailureDoc) error {
	if u.Failed != f.Run {
		u.Failed = f.Run
		if err := t.put(unitKey(u.Name), u); err != nil {
			return errors.Trace(err)
		}
	}
	if f.Run == 0 {
		return t.delete(failureKey(u.Name))
	}
	var was FailureDoc
	if _, err := t.find(failureKey(u.Name), &was); err != nil {
		return errors.Trace(err)
	}
	if was.Run == f.Run && bytes.Equal(was.Remembered, f.Remembered) {
		return nil
	}
	return t.put(failureKey(u.Name), f)
}

// Seen is how a unit looks once its agent has been able to tell what it wants:
// the statuses as people see them. s is how it looks as long as it hasn't.
func (r Report) Seen(s UnitView) UnitView {
	if s.charms != nil {
		s.Workload, s.charms = *s.charms, nil
	}
	if r.Workload != nil && !(r.UnlessCharm && s.StatusSet) && s.Workload.Status != model.StatusError {
		s.Workload = *r.Workload
	}
	switch {
	case r.Agent == nil:
	case r.Agent.Status == model.StatusError:
		s.Workload, s.Agent = *r.Agent, model.Status{Status: model.StatusIdle, Since: r.Agent.Since}
	default:
		s.Agent = *r.Agent
	}
	if r.Containers != nil {
		s.Containers = *r.Containers
	}
	return s.withContainers()
}
