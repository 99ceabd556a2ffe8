package isolate

import (
	"net"

	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// connect lays a cable between the bridge and the process's network, and says
// what its end is called there.
func (b *bridge) connect(key string, pid int) (inner string, err error) {
	if err := b.cut(key); err != nil {
		return "", errors.Trace(err)
	}
	master, err := netlink.LinkByName(b.device())
	if err != nil {
		return "", errors.Annotate(err, "cannot find the units' network")
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MasterIndex, attrs.Flags, attrs.MTU = b.link(key), master.Attrs().Index, net.FlagUp, b.mtu
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: b.inner(key), PeerNamespace: netlink.NsPid(pid), PeerMTU: uint32(b.mtu)}
	if veth.PeerHardwareAddr, err = net.ParseMAC(MAC(b.Addresses[key])); err != nil {
		return "", errors.Annotatef(err, "cannot connect a unit with the address %q", b.Addresses[key])
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return "", netRights("cannot connect a unit to the units' network", err)
	}
	_ = netlink.LinkSetAlias(veth, key) // for people only
	return b.inner(key), errors.Annotate(netlink.LinkSetUp(veth), "cannot connect a unit to the units' network")
}

// cut takes a cell's cable away, if there is one; it goes by itself with the cell,
// a while after.
func (b *bridge) cut(key string) error {
	link, err := netlink.LinkByName(b.link(key))
	if err != nil {
		return nil
	}
	if err := netlink.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
		return errors.Annotate(err, "cannot take away a unit's network")
	}
	return nil
}

// setUpNetwork is the cell's part: its devices, address and routes. Without a
// link it has but the loopback device.
func setUpNetwork(n Network, link string) error {
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil || link == "" {
		return errors.Annotate(err, "cannot set the loopback device up")
	}
	eth, err := netlink.LinkByName(link)
	if err != nil {
		return errors.Annotate(err, "cannot find the cell's network device")
	}
	if err := netlink.LinkSetName(eth, "eth0"); err != nil {
		return errors.Trace(err)
	}
	ip := net.ParseIP(n.Address)
	address := &netlink.Addr{IPNet: &net.IPNet{IP: ip, Mask: net.CIDRMask(n.Bits, 32)}}
	if err := netlink.AddrAdd(eth, address); err != nil {
		return errors.Annotatef(err, "cannot set the address %s", n.Address)
	}
	if err := netlink.LinkSetUp(eth); err != nil {
		return errors.Trace(err)
	}
	if !n.Closed { // without a route, who tries to get out is told so at once
		route := &netlink.Route{LinkIndex: eth.Attrs().Index, Gw: net.ParseIP(n.Gateway)}
		if err := netlink.RouteAdd(route); err != nil {
			return errors.Annotate(err, "cannot set the cell's default route")
		}
	}
	return errors.Trace(setUpNetwork6(n, eth))
}
