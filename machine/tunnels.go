package machine

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/tunnel"
)

// tunnels lead from the isolated units of this host to those of others. An agent has one
// tunnel, whichever models these are of; the wirings of its models say which hosts there are.
type tunnels struct {
	cells *isolate.Cells
	// who is this host in a model, port Config.TunnelPort.
	who  string
	port int
	// reachable are the addresses by which others reach this host.
	reachable func() []string
	log       *slog.Logger

	mu sync.Mutex
	// hosts are the others, by the model's UUID, reached the networks that are.
	hosts   map[string][]state.TunnelDoc
	reached []netip.Prefix
	open    bool
	said    map[string]bool // what was logged
}

func newTunnels(c Config) *tunnels {
	t := &tunnels{cells: c.Cells, who: state.ManagingHost, port: c.TunnelPort, log: c.Log, hosts: map[string][]state.TunnelDoc{}, said: map[string]bool{}}
	if c.Machine != nil {
		t.who = c.Machine.ID
	}
	t.reachable = func() []string {
		h := c.Look()
		if h.local() {
			h = ReachableHost("")
		}
		if h.local() {
			return nil
		}
		return h.Addresses
	}
	return t
}

// off says that no host is to be reached.
func (t *tunnels) off() bool { return t.port < 0 || t.cells == nil }

// propose has the isolated units of this host get a network that no other host of a model
// has, before the first of them is there.
func (t *tunnels) propose(ctx context.Context, m *state.Model) error {
	if t.off() {
		return nil
	}
	has, err := t.cells.Subnet()
	if err != nil || has.IsValid() {
		return errors.Trace(err)
	}
	if t.who == state.ManagingHost {
		agents, err := m.Agents(ctx)
		if err != nil || len(agents) == 0 {
			return errors.Trace(err)
		}
	}
	p, err := m.ClaimNetwork(ctx, t.who, func(try int) netip.Prefix { return isolate.Candidate(t.cells.Dir+"\x00"+t.who, try) })
	if err != nil {
		return errors.Trace(err)
	}
	t.cells.Propose(p)
	return nil
}

// meet has the isolated units of this host reach those of a model's other hosts, and says
// which machines' hosts they reach. What keeps them from that is logged, once; the errors are
// those of the store.
func (t *tunnels) meet(ctx context.Context, m *state.Model, v state.Wires) (reached map[string]bool, err error) {
	if t.off() || t.who == state.ManagingHost && !v.Joined {
		t.excuse(t.forget(m.UUID()))
		return nil, nil
	}
	others, own := t.part(v.Tunnels)
	doc, err := t.self(len(others) > 0)
	if err != nil || doc.Network == "" {
		t.excuse(err)
		return nil, nil
	}
	if own == nil || own.Network != doc.Network || own.Key != doc.Key || !slices.Equal(own.Endpoints, doc.Endpoints) {
		err := m.SetTunnel(ctx, doc)
		if errors.Is(err, errors.AlreadyExists) {
			t.excuse(err)
			return nil, nil
		}
		if err != nil {
			return nil, errors.Trace(err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hosts[m.UUID()] = others
	if err := t.set(); err != nil {
		t.excused(err)
		return nil, nil
	}
	reached = map[string]bool{}
	for _, o := range others {
		p, err := netip.ParsePrefix(o.Network)
		reached[o.Machine] = err == nil && slices.Contains(t.reached, p)
	}
	return reached, nil
}

// part parts the documents of other hosts from this one's; nil: it has none.
func (t *tunnels) part(all []state.TunnelDoc) (others []state.TunnelDoc, own *state.TunnelDoc) {
	for _, doc := range all {
		if doc.Machine == t.who {
			own = &doc
			continue
		}
		others = append(others, doc)
	}
	return others, own
}

// self is what this host is for others, if there are any: else its network alone. Without a
// network it is nothing.
func (t *tunnels) self(others bool) (state.TunnelDoc, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	doc := state.TunnelDoc{Machine: t.who}
	if !others && !t.open {
		p, err := t.cells.Subnet()
		if p.IsValid() {
			doc.Network = p.String()
		}
		return doc, errors.Trace(err)
	}
	end, err := t.cells.OpenTunnel(t.port)
	if err != nil || end.Public == "" {
		return doc, errors.Trace(err)
	}
	t.open, doc.Network, doc.Key = true, end.Network.String(), end.Public
	for _, a := range t.reachable() {
		doc.Endpoints = append(doc.Endpoints, net.JoinHostPort(a, strconv.Itoa(end.Port)))
	}
	return doc, nil
}

// excuse logs what keeps hosts from each other, once: it keeps no unit from running, and
// the next round tries again.
func (t *tunnels) excuse(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.excused(err)
}

func (t *tunnels) excused(err error) {
	if err != nil && !t.said[err.Error()] {
		t.said[err.Error()] = true
		t.log.Warn("isolated units of other hosts can't be reached", "err", err)
	}
}

// forget has a model's hosts reached no more, unless another one has them.
func (t *tunnels) forget(uuid string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.hosts[uuid]; !ok {
		return nil
	}
	delete(t.hosts, uuid)
	if len(t.hosts) > 0 {
		return errors.Trace(t.set())
	}
	t.open, t.reached = false, nil
	return errors.Trace(t.cells.CloseTunnel())
}

// drop forgets what is known of a model. Nothing is taken away: the agent may just end, and
// the tunnel go on.
func (t *tunnels) drop(uuid string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.hosts, uuid)
}

// set has the tunnel lead to the hosts that there are.
func (t *tunnels) set() error {
	if !t.open {
		return nil
	}
	reached, err := t.cells.SetTunnel(t.peers())
	t.reached = reached
	return errors.Trace(err)
}

// peers are the hosts that can be reached: each once, also if models share it. Of two with
// the same network, which are of different models, it is the first.
func (t *tunnels) peers() (peers []tunnel.Peer) {
	keys, networks := map[string]bool{}, []netip.Prefix{}
	for _, uuid := range slices.Sorted(maps.Keys(t.hosts)) {
		for _, doc := range t.hosts[uuid] {
			p, err := netip.ParsePrefix(doc.Network)
			if err != nil || keys[doc.Key] || !tunnel.ValidKey(doc.Key) {
				continue
			}
			if slices.ContainsFunc(networks, p.Overlaps) {
				t.excused(errors.AlreadyExistsf("isolated units with the network %s, on two hosts of different models,", p))
				continue
			}
			keys[doc.Key], networks = true, append(networks, p)
			peers = append(peers, tunnel.Peer{Public: doc.Key, Endpoint: nearest(doc.Endpoints), Networks: []netip.Prefix{p}})
		}
	}
	return peers
}

// nearest is that of a host's endpoints that is on a network of this one, or else the first
// that can be meant; zero: none can.
func nearest(endpoints []string) (first netip.AddrPort) {
	nics, _ := net.Interfaces() // without them it is the first
	for _, text := range endpoints {
		e, err := netip.ParseAddrPort(text)
		if err != nil || e.Addr().IsLoopback() {
			continue
		}
		if !first.IsValid() {
			first = e
		}
		for _, nic := range nics {
			for _, n := range addressesOf(nic) {
				if n.Contains(e.Addr().AsSlice()) {
					return e
				}
			}
		}
	}
	return first
}

// hostOf is the machine that stands for the host that a unit is on.
func hostOf(u state.UnitDoc) string {
	if u.Provider == state.LocalProvider {
		return state.ManagingHost
	}
	return u.Machine
}
