package isolate

import (
	"crypto/sha256"
	"encoding/binary"
	"net"
	"net/netip"

	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func (b *bridge) subnet() netip.Prefix {
	p, _ := netip.ParsePrefix(b.Subnet) // zero where there is none
	return p
}

// settle gives the bridge its addresses: those that it had, or else some of networks
// that the host knows nothing of.
func (b *bridge) settle(link netlink.Link) error {
	unlock, err := lockHost() // two agents must not choose the same one
	if err != nil {
		return errors.Trace(err)
	}
	defer unlock()
	if err := b.settle4(link); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(b.settle6(link))
}

// settle4 is settle for IPv4, without which no cell has a network.
func (b *bridge) settle4(link netlink.Link) error {
	p := b.subnet()
	for try := 0; try < 1000; try++ {
		switch {
		case try == 0 && b.proposed.IsValid() && len(b.Addresses) == 0:
			p = b.proposed
		case !p.IsValid() || try > 0:
			p = Candidate(b.dir, try)
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

// Candidate is one of the private networks 10.64.0.0 to 10.127.252.0: the same for the same
// name and try, and another one for each try below a thousand.
func Candidate(of string, try int) netip.Prefix {
	sum := sha256.Sum256([]byte(of))
	const networks = 1 << (netBits - 10)
	n := (binary.BigEndian.Uint32(sum[:]) + uint32(try)*7919) % networks
	var ip [4]byte
	binary.BigEndian.PutUint32(ip[:], 10<<24|64<<16|n<<(32-netBits))
	return netip.PrefixFrom(netip.AddrFrom4(ip), netBits)
}

func gateway(p netip.Prefix) netip.Addr { return p.Addr().Next() }

// known says whether another device than the one of that index has the network,
// or a part of it, and whether this one has.
func known(p netip.Prefix, index int) (taken, has bool, err error) {
	family := netlink.FAMILY_V4
	if p.Addr().Is6() {
		family = netlink.FAMILY_V6
	}
	routes, err := netlink.RouteList(nil, family)
	if err != nil {
		return false, false, errors.Annotate(err, "cannot read the host's routes")
	}
	for _, r := range routes {
		if dst, ok := prefix(r.Dst); ok && dst.Bits() > 0 && dst.Overlaps(p) && r.LinkIndex != index {
			taken = true
		}
	}
	addresses, err := netlink.AddrList(nil, family)
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

// ownMTU is the largest packet of the units' network where the host has no smaller one
// on its way out.
const ownMTU = 1500

// outerMTU is the largest packet of the units' network. What leaves it has to fit on the
// devices that lead out of the host: a host that is a container itself may have smaller
// ones, and what tells senders of them is often dropped on the way.
func outerMTU() (int, error) {
	mtu := ownMTU
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		links, err := outward(family)
		if err != nil {
			return 0, errors.Trace(err)
		}
		for _, link := range links {
			mtu = min(mtu, link.Attrs().MTU)
		}
	}
	return mtu, nil
}

// outward are the devices that the host's default routes lead to.
func outward(family int) ([]netlink.Link, error) {
	routes, err := netlink.RouteList(nil, family)
	if err != nil {
		return nil, errors.Annotate(err, "cannot read the host's routes")
	}
	var links []netlink.Link
	seen := map[int]bool{0: true}
	for _, r := range routes {
		if dst, ok := prefix(r.Dst); ok && dst.Bits() > 0 || r.Type != unix.RTN_UNICAST {
			continue
		}
		indexes := []int{r.LinkIndex}
		for _, hop := range r.MultiPath {
			indexes = append(indexes, hop.LinkIndex)
		}
		for _, index := range indexes {
			if seen[index] {
				continue
			}
			seen[index] = true
			if link, err := netlink.LinkByIndex(index); err == nil { // or it has gone meanwhile
				links = append(links, link)
			}
		}
	}
	return links, nil
}
