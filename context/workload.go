package hookcontext

import (
	"fmt"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// SetWorkloadVersion says which version of the workload the unit runs; empty
// is a version, too.
func (c *Context) SetWorkloadVersion(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = &version
}

// NoRebootInAction is the Params.NoReboot of an action.
const NoRebootInAction = "juju-reboot is not supported when running an action."

// Reboot asks for a reboot of the machine: once the hook has succeeded, or
// now. Now wins over later. The error is NotSupported where it is refused.
func (c *Context) Reboot(now bool) error {
	if why := c.p.NoReboot; why != "" {
		return errors.NewNotSupported(nil, why)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case now:
		c.reboot = model.RebootNow
		if c.p.RebootNow != nil {
			c.over = true
			c.p.RebootNow()
		}
	case c.reboot == model.NoReboot:
		c.reboot = model.RebootAfter
	}
	return nil
}

// Fail ends the run as one that has failed, for a reason in a line; the first
// one holds.
func (c *Context) Fail(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = &reason
	}
	c.over = true
	if c.p.FailNow != nil {
		c.p.FailNow()
	}
}

// Failed says whether Fail was called, and why.
func (c *Context) Failed() (reason string, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		return "", false
	}
	return *c.failed, true
}

// Over says whether a tool has ended the run, by Fail or Reboot: no call of the
// hook counts any more, and it is to see no answer, by which it could go on.
func (c *Context) Over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// Requeue asks for the hook to be run again that long after now, once it has
// succeeded; the last wish is the one that holds. The error is NotSupported
// where what the hook tells of will be gone by then, and in tasks.
func (c *Context) Requeue(after time.Duration, reason string) error {
	if !c.p.Hook.Repeats() {
		return errors.NewNotSupported(nil, fmt.Sprintf("%s can't be run again", c.p.Hook.Name()))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requeue = &model.Requeue{At: c.p.View.Now().Add(after), Reason: reason}
	return nil
}

// Log writes a message of the charm's at once, with the relation in front in
// relation hooks. Level is one of the View's. Source: docs/spec/hook-tools.md §7.3.
func (c *Context) Log(level, message string) {
	if ref := c.p.Hook.RelationRef(); ref != "" {
		message = ref + ": " + message
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.p.View.Log(level, message)
}
