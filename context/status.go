package hookcontext

import (
	"fmt"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// UnitStatus is the unit's workload status as the hook first saw it: a
// status-set of the same hook doesn't show. Source: docs/spec/hook-tools.md §4.
func (c *Context) UnitStatus() (model.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status, err := c.unitStatus.get(c.p.View.UnitStatus)
	return status, errors.Annotate(err, "finding workload status")
}

// ApplicationStatus is the status of the application and its units, for the
// leader only: others get ErrNotLeader.
func (c *Context) ApplicationStatus() (ApplicationStatus, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.requireLeader(); err != nil {
		return ApplicationStatus{}, errors.Annotate(err, "finding application status")
	}
	status, err := c.appStatus.get(c.p.View.ApplicationStatus)
	return status, errors.Annotate(err, "finding application status")
}

// SetUnitStatus tells the model the unit's workload status, at once; it holds
// even if the hook fails. The View adds the time. The error is NotValid for a
// status that a charm can't set.
func (c *Context) SetUnitStatus(status, message string) error {
	return c.setStatus(status, message, false)
}

// SetApplicationStatus is SetUnitStatus for the application. Any unit but the
// leader gets ErrNotLeader.
func (c *Context) SetApplicationStatus(status, message string) error {
	return c.setStatus(status, message, true)
}

func (c *Context) setStatus(status, message string, application bool) error {
	if words := model.CharmStatuses(); !slices.Contains(words, status) {
		return errors.NewNotValid(nil, fmt.Sprintf("invalid status %q, expected one of %v", status, words))
	}
	s := model.Status{Status: status, Message: message}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !application {
		return errors.Trace(c.p.View.SetUnitStatus(s))
	}
	if err := c.requireLeader(); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(c.p.View.SetApplicationStatus(s))
}
