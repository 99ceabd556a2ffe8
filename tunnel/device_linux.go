package tunnel

import (
	"net"
	"net/netip"
	"slices"

	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

// Up has the device there, as self, and returns the port where it waits. What is there
// already stays. The error is ErrNone where there can be none.
func (d Device) Up(self Self) (port int, err error) {
	private, err := wgtypes.ParseKey(self.Private)
	if err != nil {
		return 0, errors.NewNotValid(err, "the tunnel's key")
	}
	link, err := d.link()
	if err != nil {
		return 0, errors.Trace(err)
	}
	if link.Attrs().MTU != d.MTU {
		if err := netlink.LinkSetMTU(link, d.MTU); err != nil {
			return 0, errors.Annotate(err, "cannot set the largest packet of the tunnel")
		}
	}
	c, err := wgctrl.New()
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer c.Close()
	is, err := c.Device(d.Name)
	if err != nil {
		return 0, errors.Annotate(err, "cannot see the tunnel")
	}
	if is.PrivateKey != private || is.ListenPort == 0 {
		config := wgtypes.Config{PrivateKey: &private, ListenPort: &self.Port}
		err := c.ConfigureDevice(d.Name, config)
		if err != nil && self.Port != 0 { // somebody else has the port by now
			config.ListenPort = new(int)
			err = c.ConfigureDevice(d.Name, config)
		}
		if err != nil {
			return 0, errors.Annotate(err, "cannot set the tunnel up")
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return 0, errors.Annotate(err, "cannot set the tunnel up")
	}
	if is, err = c.Device(d.Name); err != nil {
		return 0, errors.Annotate(err, "cannot see the tunnel")
	}
	return is.ListenPort, nil
}

// link is the network device, which is made if it isn't there.
func (d Device) link() (netlink.Link, error) {
	link, err := netlink.LinkByName(d.Name)
	if err == nil {
		return link, nil
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = d.Name, d.MTU
	err = netlink.LinkAdd(&netlink.Wireguard{LinkAttrs: attrs})
	switch {
	case errors.Is(err, unix.EOPNOTSUPP): // the kernel has none
		err = d.begin()
	case errors.Is(err, unix.EPERM):
		err = errors.WithType(errors.New("only root can have a tunnel"), ErrNone)
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot make a tunnel")
	}
	link, err = netlink.LinkByName(d.Name)
	return link, errors.Annotate(err, "cannot find the tunnel")
}

// Set has these peers, and no others, at the other end. Those that stay as they are notice
// nothing; told is what it has been set to before, as far as the caller knows.
func (d Device) Set(peers, told []Peer) error {
	c, err := wgctrl.New()
	if err != nil {
		return errors.Trace(err)
	}
	defer c.Close()
	is, err := c.Device(d.Name)
	if err != nil {
		return errors.Annotate(err, "cannot see the tunnel")
	}
	config, err := changes(is.Peers, peers, told)
	if err != nil || len(config) == 0 {
		return errors.Trace(err)
	}
	return errors.Annotate(c.ConfigureDevice(d.Name, wgtypes.Config{Peers: config}), "cannot tell the tunnel of other hosts")
}

// changes is what makes of the peers that are there those that are to be.
func changes(are []wgtypes.Peer, peers, told []Peer) (config []wgtypes.PeerConfig, err error) {
	there := map[wgtypes.Key]bool{}
	for _, p := range are {
		there[p.PublicKey] = true
	}
	wanted := map[wgtypes.Key]bool{}
	for _, p := range peers {
		key, err := wgtypes.ParseKey(p.Public)
		if err != nil {
			return nil, errors.NewNotValid(err, "another host's key")
		}
		wanted[key] = true
		if there[key] && slices.ContainsFunc(told, p.same) {
			continue // where it has gone since then, the device knows best
		}
		every := keepalive
		one := wgtypes.PeerConfig{PublicKey: key, ReplaceAllowedIPs: true, PersistentKeepaliveInterval: &every}
		if p.Endpoint.IsValid() {
			one.Endpoint = net.UDPAddrFromAddrPort(p.Endpoint)
		}
		for _, n := range p.Networks {
			one.AllowedIPs = append(one.AllowedIPs, *ipNet(n))
		}
		config = append(config, one)
	}
	for key := range there {
		if !wanted[key] {
			config = append(config, wgtypes.PeerConfig{PublicKey: key, Remove: true})
		}
	}
	return config, nil
}

func (p Peer) same(q Peer) bool {
	return p.Public == q.Public && p.Endpoint == q.Endpoint && slices.Equal(p.Networks, q.Networks)
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// Remove takes the device away; it is no error if there is none.
func (d Device) Remove() error {
	link, err := netlink.LinkByName(d.Name)
	if err != nil {
		return nil
	}
	if err := netlink.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
		return errors.Annotate(err, "cannot remove the tunnel")
	}
	return nil
}
