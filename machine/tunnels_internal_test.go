package machine

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/tunnel"
)

func TestWhichHostsATunnelLeadsTo(t *testing.T) {
	t.Parallel()
	key := func() string {
		private, err := tunnel.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		public, err := tunnel.Public(private)
		if err != nil {
			t.Fatal(err)
		}
		return public
	}
	one, two, three := key(), key(), key()
	tunnels := &tunnels{hosts: map[string][]state.TunnelDoc{
		"b": {
			{Machine: "-", Network: "10.64.0.0/22", Key: one, Endpoints: []string{"198.51.100.1:1"}}, // of two models
			{Machine: "4", Network: "10.64.4.0/22", Key: three},                                      // another model's has it
		},
		"a": {
			{Machine: "-", Network: "10.64.0.0/22", Key: one, Endpoints: []string{"198.51.100.1:1"}},
			{Machine: "1", Network: "10.64.4.0/22", Key: two, Endpoints: []string{"127.0.0.1:5", "rubbish", "198.51.100.2:2", "198.51.100.3:3"}},
			{Machine: "2", Network: "10.64.8.0/22"}, // has only claimed it
			{Machine: "3", Network: "rubbish", Key: three},
			{Machine: "5", Network: "10.64.12.0/22", Key: "rubbish"},
			{Machine: "6", Network: "8.8.8.0/22", Key: three}, // the world's
			{Machine: "7", Network: "10.64.16.1/22", Key: three},
			{Machine: "8", Network: "10.64.0.0/10", Key: three},
			{Machine: "9", Network: "fd00::/22", Key: three},
		},
	}}
	want := []tunnel.Peer{
		{Public: one, Endpoint: netip.MustParseAddrPort("198.51.100.1:1"), Networks: []netip.Prefix{netip.MustParsePrefix("10.64.0.0/22")}},
		{Public: two, Endpoint: netip.MustParseAddrPort("198.51.100.2:2"), Networks: []netip.Prefix{netip.MustParsePrefix("10.64.4.0/22")}},
	}
	got := tunnels.peers()
	if !slices.EqualFunc(got, want, func(a, b tunnel.Peer) bool {
		return a.Public == b.Public && a.Endpoint == b.Endpoint && slices.Equal(a.Networks, b.Networks)
	}) {
		t.Errorf("it leads to %+v", got)
	}
}
