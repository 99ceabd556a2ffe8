package machine

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/tunnel"
)

// tunnels lead from the isolated units of this host to those of others. An agent has one
// tunnel, whichever models these are of; the wirings of its models say which hosts there are.
type tunnels struct {
	cells *isolate.Cells
	// who is this host in a model, seed what tells it from others as it chooses a network, port
	// Config.TunnelPort.
	who, seed string
	port      int
	// reachable are the addresses by which others reach this host.
	reachable func() []string
	clock     clock.Clock
	began     time.Time

	mu sync.Mutex
	// hosts are the others, by the model's UUID, reached those that are, by their keys.
	hosts   map[string][]state.TunnelDoc
	reached map[string]bool
	open    bool
	// left are the models that know that this host takes no part.
	left map[string]bool
	// said is what each model's log was told last.
	said map[string]string
}

func newTunnels(c Config) *tunnels {
	t := &tunnels{
		cells: c.Cells, who: state.ManagingHost, port: c.TunnelPort, clock: c.Clock, began: c.Clock.Now(),
		hosts: map[string][]state.TunnelDoc{}, left: map[string]bool{}, said: map[string]string{},
	}
	if c.Machine != nil {
		t.who, t.seed = c.Machine.ID, c.Machine.Agent
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

// propose has the isolated units of this host get a network that no other host of a model
// has, before the first of them is there. The errors are those of the store.
func (t *tunnels) propose(ctx context.Context, m *state.Model, log *slog.Logger) error {
	if t.port < 0 || t.cells == nil || os.Geteuid() != 0 {
		return nil
	}
	has, used, err := t.cells.Subnet()
	if err != nil || used {
		return errors.Trace(err)
	}
	if t.who == state.ManagingHost {
		agents, err := m.Agents(ctx)
		if err != nil || len(agents) == 0 {
			return errors.Trace(err)
		}
	}
	p, err := m.ClaimNetwork(ctx, t.who, t.seed, func(try int) netip.Prefix {
		if has.IsValid() {
			if try == 0 {
				return has
			}
			try--
		}
		return isolate.Candidate(t.cells.Dir+"\x00"+t.who+"\x00"+t.seed, try)
	})
	if errors.Is(err, errors.QuotaLimitExceeded) {
		t.say(m, log, err)
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	t.cells.Propose(p)
	return nil
}

// concerned says whether the tunnel leads to hosts of a model.
func (t *tunnels) concerned(uuid string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.hosts[uuid]) > 0
}

// meet has the isolated units of this host reach those of a model's other hosts, of which there
// are these documents, and says which machines' hosts they reach. joined: agents have joined
// the model. What keeps hosts from each other is logged, and keeps no unit from running; again
// says that there is such a thing. The errors are those of the store.
func (t *tunnels) meet(ctx context.Context, m *state.Model, docs []state.TunnelDoc, joined bool, log *slog.Logger) (reached map[string]bool, again bool, err error) {
	others, own := t.part(docs)
	if t.port < 0 || t.cells == nil {
		return nil, false, errors.Trace(t.leave(ctx, m, own))
	}
	if t.who == state.ManagingHost && !joined {
		return nil, t.say(m, log, t.forget(m.UUID())), nil
	}
	doc, err := t.self(len(others) > 0)
	if err != nil {
		return nil, t.say(m, log, err), nil
	}
	if doc.Network == "" && own != nil { // the last of its isolated units has gone
		doc.Network = own.Network
	}
	if doc.Network == "" {
		return nil, false, nil
	}
	if own == nil || own.Network != doc.Network || own.Key != doc.Key || !slices.Equal(own.Endpoints, doc.Endpoints) {
		err := m.SetTunnel(ctx, doc, t.seed)
		if errors.Is(err, errors.AlreadyExists) {
			return nil, t.say(m, log, err), nil
		}
		if err != nil {
			return nil, false, errors.Trace(err)
		}
	}
	if doc.Key == "" {
		return nil, t.say(m, log, nil), nil
	}
	reached, err = t.lead(m.UUID(), others)
	return reached, t.say(m, log, err), nil
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

// leave takes no part any more, and says so once to each model.
func (t *tunnels) leave(ctx context.Context, m *state.Model, own *state.TunnelDoc) error {
	t.mu.Lock()
	before := t.left[m.UUID()]
	t.mu.Unlock()
	if before || t.cells == nil {
		return nil
	}
	if own != nil {
		if err := m.RemoveTunnel(ctx, t.who); err != nil {
			return errors.Trace(err)
		}
	}
	if err := t.cells.CloseTunnel(); err != nil {
		return errors.Trace(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left[m.UUID()] = true
	return nil
}

// self is what this host is for others, if there are any: else its network alone. Without a
// network it is nothing.
func (t *tunnels) self(others bool) (state.TunnelDoc, error) {
	t.mu.Lock()
	open := t.open
	t.mu.Unlock()
	doc := state.TunnelDoc{Machine: t.who}
	if !others && !open {
		p, used, err := t.cells.Subnet()
		if used && p.IsValid() {
			doc.Network = p.String()
		}
		return doc, errors.Trace(err)
	}
	end, err := t.cells.OpenTunnel(t.port)
	if err != nil || end.Public == "" {
		return doc, errors.Trace(err)
	}
	doc.Network, doc.Key = end.Network.String(), end.Public
	for _, a := range t.reachable() {
		doc.Endpoints = append(doc.Endpoints, net.JoinHostPort(a, strconv.Itoa(end.Port)))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = true
	return doc, nil
}

// say tells a model's log what keeps hosts from each other, when that is something else than
// before; nil: nothing does. It says whether something does.
func (t *tunnels) say(m *state.Model, log *slog.Logger, err error) bool {
	text := ""
	if err != nil {
		text = err.Error()
	}
	t.mu.Lock()
	was := t.said[m.UUID()]
	t.said[m.UUID()] = text
	t.mu.Unlock()
	if text != "" && text != was {
		log.Warn("isolated units of other hosts can't be reached", "err", err)
	}
	return err != nil
}

// lead has the tunnel lead to a model's other hosts too, and says which machines' it does. The
// error is about those to which it can't.
func (t *tunnels) lead(uuid string, others []state.TunnelDoc) (reached map[string]bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hosts[uuid] = others
	if err := t.set(); err != nil {
		return nil, errors.Trace(err)
	}
	reached = map[string]bool{}
	for _, o := range others {
		reached[o.Machine] = t.reached[o.Key]
		if o.Key != "" && !t.reached[o.Key] {
			err = errors.Errorf("the host of machine %s has isolated units with the network %s, which isn't one for them, or leads elsewhere from here", o.Machine, o.Network)
		}
	}
	return reached, err
}

// forget has a model's hosts reached no more, unless another one has them. A tunnel that a
// former agent has left is taken away once all models have had their say.
func (t *tunnels) forget(uuid string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, had := t.hosts[uuid]
	delete(t.hosts, uuid)
	switch {
	case len(t.hosts) > 0 && had:
		return errors.Trace(t.set())
	case len(t.hosts) > 0 || !had && t.clock.Now().Sub(t.began) < ResyncInterval:
		return nil
	}
	t.open, t.reached = false, nil
	return errors.Trace(t.cells.CloseTunnel())
}

// drop forgets what is known of a model. Nothing is taken away: the agent may just end, and
// the tunnel go on. If it is the model that has gone, the next look at another one sees to it.
func (t *tunnels) drop(uuid string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.hosts, uuid)
}

// set has the tunnel lead to the hosts that there are; t.mu is held.
func (t *tunnels) set() error {
	if !t.open {
		return nil
	}
	peers := t.peers()
	networks, err := t.cells.SetTunnel(peers)
	t.reached = map[string]bool{}
	for _, p := range peers {
		t.reached[p.Public] = err == nil && !slices.ContainsFunc(p.Networks, func(n netip.Prefix) bool { return !slices.Contains(networks, n) })
	}
	return errors.Trace(err)
}

// peers are the hosts that can be reached: each once, also if models share it. Of two with
// the same network, which are of different models, it is the first.
func (t *tunnels) peers() (peers []tunnel.Peer) {
	keys, networks, near := map[string]bool{}, []netip.Prefix{}, neighbours()
	for _, uuid := range slices.Sorted(maps.Keys(t.hosts)) {
		for _, doc := range t.hosts[uuid] {
			p, err := netip.ParsePrefix(doc.Network)
			if err != nil || !isolate.NetworkOfCells(p) || keys[doc.Key] || !tunnel.ValidKey(doc.Key) || slices.ContainsFunc(networks, p.Overlaps) {
				continue
			}
			keys[doc.Key], networks = true, append(networks, p)
			peers = append(peers, tunnel.Peer{Public: doc.Key, Endpoint: nearest(doc.Endpoints, near), Networks: []netip.Prefix{p}})
		}
	}
	return peers
}

// neighbours are the networks that this host is on by the way by which it reaches the world:
// others, such as those of containers, may be another host's as well.
func neighbours() []*net.IPNet {
	own := outward()
	nics, _ := net.Interfaces() // without them there are no neighbours
	for _, nic := range nics {
		all := addressesOf(nic)
		if slices.ContainsFunc(all, func(n *net.IPNet) bool { return n.IP.String() == own }) {
			return all
		}
	}
	return nil
}

// nearest is that of a host's endpoints that is on a network of this one, or else the first
// that can be meant; zero: none can.
func nearest(endpoints []string, near []*net.IPNet) (first netip.AddrPort) {
	for _, text := range endpoints {
		e, err := netip.ParseAddrPort(text)
		ip := net.IP(e.Addr().AsSlice())
		if err != nil || e.Port() == 0 || e.Addr().IsLoopback() || slices.ContainsFunc(near, func(n *net.IPNet) bool { return n.IP.Equal(ip) }) {
			continue
		}
		if !first.IsValid() {
			first = e
		}
		if slices.ContainsFunc(near, func(n *net.IPNet) bool { return n.Contains(ip) }) {
			return e
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
