package hookcontext

import "github.com/juju/errors"

// Resource is the path of the unit's own copy of what its application was given
// for a resource of the charm. It is asked for each time, and other questions
// don't wait for a file that takes long. The error is NotFound for what the
// charm doesn't declare or nothing was given for. Source: docs/spec/hook-tools.md
// §4 and §7.3.
func (c *Context) Resource(name string) (string, error) {
	path, err := c.p.View.Resource(name)
	return path, errors.Trace(err)
}
