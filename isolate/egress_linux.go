package isolate

import (
	"net"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// wayOut lets cells reach what the host reaches, under the host's address. By IPv6 there
// is a way if the network and the host have one: out6.
func (b *bridge) wayOut() (out6 bool, err error) {
	const none = "no way out of the units' network"
	device, subnet6 := b.device(), b.subnet6()
	if err := b.masquerade(b.subnet()); err != nil {
		return false, errors.Annotate(err, none)
	}
	if err := forward(device, true, false); err != nil {
		return false, errors.Annotate(err, none)
	}
	links, err := outward(netlink.FAMILY_V6)
	if err != nil || len(links) == 0 || !subnet6.IsValid() {
		return false, errors.Trace(err)
	}
	if err := b.masquerade(subnet6); err != nil {
		return false, errors.Annotate(err, none+" by IPv6")
	}
	if err := forward(device, true, true); err != nil {
		return false, errors.Annotate(err, none+" by IPv6")
	}
	return true, nil
}

// noWayOut takes back what wayOut has done.
func noWayOut(device string) error {
	c := &nftables.Conn{}
	for _, family := range []nftables.TableFamily{nftables.TableFamilyIPv4, nftables.TableFamilyIPv6} {
		tables, err := c.ListTablesOfFamily(family)
		if err != nil || !slices.ContainsFunc(tables, func(t *nftables.Table) bool { return t.Name == device }) {
			continue
		}
		c.DelTable(&nftables.Table{Name: device, Family: family})
		if err := c.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
			return errors.Annotate(err, "cannot take away the rules of the units' network")
		}
	}
	return errors.Trace(forward(device, false, false))
}

// masquerade writes the rules: what comes from the subnet and goes elsewhere
// gets the host's address, unless it goes through the tunnel. What comes through that goes to
// the subnet, and nowhere else. They are in a table of the bridge's own, which is
// written anew.
func (b *bridge) masquerade(subnet netip.Prefix) error {
	c := &nftables.Conn{}
	family, source, destination := nftables.TableFamilyIPv4, uint32(12), uint32(16) // in an IPv4 header
	if subnet.Addr().Is6() {
		family, source, destination = nftables.TableFamilyIPv6, 8, 24
	}
	table := &nftables.Table{Name: b.device(), Family: family}
	c.AddTable(table) // or there is nothing to delete
	c.DelTable(table)
	table = c.AddTable(table)
	chain := c.AddChain(&nftables.Chain{
		Name: "postrouting", Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookPostrouting, Priority: nftables.ChainPriorityNATSource,
	})
	rule := append(inSubnet(source, subnet, expr.CmpOpEq), inSubnet(destination, subnet, expr.CmpOpNeq)...)
	rule = append(rule, by(expr.MetaKeyOIFNAME, b.tunnelDevice(), expr.CmpOpNeq)...)
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: append(rule, &expr.Masq{})})
	for name, hook := range map[string]*nftables.ChainHook{"tunnelled": nftables.ChainHookForward, "tunnelled-here": nftables.ChainHookInput} {
		wall := c.AddChain(&nftables.Chain{Name: name, Table: table, Type: nftables.ChainTypeFilter, Hooknum: hook, Priority: nftables.ChainPriorityFilter})
		rule := append(by(expr.MetaKeyIIFNAME, b.tunnelDevice(), expr.CmpOpEq), inSubnet(destination, subnet, expr.CmpOpNeq)...)
		c.AddRule(&nftables.Rule{Table: table, Chain: wall, Exprs: append(rule, &expr.Verdict{Kind: expr.VerdictDrop})})
	}
	return errors.Trace(c.Flush())
}

// by compares the device by which a packet leaves, or has come.
func by(key expr.MetaKey, device string, op expr.CmpOp) []expr.Any {
	name := make([]byte, unix.IFNAMSIZ)
	copy(name, device)
	return []expr.Any{&expr.Meta{Key: key, Register: 1}, &expr.Cmp{Op: op, Register: 1, Data: name}}
}

// inSubnet compares an address of the header with a network.
func inSubnet(offset uint32, subnet netip.Prefix, op expr.CmpOp) []expr.Any {
	base := subnet.Masked().Addr().AsSlice()
	n := uint32(len(base))
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: n},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: n, Mask: net.CIDRMask(subnet.Bits(), 8*len(base)), Xor: make([]byte, n)},
		&expr.Cmp{Op: op, Register: 1, Data: base},
	}
}
