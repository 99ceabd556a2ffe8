package tunnel

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

// Up has the device there, as self, and returns the port where it waits. What is there
// already stays. The error is ErrNone where there can be none, and AlreadyExists where
// somebody else has the port that it must be.
func (d Device) Up(self Self) (port int, err error) {
	private, err := wgtypes.ParseKey(self.Private)
	if err != nil {
		return 0, errors.NewNotValid(err, "the tunnel's key")
	}
	c, err := wgctrl.New()
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer c.Close()
	is, link, err := d.there(c)
	if err != nil {
		return 0, errors.Trace(err)
	}
	if link.Attrs().MTU != d.MTU {
		if err := netlink.LinkSetMTU(link, d.MTU); err != nil {
			return 0, errors.Annotate(err, "cannot set the largest packet of the tunnel")
		}
	}
	if is.PrivateKey != private {
		if err := d.tell(c, wgtypes.Config{PrivateKey: &private}); err != nil {
			return 0, errors.Annotate(err, "cannot set the tunnel up")
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return 0, errors.Annotate(err, "cannot set the tunnel up")
	}
	if port, err = d.waits(c); err != nil || self.Port == 0 || port == self.Port {
		return port, errors.Trace(err)
	}
	err = d.tell(c, wgtypes.Config{ListenPort: &self.Port})
	switch {
	case err != nil && self.Must:
		return 0, errors.NewAlreadyExists(err, fmt.Sprintf("the UDP port %d is taken", self.Port))
	case err != nil: // it waits nowhere now
		if err := d.tell(c, wgtypes.Config{ListenPort: new(int)}); err != nil {
			return 0, errors.Annotate(err, "cannot set the tunnel up")
		}
	}
	port, err = d.waits(c)
	return port, errors.Trace(err)
}

// there is the device, which is made if it isn't there, or can't be told anything any more.
func (d Device) there(c *wgctrl.Client) (*wgtypes.Device, netlink.Link, error) {
	for again := false; ; again = true {
		link, err := d.link()
		if err != nil {
			return nil, nil, errors.Trace(err)
		}
		is, err := d.see(c)
		if err == nil {
			return is, link, nil
		}
		if again {
			return nil, nil, errors.Annotate(err, "cannot see the tunnel")
		}
		if err := d.Remove(); err != nil {
			return nil, nil, errors.Trace(err)
		}
	}
}

// waits is the port where the device waits, as soon as it does: a process sets up by itself
// what it is told.
func (d Device) waits(c *wgctrl.Client) (port int, err error) {
	for end := time.Now().Add(setUpTime); ; time.Sleep(setUpTime / 1000) {
		is, err := d.see(c)
		if err != nil {
			return 0, errors.Annotate(err, "cannot see the tunnel")
		}
		if is.ListenPort != 0 {
			return is.ListenPort, nil
		}
		if time.Now().After(end) {
			return 0, errors.New("the tunnel waits at no port")
		}
	}
}

// see is what the device is.
func (d Device) see(c *wgctrl.Client) (is *wgtypes.Device, err error) {
	err = d.timed(func() (err error) {
		is, err = c.Device(d.Name)
		return err
	})
	return is, err
}

// tell has the device be what a configuration says.
func (d Device) tell(c *wgctrl.Client, config wgtypes.Config) error {
	return d.timed(func() error { return c.ConfigureDevice(d.Name, config) })
}

// timed does something for which a process may have to answer. One that doesn't loses its
// device, and ends so.
func (d Device) timed(do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(answerTime):
		if err := d.Remove(); err != nil {
			return errors.Trace(err)
		}
		return errors.Errorf("the tunnel hasn't answered within %s, and is removed", answerTime)
	}
}

// answerTime is how long a device may take to say what it is.
const answerTime = 3 * time.Second

// setUpTime is how long a device may take to be there, or to do what it is told.
const setUpTime = 5 * time.Second

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
// nothing; told is what it has been set to before, nil if the caller doesn't know.
func (d Device) Set(peers, told []Peer) error {
	c, err := wgctrl.New()
	if err != nil {
		return errors.Trace(err)
	}
	defer c.Close()
	is, err := d.see(c)
	if err != nil {
		return errors.Annotate(err, "cannot see the tunnel")
	}
	config, err := changes(is.Peers, peers, told)
	if err != nil || len(config) == 0 {
		return errors.Trace(err)
	}
	return errors.Annotate(d.tell(c, wgtypes.Config{Peers: config}), "cannot tell the tunnel of other hosts")
}

// changes is what makes of the peers that are there those that are to be.
func changes(are []wgtypes.Peer, peers, told []Peer) (config []wgtypes.PeerConfig, err error) {
	there := map[wgtypes.Key]wgtypes.Peer{}
	for _, p := range are {
		there[p.PublicKey] = p
	}
	wanted := map[wgtypes.Key]bool{}
	for _, p := range peers {
		key, err := wgtypes.ParseKey(p.Public)
		if err != nil {
			return nil, errors.NewNotValid(err, "another host's key")
		}
		wanted[key] = true
		// Where a host has gone since it was told of, the device knows best.
		if is, ok := there[key]; ok && (slices.ContainsFunc(told, p.Same) || told == nil && p.heard(is)) {
			continue
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

// heard says whether a peer has these networks, and was heard of lately.
func (p Peer) heard(is wgtypes.Peer) bool {
	if time.Since(is.LastHandshakeTime) > recent || len(is.AllowedIPs) != len(p.Networks) {
		return false
	}
	for _, n := range p.Networks {
		if !slices.ContainsFunc(is.AllowedIPs, func(a net.IPNet) bool { return a.String() == n.String() }) {
			return false
		}
	}
	return true
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
