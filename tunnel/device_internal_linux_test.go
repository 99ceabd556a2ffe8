package tunnel

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

func TestPeersThatStayNoticeNothing(t *testing.T) {
	t.Parallel()
	var keys []wgtypes.Key
	for range 4 {
		k, err := wgtypes.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	peer := func(i int, endpoint string) Peer {
		p := Peer{Public: keys[i].String(), Networks: []netip.Prefix{netip.MustParsePrefix("10.64.4.0/22")}}
		if endpoint != "" {
			p.Endpoint = netip.MustParseAddrPort(endpoint)
		}
		return p
	}
	are := []wgtypes.Peer{{PublicKey: keys[0], Endpoint: &net.UDPAddr{Port: 9}}, {PublicKey: keys[1]}, {PublicKey: keys[2]}}
	told := []Peer{peer(0, "192.0.2.1:1"), peer(1, "192.0.2.1:1")}
	config, err := changes(are, []Peer{peer(0, "192.0.2.1:1"), peer(1, "192.0.2.2:2"), peer(3, "")}, told)
	if err != nil {
		t.Fatal(err)
	}
	if len(config) != 3 {
		t.Fatalf("it is told %+v", config)
	}
	moved, added, gone := config[0], config[1], config[2]
	if moved.PublicKey != keys[1] || moved.Endpoint.String() != "192.0.2.2:2" || moved.Remove || len(moved.AllowedIPs) != 1 || moved.AllowedIPs[0].String() != "10.64.4.0/22" || !moved.ReplaceAllowedIPs {
		t.Errorf("one that has moved: %+v", moved)
	}
	if added.PublicKey != keys[3] || added.Endpoint != nil || added.Remove {
		t.Errorf("one that is new: %+v", added)
	}
	if gone.PublicKey != keys[2] || !gone.Remove {
		t.Errorf("one that has gone: %+v", gone)
	}
	// An agent that has been started anew says it all again.
	if config, err = changes(are[:1], []Peer{peer(0, "192.0.2.1:1")}, nil); err != nil || len(config) != 1 || config[0].Endpoint.String() != "192.0.2.1:1" {
		t.Errorf("told for the first time: %+v, %v", config, err)
	}
	// Not of one that was heard of lately, and may have moved.
	now := are[0]
	now.LastHandshakeTime = time.Now()
	now.AllowedIPs = []net.IPNet{*ipNet(netip.MustParsePrefix("10.64.4.0/22"))}
	if config, err = changes([]wgtypes.Peer{now}, []Peer{peer(0, "192.0.2.1:1")}, nil); err != nil || len(config) != 0 {
		t.Errorf("one that was heard of is told of again: %+v, %v", config, err)
	}
	if _, err := changes(nil, []Peer{{Public: "rubbish"}}, nil); err == nil {
		t.Error("a key that is none is taken")
	}
}
