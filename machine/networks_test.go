package machine_test

import (
	"testing"

	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// networks have agents that can be cut off from etcd: namespaces where networks
// can be made, else wires.
type networks interface {
	// address is where members of etcd listen, and endpoints where an agent finds
	// them.
	address() string
	endpoints(h *host, members []*etcdtest.Server) []string
	// begin starts an agent's process, cut cuts it off, and mend ends that.
	begin(h *host)
	cut(h *host)
	mend(h *host)
}

// wires are proxies, one for each agent and member.
type wires struct {
	t  *testing.T
	of map[*host][]*etcdtest.Wire
}

func (w *wires) address() string { return "127.0.0.1" }

func (w *wires) endpoints(h *host, members []*etcdtest.Server) []string {
	var found []string
	for _, m := range members {
		wire := etcdtest.NewWire(w.t, m.Endpoint)
		w.of[h] = append(w.of[h], wire)
		found = append(found, wire.Endpoint)
	}
	return found
}

func (w *wires) begin(h *host) { h.begin() }

func (w *wires) cut(h *host) { w.set(h, true) }

func (w *wires) mend(h *host) { w.set(h, false) }

func (w *wires) set(h *host, down bool) {
	for _, wire := range w.of[h] {
		wire.Set(down, false)
	}
}

func endpointsOf(members []*etcdtest.Server) []string {
	var found []string
	for _, m := range members {
		found = append(found, m.Endpoint)
	}
	return found
}
