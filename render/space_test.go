package render_test

import (
	"encoding/json"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// Source: docs/spec/juju-clients.md §8.
func TestTheOneNetworkAndItsSpaces(t *testing.T) {
	t.Parallel()
	shop := state.ApplicationView{ApplicationDoc: state.ApplicationDoc{Name: "shop", Bindings: model.Bindings{"db": "inner"}}}
	shop.CharmDoc.Charm.Bindings = []string{"db"}
	n := render.Network{
		Spaces: []state.SpaceDoc{{ID: "0", Name: "alpha"}, {ID: "1", Name: "inner"}},
		Status: &state.FullStatus{
			Machines:     []state.MachineView{{MachineDoc: state.MachineDoc{ID: "0", Addresses: []string{"10.9.8.7", "fd00::7"}}}},
			Applications: []state.ApplicationView{shop},
		},
	}
	if got, want := n.SpacesTable(), ""+
		"Name   Space ID  Subnets    \n"+
		"alpha  0         10.9.8.0/24\n"+
		"                 fd00::/64  \n"+
		"inner  1                    \n"+
		"                            \n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := n.SpaceNames(); got != "Space\nalpha\ninner\n" {
		t.Errorf("got %q", got)
	}
	alpha, _ := n.SpaceTree("alpha")
	inner, _ := n.SpaceTree("inner")
	subnets, _ := n.SubnetsTree("", "")
	for _, row := range []struct {
		got  any
		want string
	}{
		{n.SpacesTree(true), `{"spaces":["alpha","inner"]}`},
		{n.SpacesTree(false), `{"spaces":[{"id":"0","name":"alpha","subnets":{"10.9.8.0/24":{"status":"in-use","type":"ipv4","zones":["host"]},` +
			`"fd00::/64":{"status":"in-use","type":"ipv6","zones":["host"]}}},{"id":"1","name":"inner","subnets":{}}]}`},
		{alpha, `{"applications":["shop"],"machine-count":1,"space":{"id":"0","name":"alpha","subnets":[` +
			`{"cidr":"10.9.8.0/24","space-id":"0","space-name":"alpha","vlan-tag":0,"zones":["host"]},` +
			`{"cidr":"fd00::/64","space-id":"0","space-name":"alpha","vlan-tag":0,"zones":["host"]}]}}`},
		{inner, `{"applications":["shop"],"machine-count":0,"space":{"id":"1","name":"inner","subnets":[]}}`},
		{subnets, `{"subnets":{"10.9.8.0/24":{"space":"alpha","status":"in-use","type":"ipv4","zones":["host"]},` +
			`"fd00::/64":{"space":"alpha","status":"in-use","type":"ipv6","zones":["host"]}}}`},
	} {
		if b, err := json.Marshal(row.got); err != nil || string(b) != row.want {
			t.Errorf("got  %s, %v\nwant %s", b, err, row.want)
		}
	}
	if _, there := n.SpaceTree("outer"); there {
		t.Error("there is a space that nobody has made")
	}
	if _, some := n.SubnetsTree("inner", ""); some {
		t.Error("a recorded space holds a subnet")
	}
}
