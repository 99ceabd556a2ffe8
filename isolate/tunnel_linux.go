package isolate

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

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

// tunnelled is what this process knows of the tunnel. Its lock is held for no longer than the
// system takes: cells start beside it.
type tunnelled struct {
	mu sync.Mutex
	// index is the device's; 0: this process hasn't had it set up. told is what it was set to,
	// reached what that has led to, and at when; nil: this process hasn't set it to anything.
	index   int
	told    []tunnel.Peer
	reached []netip.Prefix
	at      time.Time
}

// settled is how long routes of the host are taken to be what they were.
const settled = 45 * time.Second

// tunnelDevice is the name of the device.
func (b *bridge) tunnelDevice() string { return hashed("uw", b.dir, 12) }

// Propose says which network the cells are to have, if there are none yet and this host has no
// other use for that one.
func (c *Cells) Propose(p netip.Prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.proposed = p
}

// Subnet is the cells' network; zero: there has been none. used says whether there are cells
// on it.
func (c *Cells) Subnet() (p netip.Prefix, used bool, err error) {
	b, err := openBridge(c.Disk, c.Dir)
	if err != nil {
		return netip.Prefix{}, false, errors.Trace(err)
	}
	return b.subnet(), len(b.Addresses) > 0, nil
}

// OpenTunnel has a tunnel there to the cells of other hosts, and says what this host is for
// those; zero: there are no cells with a network. It waits at a port, 0: any. The errors are
// tunnel.ErrNone where there can be none, and AlreadyExists where somebody has the port.
func (c *Cells) OpenTunnel(port int) (TunnelEnd, error) {
	c.tunnelled.mu.Lock()
	defer c.tunnelled.mu.Unlock()
	b, err := openBridge(c.Disk, c.Dir)
	if err != nil || !b.subnet().IsValid() {
		return TunnelEnd{}, errors.Trace(err)
	}
	if _, err := netlink.LinkByName(b.device()); err != nil {
		return TunnelEnd{}, nil // the host has rebooted, or has no cells any more
	}
	r, err := c.tunnelRecord(b)
	if err != nil {
		return TunnelEnd{}, errors.Trace(err)
	}
	mtu, err := outerMTU()
	if err != nil {
		return TunnelEnd{}, errors.Trace(err)
	}
	self := tunnel.Self{Private: r.Private, Port: r.Port}
	if port != 0 {
		self.Port, self.Must = port, true
	}
	is, err := tunnel.Device{Name: b.tunnelDevice(), MTU: mtu - tunnel.Overhead, Program: c.Program}.Up(self)
	if err != nil {
		return TunnelEnd{}, errors.Trace(err)
	}
	if is != r.Port {
		r.Port = is
		if err := c.keepTunnel(r); err != nil {
			return TunnelEnd{}, errors.Trace(err)
		}
	}
	if err := c.letTunnelled(b); err != nil {
		return TunnelEnd{}, errors.Annotate(err, "cannot let the tunnel's packets pass")
	}
	public, err := tunnel.Public(r.Private)
	return TunnelEnd{Network: b.subnet(), Public: public, Port: is}, errors.Trace(err)
}

// tunnelRecord is what is recorded of the tunnel; its key is made, and recorded, first.
func (c *Cells) tunnelRecord(b *bridge) (tunnelRecord, error) {
	if b.Tunnel != nil {
		return *b.Tunnel, nil
	}
	private, err := tunnel.NewKey()
	if err != nil {
		return tunnelRecord{}, errors.Trace(err)
	}
	r := tunnelRecord{Private: private}
	return r, errors.Trace(c.keepTunnel(r))
}

func (c *Cells) keepTunnel(r tunnelRecord) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := openBridge(c.Disk, c.Dir)
	if err != nil {
		return errors.Trace(err)
	}
	b.Tunnel = &r
	return errors.Trace(b.save())
}

// letTunnelled lets packets pass between the cells and the tunnel, under the cells' own
// addresses, if this process hasn't done that for this device.
func (c *Cells) letTunnelled(b *bridge) error {
	link, err := netlink.LinkByName(b.tunnelDevice())
	if err != nil || link.Attrs().Index == c.tunnelled.index {
		return errors.Trace(err)
	}
	if err := b.masquerade(b.subnet()); err != nil {
		return errors.Trace(err)
	}
	if err := writeSetting(b.tunnelDevice(), "1"); err != nil {
		return errors.Trace(err)
	}
	c.tunnelled.index, c.tunnelled.told = link.Attrs().Index, nil
	return nil
}

// SetTunnel has the cells reach those of these hosts, and of no others, and returns the
// networks that they reach by the tunnel: those that this host has other routes to it leaves
// alone.
func (c *Cells) SetTunnel(peers []tunnel.Peer) (reached []netip.Prefix, err error) {
	t := &c.tunnelled
	t.mu.Lock()
	defer t.mu.Unlock()
	b, err := openBridge(c.Disk, c.Dir)
	if err != nil || !b.subnet().IsValid() {
		return nil, errors.Trace(err)
	}
	link, err := netlink.LinkByName(b.tunnelDevice())
	if err != nil {
		return nil, errors.Annotate(err, "cannot find the tunnel")
	}
	if t.told != nil && time.Since(t.at) < settled && slices.EqualFunc(peers, t.told, tunnel.Peer.Same) {
		return t.reached, nil
	}
	free, err := freeOf(peers, link.Attrs().Index)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var through []tunnel.Peer
	for _, p := range peers {
		p.Networks = slices.DeleteFunc(slices.Clone(p.Networks), func(n netip.Prefix) bool { return !slices.Contains(free, n) })
		if len(p.Networks) > 0 {
			through, reached = append(through, p), append(reached, p.Networks...)
		}
	}
	if err := (tunnel.Device{Name: b.tunnelDevice()}).Set(through, t.told); err != nil {
		return nil, errors.Trace(err)
	}
	if err := b.route(link, reached); err != nil {
		return nil, errors.Trace(err)
	}
	t.told, t.reached, t.at = append([]tunnel.Peer{}, peers...), reached, time.Now()
	return reached, nil
}

// freeOf are those of hosts' networks that this host has no other route to, and no address in.
func freeOf(peers []tunnel.Peer, index int) (free []netip.Prefix, err error) {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return nil, errors.Annotate(err, "cannot read the host's routes")
	}
	var taken []netip.Prefix
	for _, r := range routes { // addresses have theirs
		if dst, ok := prefix(r.Dst); ok && dst.Bits() > 0 && r.LinkIndex != index {
			taken = append(taken, dst)
		}
	}
	for _, p := range peers {
		for _, n := range p.Networks {
			if !slices.ContainsFunc(taken, n.Overlaps) {
				free = append(free, n)
			}
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
	there := map[netip.Prefix]bool{}
	from := gateway(b.subnet())
	for _, r := range routes {
		if dst, ok := prefix(r.Dst); ok && slices.Contains(to, dst) && r.Src.Equal(from.AsSlice()) {
			there[dst] = true
			continue
		}
		if err := netlink.RouteDel(&r); err != nil && !errors.Is(err, unix.ESRCH) {
			return errors.Annotate(err, "cannot remove a route through the tunnel")
		}
	}
	for _, p := range to {
		if there[p] {
			continue
		}
		dst := &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: dst, Src: from.AsSlice(), Scope: netlink.SCOPE_LINK}
		if err := netlink.RouteReplace(route); err != nil {
			return errors.Annotatef(err, "cannot have a route to %s through the tunnel", p)
		}
	}
	return nil
}

// CloseTunnel takes the tunnel away, if there is one; its key is kept as long as the network is.
func (c *Cells) CloseTunnel() error {
	t := &c.tunnelled
	t.mu.Lock()
	defer t.mu.Unlock()
	t.index, t.told, t.reached = 0, nil, nil
	return errors.Trace(tunnel.Device{Name: (&bridge{dir: c.Dir}).tunnelDevice()}.Remove())
}
