package machine

import (
	"context"
	"net/netip"
	"slices"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/isolate"
)

// local says whether nobody but this host reaches it at its address.
func (h Host) local() bool {
	if len(h.Addresses) == 0 {
		return false
	}
	a, err := netip.ParseAddr(h.Addresses[0])
	return err == nil && a.IsLoopback()
}

// facing is the host as those see it who are in its cells.
func (h Host) facing(end isolate.HostEnd) Host {
	h = h.At(end.Address)
	h.Network.Interfaces = []hookcontext.Interface{{
		Name: end.Device, MAC: end.MAC,
		Addresses: []hookcontext.Address{{Value: end.Address, CIDR: network(isolate.Network{Address: end.Address, Bits: end.Bits})}},
	}}
	return h
}

// face finds out which address of the host a unit has that shares it: that on the
// isolated units' network, as long as its machine has a relation with them, for which
// the loopback address is their own. told are the machine's addresses as the model has
// them; if these are others now, it is told, and says so: config-changed follows.
func (u *unit) face(ctx context.Context, told []string) (moved bool, err error) {
	var end isolate.HostEnd
	if u.cell.Load() == nil && u.present.now().local() {
		if end, err = u.cells.Host(); err != nil {
			return false, errors.Trace(err)
		}
	}
	if end.Address != "" {
		faces, err := u.model.Faces(ctx, u.machine)
		if err != nil {
			return false, errors.Trace(err)
		}
		if !faces {
			end = isolate.HostEnd{}
		}
	}
	if before := u.facing.Swap(&end); end.Address == "" && (before == nil || before.Address == "") {
		return false, nil
	}
	if slices.Equal(u.hostNow().Addresses, told) {
		return false, nil
	}
	return true, errors.Trace(u.tellMachine(ctx))
}
