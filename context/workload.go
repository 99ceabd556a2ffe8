package hookcontext

import (
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

// Reboot asks for a reboot of the machine: once the hook has succeeded, or
// now. Now wins over later. The error is NotSupported in an action.
func (c *Context) Reboot(now bool) error {
	if !c.p.MayReboot {
		return errors.NewNotSupported(nil, "juju-reboot is not supported when running an action.")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case now:
		c.reboot = model.RebootNow
		if c.p.RebootNow != nil {
			c.p.RebootNow()
		}
	case c.reboot == model.NoReboot:
		c.reboot = model.RebootAfter
	}
	return nil
}

// Log writes a message of the charm's at once, with the relation in front in
// relation hooks. Level is one of the View's. Source: spec/hook-tools.md §7.3.
func (c *Context) Log(level, message string) {
	if ref := c.p.Hook.RelationRef(); ref != "" {
		message = ref + ": " + message
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.p.View.Log(level, message)
}
