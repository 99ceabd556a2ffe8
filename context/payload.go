package hookcontext

import (
	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// RegisterPayload notes something that the charm runs, at once.
func (c *Context) RegisterPayload(p model.Payload) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Trace(c.p.View.RegisterPayload(p))
}

// UnregisterPayload forgets it, at once.
func (c *Context) UnregisterPayload(class, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Trace(c.p.View.UnregisterPayload(class, id))
}

// SetPayloadStatus changes its status, at once; errors.NotFound without it.
func (c *Context) SetPayloadStatus(class, id, status string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Trace(c.p.View.SetPayloadStatus(class, id, status))
}

// Cloud is what is known of the cloud that the unit is in. The error is
// Forbidden, with the contract's text, for an application that isn't trusted, and
// NotSupported for one of a container charm.
func (c *Context) Cloud() (Cloud, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.p.Charm.Sidecar() {
		return Cloud{}, errors.NewNotSupported(nil, `cannot access cloud credentials: credential-get on a "caas" model not supported`)
	}
	cloud, err := c.p.View.Cloud()
	return cloud, errors.Annotate(err, "cannot access cloud credentials")
}
