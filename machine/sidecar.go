package machine

import (
	"context"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/state"
)

// sidecarNetwork is what network-get tells a unit whose charm has containers: it is
// at its own address, of a device that is nobody's matter, and reached by the address
// of its application. Without an address there is one device with none. Source:
// docs/spec/containers.md §6.
func sidecarNetwork(addresses []string, service string) hookcontext.Network {
	n := hookcontext.Network{Interfaces: []hookcontext.Interface{{}}}
	if len(addresses) > 0 {
		n.Interfaces[0].Addresses = []hookcontext.Address{{Value: addresses[0]}}
	}
	switch {
	case service != "":
		n.Ingress = []string{service}
	case len(addresses) > 0:
		n.Ingress = addresses[:1]
	}
	for _, a := range n.Ingress {
		n.Egress = append(n.Egress, a+"/32")
	}
	return n
}

// found has what a cell needs to know of how the units in it are reached: whether
// theirs is a charm with containers, and the address of their application, before the
// first hook asks for it.
func (u *unit) found(ctx context.Context, c *cell, app state.ApplicationDoc) error {
	charm, err := u.model.Charm(ctx, app.Charm)
	if err != nil {
		return errors.Trace(err)
	}
	c.sidecar = charm.Charm.Sidecar()
	if c.sidecar && c.Network().Address != "" {
		c.service, err = u.cells.Lease(u.model.UUID() + "/" + app.Name)
	}
	return errors.Trace(err)
}
