package isolate

import (
	"net"
	"net/netip"
	"slices"

	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/tunnel"
)

// tunnelRecord is what is known of the tunnel to other hosts, in the record of the network,
// with which it goes.
type tunnelRecord struct {
	// Private is this host's key, and Port where it waited last.
	Private string `json:"private"`
	Port    int    `json:"port"`
}

// tunnelDevice is the name of the device.
func (b *bridge) tunnelDevice() string { return hashed("uw", b.dir, 12) }

func (c *Cells) tunnelOf(b *bridge) tunnel.Device {
	return tunnel.Device{Name: b.tunnelDevice(), MTU: b.mtu - tunnel.Overhead, Program: c.Program}
}

// Propose says which network the cells are to have, if none is known yet and this host has no
// other use for that one.
func (c *Cells) Propose(p netip.Prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.proposed = p
}

// Subnet is the cells' network; zero: there has been none.
func (c *Cells) Subnet() (netip.Prefix, error) {
	b, err := openBridge(c.Dir)
	if err != nil {
		return netip.Prefix{}, errors.Trace(err)
	}
	return b.subnet(), nil
}

// OpenTunnel has a tunnel there to the cells of other hosts, and says what this host is for
// those; zero: there are no cells with a network. It waits at a port, 0: any. The error is
// tunnel.ErrNone where there can be none.
func (c *Cells) OpenTunnel(port int) (TunnelEnd, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := openBridge(c.Dir)
	if err != nil || !b.subnet().IsValid() {
		return TunnelEnd{}, errors.Trace(err)
	}
	if _, err := netlink.LinkByName(b.device()); err != nil {
		return TunnelEnd{}, nil // the host has rebooted
	}
	if b.mtu, err = outerMTU(); err != nil {
		return TunnelEnd{}, errors.Trace(err)
	}
	_, missing := netlink.LinkByName(b.tunnelDevice())
	if err := c.openTunnel(b, port); err != nil {
		return TunnelEnd{}, errors.Trace(err)
	}
	if missing != nil { // it is another one: nothing has been set
		c.tunnelled = nil
		if err := b.letTunnelled(); err != nil {
			return TunnelEnd{}, errors.Trace(err)
		}
	}
	public, err := tunnel.Public(b.Tunnel.Private)
	return TunnelEnd{Network: b.subnet(), Public: public, Port: b.Tunnel.Port}, errors.Trace(err)
}

// openTunnel has the device there. Its key is recorded before.
func (c *Cells) openTunnel(b *bridge, port int) (err error) {
	was := b.Tunnel
	if was == nil {
		private, err := tunnel.NewKey()
		if err != nil {
			return errors.Trace(err)
		}
		b.Tunnel = &tunnelRecord{Private: private}
		if err := b.save(); err != nil {
			return errors.Trace(err)
		}
	}
	if port == 0 {
		port = b.Tunnel.Port
	}
	port, err = c.tunnelOf(b).Up(tunnel.Self{Private: b.Tunnel.Private, Port: port})
	if err != nil || port == b.Tunnel.Port {
		return errors.Trace(err)
	}
	b.Tunnel.Port = port
	return errors.Trace(b.save())
}

// letTunnelled lets packets pass between the cells and the tunnel, under the cells' own
// addresses.
func (b *bridge) letTunnelled() error {
	if err := masquerade(b.device(), b.tunnelDevice(), b.subnet()); err != nil {
		return errors.Annotate(err, "cannot let the tunnel's packets pass")
	}
	return errors.Annotate(writeSetting(b.tunnelDevice(), "1"), "cannot let the tunnel's packets pass")
}

// SetTunnel has the cells reach those of these hosts, and of no others, and returns the
// networks that they reach by the tunnel: those that this host has other routes to it leaves
// alone.
func (c *Cells) SetTunnel(peers []tunnel.Peer) (reached []netip.Prefix, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := openBridge(c.Dir)
	if err != nil || !b.subnet().IsValid() {
		return nil, errors.Trace(err)
	}
	link, err := netlink.LinkByName(b.tunnelDevice())
	if err != nil {
		return nil, errors.Annotate(err, "cannot find the tunnel")
	}
	var through []tunnel.Peer
	for _, p := range peers {
		free, err := b.freeOf(p.Networks, link)
		if err != nil {
			return nil, errors.Trace(err)
		}
		if len(free) > 0 {
			p.Networks = free
			through, reached = append(through, p), append(reached, free...)
		}
	}
	if err := c.tunnelOf(b).Set(through, c.tunnelled); err != nil {
		return nil, errors.Trace(err)
	}
	c.tunnelled = through
	return reached, errors.Trace(b.route(link, reached))
}

// freeOf are those of networks that this host has no other route to.
func (b *bridge) freeOf(all []netip.Prefix, link netlink.Link) (free []netip.Prefix, err error) {
	for _, p := range all {
		taken, _, err := known(p, link.Attrs().Index)
		if err != nil {
			return nil, errors.Trace(err)
		}
		if !taken {
			free = append(free, p)
		}
	}
	return free, nil
}

// route leads to these networks through the tunnel, and to no others. The host goes there by
// its address on the cells' network, as that is the one that the other end lets in.
func (b *bridge) route(link netlink.Link, to []netip.Prefix) error {
	routes, err := netlink.RouteList(link, netlink.FAMILY_V4)
	if err != nil {
		return errors.Annotate(err, "cannot read the host's routes")
	}
	for _, r := range routes {
		if dst, ok := prefix(r.Dst); ok && slices.Contains(to, dst) {
			continue
		}
		if err := netlink.RouteDel(&r); err != nil && !errors.Is(err, unix.ESRCH) {
			return errors.Annotate(err, "cannot remove a route through the tunnel")
		}
	}
	for _, p := range to {
		dst := &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: dst, Src: gateway(b.subnet()).AsSlice(), Scope: netlink.SCOPE_LINK}
		if err := netlink.RouteReplace(route); err != nil {
			return errors.Annotatef(err, "cannot have a route to %s through the tunnel", p)
		}
	}
	return nil
}

// CloseTunnel takes the tunnel away; its key is kept as long as the network is.
func (c *Cells) CloseTunnel() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := openBridge(c.Dir)
	if err != nil {
		return errors.Trace(err)
	}
	c.tunnelled = nil
	return errors.Trace(c.tunnelOf(b).Remove())
}
