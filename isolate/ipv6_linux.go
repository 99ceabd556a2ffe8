package isolate

import (
	"crypto/sha256"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// netBits6 is the length of the prefix of a bridge's IPv6 network.
	netBits6 = 64
	// leastMTU6 is the smallest largest packet with which a device can have IPv6.
	// Source: docs/spec/machine-isolation.md §7.
	leastMTU6 = 1280
)

// subnet6 is the IPv6 network; the zero prefix where there is none.
func (b *bridge) subnet6() netip.Prefix {
	p, _ := netip.ParsePrefix(b.Subnet6)
	return p
}

// candidate6 is one of the networks that anybody may have for himself. Its number is as
// good as left to chance, so nobody else has it. Source: docs/spec/machine-isolation.md §7.
func candidate6(of string, try int) netip.Prefix {
	sum := sha256.Sum256([]byte(of + "\x00ipv6\x00" + strconv.Itoa(try)))
	ip := [16]byte{0xfd}
	copy(ip[1:netBits6/8], sum[:])
	return netip.PrefixFrom(netip.AddrFrom16(ip), netBits6)
}

// inSubnet6 is the address in an IPv6 network of who has an IPv4 address, which is its
// last 32 bits.
func inSubnet6(p netip.Prefix, address string) string {
	four, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	six, last := p.Addr().As16(), four.As4()
	copy(six[12:], last[:])
	return netip.AddrFrom16(six).String()
}

// hasIPv6 says whether this host, or whoever's network name space this is, has IPv6.
func hasIPv6() bool {
	b, err := os.ReadFile("/proc/sys/net/ipv6/conf/all/disable_ipv6")
	return err == nil && strings.TrimSpace(string(b)) == "0"
}

// settle6 is settle for IPv6, which a network can do without. The cells that run, if it
// isn't the network that it was, have no IPv6 addresses any more until they are
// started again.
func (b *bridge) settle6(link netlink.Link) error {
	chosen := ""
	if hasIPv6() && b.mtu >= leastMTU6 {
		p, err := b.choose6(link)
		if err != nil {
			return errors.Trace(err)
		}
		has, err := b.address6(link, p)
		if err != nil {
			return errors.Trace(err)
		}
		if has {
			chosen = p.String()
		}
	}
	if chosen == b.Subnet6 {
		return nil
	}
	b.Subnet6, b.Addresses6 = chosen, map[string]string{}
	return errors.Trace(b.save())
}

// choose6 is the IPv6 network: the one that it had, if nobody else on this host has it; zero:
// all are taken, as where the host has a route to all private networks.
func (b *bridge) choose6(link netlink.Link) (netip.Prefix, error) {
	p := b.subnet6()
	for try := range 100 {
		if !p.IsValid() || try > 0 {
			p = candidate6(b.dir, try)
		}
		taken, _, err := known(p, link.Attrs().Index)
		if err != nil || !taken {
			return p, errors.Trace(err)
		}
	}
	return netip.Prefix{}, nil
}

// address6 gives the bridge its address of an IPv6 network, and says whether it could:
// not where this host lets no device have one.
func (b *bridge) address6(link netlink.Link, p netip.Prefix) (bool, error) {
	hostOnly6(b.device())
	ip := net.ParseIP(inSubnet6(p, gateway(b.subnet()).String()))
	err := netlink.AddrReplace(link, address6(ip))
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) {
		return false, nil
	}
	return true, errors.Annotate(err, "cannot give the units' network an IPv6 address")
}

// address6 is an address of an IPv6 network that can be used at once: nobody is asked
// whether he has it, too.
func address6(ip net.IP) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: ip, Mask: net.CIDRMask(netBits6, 128)}, Flags: unix.IFA_F_NODAD}
}

// hostOnly6 has a device have the IPv6 addresses that it is given, and take no others,
// and no routes, from whoever on the units' network says that he is a router. Where the
// settings can't be written to the device has what it is given, or says that it
// can't.
func hostOnly6(device string) {
	for _, setting := range []string{"disable_ipv6=0", "accept_ra=0", "autoconf=0"} {
		name, value, _ := strings.Cut(setting, "=")
		_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+device+"/"+name, []byte(value), 0o644)
	}
}

// setUpNetwork6 is the cell's part of IPv6.
func setUpNetwork6(n Network, eth netlink.Link) error {
	hostOnly6("eth0")
	if n.IPv6 == "" {
		return nil
	}
	if err := netlink.AddrReplace(eth, address6(net.ParseIP(n.IPv6))); err != nil {
		return errors.Annotatef(err, "cannot set the address %s", n.IPv6)
	}
	if n.Gateway6 == "" {
		return nil
	}
	route := &netlink.Route{LinkIndex: eth.Attrs().Index, Gw: net.ParseIP(n.Gateway6)}
	return errors.Annotate(netlink.RouteAdd(route), "cannot set the cell's default IPv6 route")
}

// IPv6 are the IPv6 addresses of the cells that have them, by their IPv4 addresses.
func (c *Cells) IPv6() (map[string]string, error) {
	b, err := openBridge(c.Disk, c.Dir)
	if err != nil {
		return nil, errors.Trace(err)
	}
	all := map[string]string{}
	for key, six := range b.Addresses6 {
		all[b.Addresses[key]] = six
	}
	return all, nil
}
