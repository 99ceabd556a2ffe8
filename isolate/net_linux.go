package isolate

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/tunnel"
)

// networkFile is the record of the network, in Cells.Dir.
const networkFile = "network.json"

// netBits is the length of the prefix of a bridge's network.
const netBits = networkBits

// bridge is the network of all cells of one agent: a bridge that the host is
// on, too, with a way out by the host's address.
type bridge struct {
	dir  string
	disk durable.Disk
	netRecord
	// mtu is that of the bridge's cables, out6 says that there is a way out by IPv6;
	// both once it is up.
	mtu  int
	out6 bool
	// proposed is the network to have, if there is none; see Cells.Propose.
	proposed netip.Prefix
	closed   bool // there is to be no way out
}

// netRecord is what is known of the network, in a file.
type netRecord struct {
	// Subnet is that of the bridge, "10.64.4.0/22".
	Subnet string `json:"subnet"`
	// Addresses has that of each cell, by its key.
	Addresses map[string]string `json:"addresses"`
	// Services has those of applications, by their keys.
	Services map[string]string `json:"services,omitempty"`
	// Subnet6 is the bridge's IPv6 network; empty: it has none. Addresses6 has the
	// IPv6 addresses of cells, by their keys, since they were started last.
	Subnet6    string            `json:"subnet6,omitempty"`
	Addresses6 map[string]string `json:"addresses6,omitempty"`
	// Tunnel is that to other hosts; nil: there has been none.
	Tunnel *tunnelRecord `json:"tunnel,omitempty"`
}

// openBridge reads what there is of a network.
func openBridge(disk durable.Disk, dir string) (*bridge, error) {
	b := &bridge{dir: dir, disk: disk}
	if err := readRecord(filepath.Join(dir, networkFile), &b.netRecord); err != nil && !os.IsNotExist(errors.Cause(err)) {
		return nil, errors.Trace(err)
	}
	if b.Addresses == nil {
		b.Addresses = map[string]string{}
	}
	if b.Addresses6 == nil {
		b.Addresses6 = map[string]string{}
	}
	return b, nil
}

func (b *bridge) save() error {
	return writeRecord(b.disk, filepath.Join(b.dir, networkFile), b.netRecord)
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
	if b.mtu, err = outerMTU(); err != nil {
		return nil, errors.Trace(err)
	}
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
	if link.Attrs().MTU != b.mtu {
		if err := netlink.LinkSetMTU(link, b.mtu); err != nil {
			return nil, errors.Annotate(err, "cannot set the largest packet of the units' network")
		}
	}
	if err := b.settle(link); err != nil {
		return nil, errors.Trace(err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return nil, errors.Annotate(err, "cannot set the units' network up")
	}
	if b.closed {
		b.out6 = false
		return nil, errors.Trace(noWayOut(b.device())) // it may have been open before
	}
	b.out6, egress = b.wayOut()
	return egress, nil
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

// Host is the host on the cells' network. It goes by what is recorded, as a network
// that went with the host's last boot comes back as it was.
func (c *Cells) Host() (HostEnd, error) {
	b, err := openBridge(c.Disk, c.Dir)
	if err != nil || len(b.Addresses) == 0 || !b.subnet().IsValid() {
		return HostEnd{}, errors.Trace(err)
	}
	p := b.subnet()
	return HostEnd{Address: gateway(p).String(), Bits: p.Bits(), Device: b.device(), MAC: hardware(b.dir).String()}, nil
}

// lease has the addresses of a cell, which it keeps as long as there is one.
func (b *bridge) lease(key string) (Network, error) {
	p := b.subnet()
	address, ok := b.Addresses[key]
	if !ok {
		used := map[string]bool{}
		for _, all := range []map[string]string{b.Addresses, b.Services} {
			for _, a := range all {
				used[a] = true
			}
		}
		ip := gateway(p).Next()
		for used[ip.String()] {
			ip = ip.Next()
		}
		if !p.Contains(ip.Next()) { // the last one is everybody's
			return Network{}, errors.Errorf("all addresses of the units' network %s are given away", p)
		}
		address = ip.String()
	}
	n := Network{Address: address, Gateway: gateway(p).String(), Bits: netBits, Closed: b.closed}
	if six := b.subnet6(); six.IsValid() {
		n.IPv6 = inSubnet6(six, address)
		if b.out6 {
			n.Gateway6 = inSubnet6(six, n.Gateway)
		}
	}
	if ok && b.Addresses6[key] == n.IPv6 {
		return n, nil
	}
	b.Addresses[key] = address
	delete(b.Addresses6, key)
	if n.IPv6 != "" {
		b.Addresses6[key] = n.IPv6
	}
	return n, errors.Trace(b.save())
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
	delete(b.Addresses6, key)
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
	// The tunnel first: the rules keep it in bounds.
	if err := (tunnel.Device{Name: b.tunnelDevice()}).Remove(); err != nil {
		return errors.Trace(err)
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
