package isolate

import (
	"net"
	"os"
	"strconv"

	"github.com/juju/errors"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// introduce tells the host and the cells who has the addresses that they have asked for
// in vain. Who asks gives up after three seconds, and what waits for that fails, also if
// the network is well again by then: else a script couldn't tell.
func (f *FaultyNet) introduce() error {
	b, err := openBridge(f.cells.Disk, f.bridge.dir)
	if err != nil || !b.subnet().IsValid() {
		return errors.Trace(err)
	}
	known := b.neighbours()
	if link, err := netlink.LinkByName(b.device()); err == nil {
		if err := introduceAt(link, known); err != nil {
			return errors.Trace(err)
		}
	}
	for key := range b.Addresses {
		cell, err := f.cells.recorded(key)
		if err != nil || cell.process() < 0 {
			continue // it knows nobody
		}
		space, err := os.Open("/proc/" + strconv.Itoa(cell.process()) + "/ns/net")
		if err != nil {
			continue
		}
		err = onThread(func() error {
			if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
				return errors.Trace(err)
			}
			link, err := netlink.LinkByName("eth0")
			if err != nil {
				return nil // it has ended, and its number is another's
			}
			return introduceAt(link, known)
		})
		space.Close()
		if err != nil {
			return errors.Annotatef(err, "cannot tell %s of its neighbours", key)
		}
	}
	return nil
}

// neighbours are the hardware addresses of all that are on the network, by their
// addresses.
func (b *bridge) neighbours() map[string]net.HardwareAddr {
	all := map[string]net.HardwareAddr{}
	add := func(address string, mac net.HardwareAddr) {
		all[address] = mac
		if six := b.subnet6(); six.IsValid() {
			all[inSubnet6(six, address)] = mac
		}
	}
	add(gateway(b.subnet()).String(), hardware(b.dir))
	for _, address := range b.Addresses {
		if mac, err := net.ParseMAC(MAC(address)); err == nil {
			add(address, mac)
		}
	}
	for _, address := range b.Services {
		add(address, hardware(b.dir+servicesEnd))
	}
	return all
}

// introduceAt has those asked for at a device in vain be known there.
func introduceAt(link netlink.Link, known map[string]net.HardwareAddr) error {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		asked, err := netlink.NeighList(link.Attrs().Index, family)
		if err != nil {
			return errors.Trace(err)
		}
		for _, n := range asked {
			mac, ok := known[n.IP.String()]
			if !ok || n.State&(netlink.NUD_INCOMPLETE|netlink.NUD_FAILED) == 0 {
				continue
			}
			err := netlink.NeighSet(&netlink.Neigh{LinkIndex: n.LinkIndex, Family: family, IP: n.IP, HardwareAddr: mac, State: netlink.NUD_STALE})
			if err != nil {
				return errors.Trace(err)
			}
		}
	}
	return nil
}
