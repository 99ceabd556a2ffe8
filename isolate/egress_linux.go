package isolate

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// wayOut lets cells reach what the host reaches, under the host's address.
func wayOut(device string, subnet netip.Prefix) error {
	if err := masquerade(device, subnet); err != nil {
		return errors.Annotate(err, "no way out of the units' network")
	}
	return errors.Annotate(forward(device, true), "no way out of the units' network")
}

// noWayOut takes back what wayOut has done.
func noWayOut(device string) error {
	c := &nftables.Conn{}
	tables, err := c.ListTablesOfFamily(nftables.TableFamilyIPv4)
	if err == nil && slices.ContainsFunc(tables, func(t *nftables.Table) bool { return t.Name == device }) {
		c.DelTable(&nftables.Table{Name: device, Family: nftables.TableFamilyIPv4})
		if err := c.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
			return errors.Annotate(err, "cannot take away the rules of the units' network")
		}
	}
	return errors.Trace(forward(device, false))
}

// masquerade writes the rules: what comes from the subnet and goes elsewhere
// gets the host's address. They are in a table of the bridge's own, which is
// written anew.
func masquerade(device string, subnet netip.Prefix) error {
	c := &nftables.Conn{}
	table := &nftables.Table{Name: device, Family: nftables.TableFamilyIPv4}
	c.AddTable(table) // or there is nothing to delete
	c.DelTable(table)
	table = c.AddTable(table)
	chain := c.AddChain(&nftables.Chain{
		Name: "postrouting", Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookPostrouting, Priority: nftables.ChainPriorityNATSource,
	})
	const source, destination = 12, 16 // in an IPv4 header
	rule := append(inSubnet(source, subnet, expr.CmpOpEq), inSubnet(destination, subnet, expr.CmpOpNeq)...)
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: append(rule, &expr.Masq{})})
	return errors.Trace(c.Flush())
}

// inSubnet compares an address of the header with a network.
func inSubnet(offset uint32, subnet netip.Prefix, op expr.CmpOp) []expr.Any {
	mask := net.CIDRMask(subnet.Bits(), 32)
	base := subnet.Masked().Addr().As4()
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: 4},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: mask, Xor: binaryutil.NativeEndian.PutUint32(0)},
		&expr.Cmp{Op: op, Register: 1, Data: base[:]},
	}
}

// forwarding is what several agents of a host know of a setting of a device that
// they have in common: how it was, and which bridges need it.
type forwarding struct {
	Was   string   `json:"was"`
	Users []string `json:"users"`
}

// forwardDir has what is known of the host's devices; it goes with a boot.
const forwardDir = "/run/unitd"

// forward lets packets pass between the bridge and the devices that lead out of
// the host, or no longer. The setting is put back when the last bridge has gone.
func forward(device string, on bool) error {
	unlock, err := lockHost()
	if err != nil {
		return errors.Trace(err)
	}
	defer unlock()
	path := filepath.Join(forwardDir, "forwarding.json")
	all := map[string]forwarding{}
	if err := readRecord(path, &all); err != nil && !os.IsNotExist(errors.Cause(err)) {
		return errors.Trace(err)
	}
	if on {
		err = forwardFrom(all, device)
	} else {
		err = forwardNoMore(all, device)
	}
	if err != nil {
		return errors.Trace(err)
	}
	if len(all) == 0 {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return errors.Trace(err)
		}
		_ = os.Remove(forwardDir) // unless there is more that agents have in common
		return nil
	}
	if err := os.MkdirAll(forwardDir, 0o755); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(writeRecord(path, all))
}

// lockHost keeps the agents of a host from each other, while they look at what
// they have in common. The lock is that of a directory that is there anyway.
func lockHost() (unlock func(), err error) {
	f, err := os.Open(filepath.Dir(forwardDir))
	if err != nil {
		return nil, errors.Trace(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, errors.Trace(err)
	}
	return func() { f.Close() }, nil
}

// forwardFrom notes the devices that default routes lead to, and has them and
// the bridge forward.
func forwardFrom(all map[string]forwarding, device string) error {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return errors.Trace(err)
	}
	if err := setForwarding(device, "1"); err != nil {
		return errors.Trace(err)
	}
	for _, r := range routes {
		if dst, ok := prefix(r.Dst); ok && dst.Bits() > 0 || r.LinkIndex == 0 {
			continue
		}
		link, err := netlink.LinkByIndex(r.LinkIndex)
		if err != nil {
			continue // gone meanwhile
		}
		name := link.Attrs().Name
		f, there := all[name]
		if !there {
			b, err := os.ReadFile(forwardingPath(name))
			if err != nil {
				return errors.Trace(err)
			}
			f.Was = string(b[:1])
		}
		if !slices.Contains(f.Users, device) {
			f.Users = append(f.Users, device)
		}
		all[name] = f
		if err := setForwarding(name, "1"); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

func forwardNoMore(all map[string]forwarding, device string) error {
	for name, f := range all {
		f.Users = slices.DeleteFunc(f.Users, func(u string) bool { return u == device })
		if len(f.Users) > 0 {
			all[name] = f
			continue
		}
		delete(all, name)
		if err := setForwarding(name, f.Was); err != nil && !os.IsNotExist(err) {
			return errors.Trace(err)
		}
	}
	return nil
}

func forwardingPath(device string) string { return "/proc/sys/net/ipv4/conf/" + device + "/forwarding" }

func setForwarding(device, value string) error {
	return os.WriteFile(forwardingPath(device), []byte(value), 0o644)
}
