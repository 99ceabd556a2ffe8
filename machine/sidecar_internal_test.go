package machine

import (
	"reflect"
	"testing"

	hookcontext "github.com/unitd/unitd/context"
)

// TestK108NetworkOfAContainersUnit: what network-get is made of, with an address of the
// application, without one, and before there is any.
func TestK108NetworkOfAContainersUnit(t *testing.T) {
	t.Parallel()
	at := func(address string) []hookcontext.Interface {
		return []hookcontext.Interface{{Addresses: []hookcontext.Address{{Value: address}}}}
	}
	for _, test := range []struct {
		name      string
		addresses []string
		service   string
		want      hookcontext.Network
	}{
		{"the application's address is that by which it is reached", []string{"10.64.0.2"}, "10.64.3.254",
			hookcontext.Network{Interfaces: at("10.64.0.2"), Ingress: []string{"10.64.3.254"}, Egress: []string{"10.64.3.254/32"}}},
		{"without one the unit's is", []string{"10.64.0.2"}, "",
			hookcontext.Network{Interfaces: at("10.64.0.2"), Ingress: []string{"10.64.0.2"}, Egress: []string{"10.64.0.2/32"}}},
		{"before there is an address there is a device without any (K-108)", nil, "",
			hookcontext.Network{Interfaces: []hookcontext.Interface{{}}}},
	} {
		if got := sidecarNetwork(test.addresses, test.service); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}
