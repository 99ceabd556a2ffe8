package machine

import (
	"net"
	"slices"

	hookcontext "github.com/unitd/unitd/context"
)

// ReachableHost describes this host as other hosts reach it: by the address,
// or, where it is empty, by that from which it would reach them, with the other
// addresses of the same interface. A host with nothing but its loopback is
// LocalHost.
func ReachableHost(address string) Host {
	h := LocalHost()
	if address == "" {
		address = outward()
	}
	if address == "" {
		return h
	}
	h = h.At(address)
	nic, ok := interfaceOf(address)
	if !ok {
		return h // it is that of somebody who passes packets on
	}
	h.Network.Interfaces = []hookcontext.Interface{nic}
	for _, a := range nic.Addresses {
		if a.Value != address {
			h.Addresses = append(h.Addresses, a.Value)
		}
	}
	return h
}

// outward is the address from which this host reaches others; empty: none can be
// reached. Nothing is sent to find out.
func outward() string {
	for _, to := range []string{"192.0.2.1:9", "[2001:db8::1]:9"} { // of documentation, so nobody's
		if c, err := net.Dial("udp", to); err == nil {
			defer c.Close()
			if from, ok := c.LocalAddr().(*net.UDPAddr); ok && from.IP.IsGlobalUnicast() {
				return from.IP.String()
			}
		}
	}
	// Without a route for all the world there may be neighbours.
	nics, _ := net.Interfaces()
	for _, four := range []bool{true, false} {
		for _, nic := range nics {
			for _, a := range addressesOf(nic) {
				if (a.IP.To4() != nil) == four && nic.Flags&net.FlagLoopback == 0 {
					return a.IP.String()
				}
			}
		}
	}
	return ""
}

// addressesOf are the addresses of an interface that is up by which others can
// reach it.
func addressesOf(nic net.Interface) []*net.IPNet {
	if nic.Flags&net.FlagUp == 0 {
		return nil
	}
	var usable []*net.IPNet
	all, _ := nic.Addrs() // one that has gone has none
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			usable = append(usable, n)
		}
	}
	return usable
}

// interfaceOf is the interface that has the address, with that one first.
func interfaceOf(address string) (hookcontext.Interface, bool) {
	nics, _ := net.Interfaces()
	for _, nic := range nics {
		all := addressesOf(nic)
		i := slices.IndexFunc(all, func(n *net.IPNet) bool { return n.IP.String() == address })
		if i < 0 {
			continue
		}
		all[0], all[i] = all[i], all[0]
		out := hookcontext.Interface{Name: nic.Name, MAC: nic.HardwareAddr.String()}
		for _, n := range all {
			subnet := net.IPNet{IP: n.IP.Mask(n.Mask), Mask: n.Mask}
			out.Addresses = append(out.Addresses, hookcontext.Address{Value: n.IP.String(), CIDR: subnet.String()})
		}
		return out, true
	}
	return hookcontext.Interface{}, false
}
