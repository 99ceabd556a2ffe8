// Package isolate gives a unit a machine of its own on this host: a cell.
//
// A cell is a root directory whose changes stay in the cell (an overlay over
// the host's root, or over a prepared one), process ids of its own below a small
// init, a host name, and a network with an address that the host and the other
// cells reach. Hooks, and whoever looks at the unit, run inside by joining the
// cell's name spaces: each such program is a child of whoever has started it, and its
// init only reaps.
//
// What is there of a cell on the host is one directory, its init, and a cable to
// a bridge. All mounts are in the cell's own mount name space: the kernel takes
// them away with the last process. So an agent can be killed at any time: the
// record in the directory says which process is the init, and Open finds the
// cell again, or makes it anew over the changes that are there.
//
// Of the agent's own directory a cell sees what Attach brings: what is its unit's and
// that of the subordinates that live there, and their storage. In some of that its
// programs can make links, which nothing here follows.
//
// A workload container is a cell without an init: Spec.First is its first process
// itself, and nothing of this program stays in it. It has the network of the unit's
// cell, a root made of an image's layers, which begins anew at each start, and what
// Spec.Binds brings. Nobody is in it but what that program starts; files are
// reached by Cell.OpenFile. Its end is the supervisor's matter: Wait tells of it,
// and Open starts it again.
//
// Who isn't root has cells in user name spaces: with subordinate ids, IDs, there are
// many users inside, and else one. What those ids own is out of the agent's own
// reach, and done by Cells.Beyond.
//
// What root inside may do is in walls_linux.go; what remains possible is in
// docs/isolation.md, "Walls".
package isolate

import (
	"net"
	"net/netip"
	"slices"

	"github.com/juju/errors"
)

// Where things are inside of a cell. Source: docs/spec/uniter-facts.md §0; the
// field's charms look for their tools and their directory there.
const (
	// Juju is the directory of agents and tools.
	Juju = "/var/lib/juju"
	// Path is the PATH of programs in a cell, after the hook tools.
	Path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin"
)

// InitCommand and EnterCommand are the first arguments by which this program is
// a cell's init, and the program by which others are run in a cell; see Main.
const (
	InitCommand  = "--cell-init"
	EnterCommand = "--cell-enter"
)

// NoCell is the exit code of EnterCommand where the cell has ended, or ends
// meanwhile. A program may have it for reasons of its own.
const NoCell = 125

// ErrNoRights is that this user or this system can't have what was asked for.
// What it says is one line.
const ErrNoRights = errors.ConstError("no rights to isolate")

// Spec says what a cell is to be.
type Spec struct {
	// Name is the unit's, for people; Hostname is that inside.
	Name, Hostname string
	// ID tells the unit from a former one of its name, whose changes it must not
	// find.
	ID string
	// Mode is that of model.Isolation, but for model.IsolateOff.
	Mode string
	// Root is the directory that is under the overlay; empty is the host's root.
	Root string
	// OS is what /etc/os-release says: one of Systems; empty is DefaultOS.
	OS string
	// Data is the directory of the host with all that the agent has: nothing of it
	// is seen inside, but what Attach brings. Empty: there is none.
	Data string
	// Shared are directories of the host that are themselves inside, at the same
	// path.
	Shared []string
	// asRoot: not in a user name space.
	asRoot bool
	// Accounts are users that a new cell has, unless there is one user inside.
	Accounts []Account
	// Client is the program that is Juju+"/tools/client" inside.
	Client string

	// First makes it a workload container: this program is its first process, in
	// place of an init that runs others, and its root is anew at each start. What
	// follows is for such a container only, to which OS, Shared, Accounts and Client
	// are nothing; its network is that of With, or the host's.
	First *First
	// Layers are the directories under the overlay, top first, in place of Root. The
	// last one may be HostRoot.
	Layers []string
	// Binds are what of the host is inside, in that order.
	Binds []Bind
	// With is the unit's cell, whose network and host name it has.
	With *Cell `json:"-"`
	// Limits are set where the host lets them be; Cell.Unkept says if not.
	Limits Limits
}

// resolved has the host's paths without links, which would lead elsewhere once
// the root is another one; real is such a path.
func (s Spec) resolved(real func(path string) (string, error)) (Spec, error) {
	s.Shared, s.Layers, s.Binds = slices.Clone(s.Shared), slices.Clone(s.Layers), slices.Clone(s.Binds)
	paths := []*string{&s.Root, &s.Data, &s.Client}
	for i := range s.Shared {
		paths = append(paths, &s.Shared[i])
	}
	for i := range s.Layers {
		paths = append(paths, &s.Layers[i])
	}
	for i := range s.Binds {
		paths = append(paths, &s.Binds[i].From)
	}
	for _, p := range paths {
		if *p == "" {
			continue
		}
		path, err := real(*p)
		if err != nil {
			return s, errors.Trace(err)
		}
		*p = path
	}
	return s, nil
}

// Network is the address of a cell.
type Network struct {
	// Address and Gateway are IPv4 addresses, Bits the length of the network's
	// prefix; all zero: the cell has the host's network.
	Address string `json:"address,omitempty"`
	Gateway string `json:"gateway,omitempty"`
	Bits    int    `json:"bits,omitempty"`
	// Closed: there is no way out of the network.
	Closed bool `json:"closed,omitempty"`
	// IPv6 is an address of the cell's in a network of its own, with a prefix of 64
	// bits; empty: the host has no IPv6. Gateway6 is the way out of it; empty: the host
	// has none either.
	IPv6     string `json:"ipv6,omitempty"`
	Gateway6 string `json:"gateway6,omitempty"`
}

// HostEnd is the host on the network of the cells of an agent; zero: there is none, or
// no cell is on it.
type HostEnd struct {
	// Address is the host's, Bits the length of the network's prefix; Device is the
	// host's device that has it, MAC the device's hardware address.
	Address     string
	Bits        int
	Device, MAC string
}

// TunnelEnd is this host for the cells of others; zero: it has no cells with a network.
type TunnelEnd struct {
	// Network is that of the cells.
	Network netip.Prefix
	// Public is the host's key, and Port where it waits for others, by UDP.
	Public string
	Port   int
}

// NetworkOfCells says whether a network can be that of cells, on any host: Candidate makes no
// others.
func NetworkOfCells(p netip.Prefix) bool {
	return p.Addr().Is4() && p.Bits() == networkBits && p == p.Masked() && netip.MustParsePrefix("10.64.0.0/10").Contains(p.Addr())
}

// networkBits is the length of the prefix of a network of cells: about as many addresses as
// a bridge can have ports.
const networkBits = 22

// MAC is the hardware address of the device that has an IP address, of those that
// anybody may give to a device of his own: it stays the same when a cell is made
// anew. Empty: that is no IP address.
func MAC(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	b := ip.As16()
	return net.HardwareAddr(append([]byte{0x02, 'u'}, b[12:]...)).String()
}

// Prefix is the network that the address is of. The error is that there is none.
func (n Network) Prefix() (netip.Prefix, error) {
	ip, err := netip.ParseAddr(n.Address)
	if err != nil {
		return netip.Prefix{}, errors.Trace(err)
	}
	p, err := ip.Prefix(n.Bits)
	return p, errors.Trace(err)
}
