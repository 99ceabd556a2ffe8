package state_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

// TestNoTwoHostsHaveTheSameNetwork: nor do they if they choose at the same time.
func TestNoTwoHostsHaveTheSameNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	candidates := func(try int) netip.Prefix {
		return netip.MustParsePrefix(fmt.Sprintf("10.64.%d.0/22", 4*try))
	}
	const hosts = 8
	ids := w.joined(hosts + 1)
	other := ids[hosts]
	claims := func(id string, candidates func(int) netip.Prefix) (netip.Prefix, error) {
		return w.Model.ClaimNetwork(w.ctx, id, "agent-"+id, candidates)
	}
	sets := func(doc state.TunnelDoc) error { return w.Model.SetTunnel(w.ctx, doc, "agent-"+doc.Machine) }
	type claim struct {
		network netip.Prefix
		err     error
	}
	all := make(chan claim, hosts)
	for i := range hosts {
		go func() {
			p, err := claims(ids[i], candidates)
			all <- claim{p, err}
		}()
	}
	has := map[netip.Prefix]bool{}
	for range hosts {
		c := <-all
		w.ok(c.err)
		if has[c.network] {
			t.Errorf("two have %s", c.network)
		}
		has[c.network] = true
	}
	first, err := claims(ids[0], candidates)
	w.ok(err)
	again, err := claims(ids[0], func(int) netip.Prefix { return netip.Prefix{} })
	w.ok(err)
	if again != first {
		t.Errorf("a host has %s, and then %s", first, again)
	}
	if _, err := claims(state.ManagingHost, func(int) netip.Prefix { return first }); !errors.Is(err, errors.QuotaLimitExceeded) {
		t.Errorf("a host for which there is none: %v", err)
	}
	within := netip.PrefixFrom(first.Addr(), 24)
	for _, network := range []string{first.String(), within.String()} {
		if err := sets(state.TunnelDoc{Machine: other, Network: network}); !errors.Is(err, errors.AlreadyExists) {
			t.Errorf("another host has %s: %v", network, err)
		}
	}
	doc := state.TunnelDoc{Machine: ids[0], Network: "10.127.0.0/22", Key: "k", Endpoints: []string{"10.0.0.1:5"}}
	w.ok(sets(doc))
	before, err := w.Model.Rev(w.ctx)
	w.ok(err)
	w.ok(sets(doc))
	if after, err := w.Model.Rev(w.ctx); err != nil || after != before {
		t.Errorf("what hasn't changed is written: %v", err)
	}
	w.ok(sets(state.TunnelDoc{Machine: other, Network: first.String()})) // which is free now
	if err := w.Model.SetTunnel(w.ctx, doc, "somebody"); !errors.Is(err, errors.Forbidden) {
		t.Errorf("another agent: %v", err)
	}
	w.ok(w.ForceDestroyMachine(w.ctx, other))
	if err := sets(state.TunnelDoc{Machine: other, Network: "10.126.0.0/22"}); !errors.Is(err, errors.Forbidden) {
		t.Errorf("a machine that was removed: %v", err)
	}
	if err := sets(state.TunnelDoc{Machine: ids[0], Network: "nonsense"}); !errors.Is(err, errors.NotValid) {
		t.Errorf("nonsense: %v", err)
	}
}
