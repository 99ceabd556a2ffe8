package isolate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// networkFile is the record of the network, in Cells.Dir.
const networkFile = "network.json"

// netBits is the length of the prefix of a bridge's network: about as many
// addresses as a bridge can have ports.
const netBits = 22

// bridge is the network of all cells of one agent: a bridge that the host is
// on, too, with a way out by the host's address.
type bridge struct {
	dir string
	netRecord
}

// netRecord is what is known of the network, in a file.
type netRecord struct {
	// Subnet is that of the bridge, "10.64.4.0/22".
	Subnet string `json:"subnet"`
	// Addresses has that of each cell, by its key.
	Addresses map[string]string `json:"addresses"`
	// Services has those of applications, by their keys.
	Services map[string]string `json:"services,omitempty"`
}

// openBridge reads what there is of a network.
func openBridge(dir string) (*bridge, error) {
	b := &bridge{dir: dir}
	if err := readRecord(filepath.Join(dir, networkFile), &b.netRecord); err != nil && !os.IsNotExist(errors.Cause(err)) {
		return nil, errors.Trace(err)
	}
	if b.Addresses == nil {
		b.Addresses = map[string]string{}
	}
	return b, nil
}

func (b *bridge) save() error {
	return writeRecord(filepath.Join(b.dir, networkFile), b.netRecord)
}

// hashed is a name of a device: no two directories, or cells, have the same.
func hashed(prefix, of string, n int) string {
	sum := sha256.Sum256([]byte(of))
	return prefix + hex.EncodeToString(sum[:])[:n]
}

// device is the bridge's name, and link that of a cell's end on the host.
func (b *bridge) device() string          { return hashed("unitd", b.dir, 10) }
func (b *bridge) link(key string) string  { return hashed("uh", b.dir+"\x00"+key, 12) }
func (b *bridge) inner(key string) string { return hashed("uc", b.dir+"\x00"+key, 12) }

// services is the link of the addresses of applications.
func (b *bridge) services() string { return hashed("us", b.dir, 12) }

// up has the bridge there, with an address, and says whether there is a way out
// of it: an error of egress, which keeps no cell from running.
func (b *bridge) up() (egress error, err error) {
	link, err := netlink.LinkByName(b.device())
	if err != nil {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.HardwareAddr = b.device(), hardware(b.dir)
		if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
			return nil, netRights("cannot make a network for the units", err)
		}
		if link, err = netlink.LinkByName(b.device()); err != nil {
			return nil, errors.Annotate(err, "cannot find the units' network")
		}
	}
	if err := b.settle(link); err != nil {
		return nil, errors.Trace(err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return nil, errors.Annotate(err, "cannot set the units' network up")
	}
	return wayOut(b.device(), b.subnet()), nil
}

func netRights(what string, err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) {
		return errors.WithType(errors.Annotate(err, what), ErrNoRights)
	}
	return errors.Annotate(err, what)
}

// hardware is a local address of the bridge's own: else it would have that of
// one of its ports, and change with them.
func hardware(of string) net.HardwareAddr {
	sum := sha256.Sum256([]byte(of))
	return append(net.HardwareAddr{0x02}, sum[:5]...)
}

func (b *bridge) subnet() netip.Prefix {
	p, _ := netip.ParsePrefix(b.Subnet) // zero where there is none
	return p
}

// settle gives the bridge its address: the one that it had, or else one of a
// network that the host knows nothing of.
func (b *bridge) settle(link netlink.Link) error {
	unlock, err := lockHost() // two agents must not choose the same one
	if err != nil {
		return errors.Trace(err)
	}
	defer unlock()
	p := b.subnet()
	for try := 0; try < 1000; try++ {
		if !p.IsValid() || try > 0 {
			p = candidate(b.dir, try)
		}
		taken, has, err := known(p, link.Attrs().Index)
		switch {
		case err != nil:
			return errors.Trace(err)
		case taken && len(b.Addresses) > 0:
			return errors.Errorf("the units' network %s is in use on this host by something else: end that, or remove the isolated units", p)
		case taken:
			continue
		}
		if b.Subnet != p.String() {
			// It is another one, or was that of a data directory that somebody has
			// removed, and has made again.
			b.Subnet, b.Services = p.String(), nil
			if err := b.save(); err != nil {
				return errors.Trace(err)
			}
		}
		if has {
			return nil
		}
		address, err := netlink.ParseAddr(netip.PrefixFrom(gateway(p), p.Bits()).String())
		if err != nil {
			return errors.Trace(err)
		}
		return errors.Annotate(netlink.AddrReplace(link, address), "cannot give the units' network an address")
	}
	return errors.New("there is no private network left on this host for units")
}

// candidate is one of the private networks 10.64.0.0 to 10.127.252.0.
func candidate(of string, try int) netip.Prefix {
	sum := sha256.Sum256([]byte(of))
	const networks = 1 << (netBits - 10)
	n := (binary.BigEndian.Uint32(sum[:]) + uint32(try)*7919) % networks
	var ip [4]byte
	binary.BigEndian.PutUint32(ip[:], 10<<24|64<<16|n<<(32-netBits))
	return netip.PrefixFrom(netip.AddrFrom4(ip), netBits)
}

func gateway(p netip.Prefix) netip.Addr { return p.Addr().Next() }

// Host is the host on the cells' network. It goes by what is recorded, as a network
// that went with the host's last boot comes back as it was.
func (c *Cells) Host() (HostEnd, error) {
	b, err := openBridge(c.Dir)
	if err != nil || len(b.Addresses) == 0 || !b.subnet().IsValid() {
		return HostEnd{}, errors.Trace(err)
	}
	p := b.subnet()
	return HostEnd{Address: gateway(p).String(), Bits: p.Bits(), Device: b.device(), MAC: hardware(b.dir).String()}, nil
}

// known says whether another device than the one of that index has the network,
// or a part of it, and whether this one has.
func known(p netip.Prefix, index int) (taken, has bool, err error) {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return false, false, errors.Annotate(err, "cannot read the host's routes")
	}
	for _, r := range routes {
		if dst, ok := prefix(r.Dst); ok && dst.Bits() > 0 && dst.Overlaps(p) && r.LinkIndex != index {
			taken = true
		}
	}
	addresses, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return false, false, errors.Annotate(err, "cannot read the host's addresses")
	}
	for _, a := range addresses {
		if other, ok := prefix(a.IPNet); ok && other.Overlaps(p) {
			has = has || a.LinkIndex == index
			taken = taken || a.LinkIndex != index
		}
	}
	return taken, has, nil
}

func prefix(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	ip, ok := netip.AddrFromSlice(n.IP)
	ones, _ := n.Mask.Size()
	return netip.PrefixFrom(ip.Unmap(), ones), ok
}

// lease is the address of a cell, which it keeps as long as there is one.
func (b *bridge) lease(key string) (Network, error) {
	p := b.subnet()
	if a, ok := b.Addresses[key]; ok {
		return Network{Address: a, Gateway: gateway(p).String(), Bits: netBits}, nil
	}
	used := map[string]bool{}
	for _, all := range []map[string]string{b.Addresses, b.Services} {
		for _, a := range all {
			used[a] = true
		}
	}
	for ip := gateway(p).Next(); p.Contains(ip.Next()); ip = ip.Next() { // the last one is everybody's
		if !used[ip.String()] {
			b.Addresses[key] = ip.String()
			return Network{Address: ip.String(), Gateway: gateway(p).String(), Bits: netBits}, errors.Trace(b.save())
		}
	}
	return Network{}, errors.Errorf("all addresses of the units' network %s are given away", p)
}

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
	attrs.Name, attrs.MasterIndex, attrs.Flags = b.link(key), master.Attrs().Index, net.FlagUp
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: b.inner(key), PeerNamespace: netlink.NsPid(pid)}
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

// forget gives back a cell's address, and takes the network away with the last.
func (b *bridge) forget(key string) error {
	if _, ok := b.Addresses[key]; !ok {
		return nil
	}
	if err := b.cut(key); err != nil {
		return errors.Trace(err)
	}
	delete(b.Addresses, key)
	if len(b.Addresses) > 0 {
		return errors.Trace(b.save())
	}
	if len(b.Services) > 0 { // applications keep theirs, without units too
		if err := b.takeDown(); err != nil {
			return errors.Trace(err)
		}
		return errors.Trace(b.save())
	}
	return errors.Trace(b.down())
}

// down takes the network away, and forgets it.
func (b *bridge) down() error {
	if err := b.takeDown(); err != nil {
		return errors.Trace(err)
	}
	err := os.Remove(filepath.Join(b.dir, networkFile))
	if os.IsNotExist(err) {
		err = nil
	}
	return errors.Trace(err)
}

// takeDown takes the network away until a cell needs it again.
func (b *bridge) takeDown() error {
	if b.Subnet == "" {
		return nil // there was none
	}
	if err := noWayOut(b.device()); err != nil {
		return errors.Trace(err)
	}
	for _, name := range []string{b.services(), b.device()} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			continue
		}
		if err := netlink.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
			return errors.Annotate(err, "cannot remove the units' network")
		}
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
	route := &netlink.Route{LinkIndex: eth.Attrs().Index, Gw: net.ParseIP(n.Gateway)}
	return errors.Annotate(netlink.RouteAdd(route), "cannot set the cell's default route")
}
