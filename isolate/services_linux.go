package isolate

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"

	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// services is a network name space of this process's own, on the bridge of the
// cells, with the addresses of applications. Listeners in it have no port in common
// with the host's, whatever that listens on. It goes with the process.
type services struct {
	space *os.File
	// link is the index of the cable's end on the host, and has what addresses there
	// are at the other end.
	link int
	has  map[string]bool
}

// servicesEnd makes the hardware address of their device another one than the bridge's.
const servicesEnd = "\x00services"

// Lease is the address of an application by its key, which it keeps until Release,
// also while there are no cells. It is empty where it has none yet, and there are no
// cells with a network. While there are, Listen takes connections at it, once
// this has said it in this process.
func (c *Cells) Lease(key string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := openBridge(c.Disk, c.Dir)
	if err != nil {
		return "", errors.Trace(err)
	}
	master, err := netlink.LinkByName(b.device())
	if err != nil || !b.subnet().IsValid() {
		return b.Services[key], nil
	}
	address, err := b.leaseService(key)
	if err != nil {
		return "", errors.Trace(err)
	}
	return address, errors.Annotate(c.services.settle(b, master, address), "cannot have the address of an application")
}

// leaseService is lease for an application: from the end of the network, where cells
// don't come to for long.
func (b *bridge) leaseService(key string) (string, error) {
	if a, ok := b.Services[key]; ok {
		return a, nil
	}
	p, used := b.subnet(), map[string]bool{}
	for _, all := range []map[string]string{b.Addresses, b.Services} {
		for _, a := range all {
			used[a] = true
		}
	}
	base := p.Addr().As4()
	for n := 1<<(32-netBits) - 2; n > 1; n-- { // the last one is everybody's, the first the host's
		ip := netip.AddrFrom4([4]byte{base[0], base[1], base[2] + byte(n>>8), byte(n)})
		if !used[ip.String()] {
			if b.Services == nil {
				b.Services = map[string]string{}
			}
			b.Services[key] = ip.String()
			return ip.String(), errors.Trace(b.save())
		}
	}
	return "", errors.Errorf("all addresses of the units' network %s are given away", p)
}

// Leased are the keys of all addresses that Lease has given.
func (c *Cells) Leased() ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := openBridge(c.Disk, c.Dir)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var keys []string
	for key := range b.Services {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}

// Release gives the address of an application back. Not to have one is no error.
func (c *Cells) Release(key string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := openBridge(c.Disk, c.Dir)
	if err != nil {
		return errors.Trace(err)
	}
	address, ok := b.Services[key]
	if !ok {
		return nil
	}
	if err := c.services.drop(address); err != nil {
		return errors.Trace(err)
	}
	delete(b.Services, key)
	if len(b.Addresses)+len(b.Services) > 0 {
		return errors.Trace(b.save())
	}
	if err := b.down(); err != nil {
		return errors.Trace(err)
	}
	_ = os.Remove(c.Dir)
	return nil
}

// Listen takes connections at an address that Lease has said.
func (c *Cells) Listen(address string, port int) (l net.Listener, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err = c.services.inside(func() error {
		l, err = net.Listen("tcp4", net.JoinHostPort(address, strconv.Itoa(port)))
		return errors.Trace(err)
	})
	return l, errors.Trace(err)
}

// Listen takes connections at an address of the cell's own network, as 127.0.0.1,
// which nobody but the cell's programs, and those of the unit's containers, reaches;
// port 0 is one that is free. In a cell that has the host's network it is the host's.
// The listener goes with the cell.
func (c *Cell) Listen(address string, port int) (l net.Listener, err error) {
	pid := c.process()
	if pid < 0 {
		return nil, errors.New("the machine of the unit has ended")
	}
	space, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/net")
	if err != nil {
		return nil, errors.Annotate(err, "cannot find the network of the unit's machine")
	}
	defer space.Close()
	if c.process() != pid { // and it is another's
		return nil, errors.New("the machine of the unit has ended")
	}
	listen := func() error {
		l, err = net.Listen("tcp4", net.JoinHostPort(address, strconv.Itoa(port)))
		return errors.Trace(err)
	}
	if c.record.Net.Address == "" {
		err = listen()
		return l, errors.Trace(err)
	}
	err = onThread(func() error {
		if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
			return errors.Annotate(err, "cannot join the network of the unit's machine")
		}
		return listen()
	})
	return l, errors.Trace(err)
}

// settle has the name space there, on the bridge, with that address.
func (s *services) settle(b *bridge, master netlink.Link, address string) error {
	if err := s.open(); err != nil {
		return errors.Trace(err)
	}
	cable, err := netlink.LinkByName(b.services())
	switch {
	case err == nil && cable.Attrs().Index != s.link: // a former agent's, which goes by itself
		if err := netlink.LinkDel(cable); err != nil && !errors.Is(err, unix.ENODEV) {
			return errors.Trace(err)
		}
		err = unix.ENODEV
		fallthrough
	case err != nil:
		if err := s.connect(b, master); err != nil {
			return errors.Trace(err)
		}
	case cable.Attrs().MasterIndex != master.Attrs().Index: // the bridge was made anew
		if err := netlink.LinkSetMaster(cable, master); err != nil {
			return errors.Trace(err)
		}
	}
	if s.has[address] {
		return nil
	}
	err = s.inside(func() error {
		eth, err := netlink.LinkByName("eth0")
		if err != nil {
			return errors.Trace(err)
		}
		return errors.Trace(netlink.AddrReplace(eth, single(address)))
	})
	if err == nil {
		s.has[address] = true
	}
	return errors.Trace(err)
}

// single is an address that is of no network: taking one away takes no other with it.
func single(address string) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(address), Mask: net.CIDRMask(32, 32)}}
}

// drop takes an address away.
func (s *services) drop(address string) error {
	if !s.has[address] {
		return nil
	}
	delete(s.has, address)
	return errors.Trace(s.inside(func() error {
		eth, err := netlink.LinkByName("eth0")
		if err != nil {
			return nil // the network went before
		}
		if err := netlink.AddrDel(eth, single(address)); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return errors.Trace(err)
		}
		return nil
	}))
}

// connect lays the cable.
func (s *services) connect(b *bridge, master netlink.Link) error {
	s.has = map[string]bool{}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MasterIndex, attrs.Flags, attrs.MTU = b.services(), master.Attrs().Index, net.FlagUp, master.Attrs().MTU
	cable := &netlink.Veth{
		LinkAttrs: attrs, PeerName: "eth0", PeerNamespace: netlink.NsFd(int(s.space.Fd())), PeerHardwareAddr: hardware(b.dir + servicesEnd),
		PeerMTU: uint32(attrs.MTU),
	}
	if err := netlink.LinkAdd(cable); err != nil {
		return netRights("cannot connect the addresses of applications", err)
	}
	_ = netlink.LinkSetAlias(cable, "addresses of applications") // for people only
	if err := netlink.LinkSetUp(cable); err != nil {
		return errors.Trace(err)
	}
	there, err := netlink.LinkByName(b.services())
	if err != nil {
		return errors.Trace(err)
	}
	s.link = there.Attrs().Index
	return errors.Trace(s.inside(func() error { return setUpServices(b.subnet()) }))
}

// setUpServices is the name space's part: its devices and routes.
func setUpServices(subnet netip.Prefix) error {
	for _, name := range []string{"lo", "eth0"} {
		link, err := netlink.LinkByName(name)
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			return errors.Annotatef(err, "cannot set %s up", name)
		}
	}
	eth, err := netlink.LinkByName("eth0")
	if err != nil {
		return errors.Trace(err)
	}
	all := &net.IPNet{IP: subnet.Masked().Addr().AsSlice(), Mask: net.CIDRMask(subnet.Bits(), 32)}
	if err := netlink.RouteReplace(&netlink.Route{LinkIndex: eth.Attrs().Index, Dst: all, Scope: netlink.SCOPE_LINK}); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(netlink.RouteReplace(&netlink.Route{LinkIndex: eth.Attrs().Index, Gw: gateway(subnet).AsSlice()}))
}

// open makes the name space, if there is none yet.
func (s *services) open() error {
	if s.space != nil {
		return nil
	}
	return errors.Trace(onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return netRights("cannot make a network for the addresses of applications", err)
		}
		f, err := os.Open("/proc/thread-self/ns/net")
		s.space = f
		return errors.Trace(err)
	}))
}

// inside calls do in the name space.
func (s *services) inside(do func() error) error {
	if s.space == nil {
		return errors.New("there are no addresses of applications here")
	}
	return errors.Trace(onThread(func() error {
		if err := unix.Setns(int(s.space.Fd()), unix.CLONE_NEWNET); err != nil {
			return errors.Trace(err)
		}
		return do()
	}))
}

// onThread calls do, which may change the network name space of the thread that it
// is on. If that can't be changed back nobody else gets the thread.
func onThread(do func() error) error {
	runtime.LockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return errors.Trace(err)
	}
	defer own.Close()
	err = do()
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
		return errors.Annotate(back, "cannot leave a network name space")
	}
	runtime.UnlockOSThread()
	return errors.Trace(err)
}
