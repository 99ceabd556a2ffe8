package hookcontext

import (
	"cmp"

	"github.com/juju/errors"
)

// Network is what the unit's machine offers an endpoint or extra binding; the
// empty name is the default binding. It is not to be changed. The error is
// NotFound where there is none.
func (c *Context) Network(binding string) (Network, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return forKey(c.networks, binding).get(func() (Network, error) {
		return c.p.View.Network(binding)
	})
}

// PrivateAddress is the first address of the default binding: its host name
// where it was found by one. Source: docs/spec/hook-tools.md §7.2, unit-get.
func (c *Context) PrivateAddress() (string, error) {
	network, err := c.Network("")
	if err != nil && !errors.Is(err, errors.NotFound) {
		return "", errors.Trace(err)
	}
	for _, nic := range network.Interfaces {
		if len(nic.Addresses) > 0 {
			first := nic.Addresses[0]
			return cmp.Or(first.Hostname, first.Value), nil
		}
	}
	return "", errors.NewNotFound(nil, "private address not found")
}

// PublicAddress is the unit's address for the world. The error is NotFound,
// "public address not found", where it has none.
func (c *Context) PublicAddress() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	address, err := c.publicAddress.get(c.p.View.PublicAddress)
	if errors.Is(err, errors.NotFound) {
		return "", errors.NewNotFound(nil, "public address not found")
	}
	return address, errors.Trace(err)
}
