// Package tunnel has devices of WireGuard, by which the isolated units of one host reach those
// of others: docs/isolation.md, "Units of other hosts".
//
// A [Device] is the kernel's where that has WireGuard, and else one of a process of its own
// ([Main]), which speaks WireGuard over /dev/net/tun. Both are told the same, in the same way,
// go on when the agent ends, and go with [Device.Remove]. Only root can have any.
//
// Which hosts there are, and which networks they have, others say: package machine, from the
// model. Routes and forwarding are for package isolate, whose networks they are about.
package tunnel

import (
	"net/netip"
	"slices"
	"time"

	"github.com/juju/errors"
)

// ErrNone is the type of errors of hosts that can't have a device.
const ErrNone = errors.ConstError("this host can't have a tunnel")

// Device is a device of this host.
type Device struct {
	// Name is that of the network device: at most 15 characters.
	Name string
	// MTU is its largest packet, in bytes.
	MTU int
	// Program is this program, whose main function calls Main.
	Program string
}

// Self is what this host is for others.
type Self struct {
	// Private is its key, and Port where it waits for others, by UDP; 0: any. Must: it is that
	// port or an error; else another one if somebody has it.
	Private string
	Port    int
	Must    bool
}

// Peer is another host.
type Peer struct {
	// Public is its key.
	Public string
	// Endpoint is where it is reached; zero: only it reaches this host.
	Endpoint netip.AddrPort
	// Networks are those behind it: it may send what comes from there, and gets what goes
	// there.
	Networks []netip.Prefix
}

// Same says whether two are the same.
func (p Peer) Same(q Peer) bool {
	return p.Public == q.Public && p.Endpoint == q.Endpoint && slices.Equal(p.Networks, q.Networks)
}

// Overhead is how much smaller packets have to be that go through a tunnel, in bytes: an
// IPv6 header, one of UDP, and what WireGuard adds.
const Overhead = 80

// recent is how long after the last word of another host it is there.
const recent = 3 * time.Minute

// keepalive is how often hosts say that they are there, so that those behind a gateway can be
// reached through it.
const keepalive = 25 * time.Second
