package render

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Network is the one network of a model, and its spaces, the first of which holds it.
// Source: docs/spec/juju-clients.md §8.
type Network struct {
	Status *state.FullStatus
	Spaces []state.SpaceDoc
}

// zone is where all machines are.
const zone = RegionName

// subnets are those that machines have addresses in, in order. What a host's own prefix
// is nobody tells: an address is taken for one of a usual length.
func (n Network) subnets() []netip.Prefix {
	var all []netip.Prefix
	for _, m := range n.Status.Machines {
		for _, text := range m.Addresses {
			address, err := netip.ParseAddr(text)
			if err != nil {
				continue
			}
			bits := 24
			if address.Is6() {
				bits = 64
			}
			if p, err := address.Prefix(bits); err == nil && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	return all
}

func subnetType(p netip.Prefix) string {
	if p.Addr().Is6() {
		return "ipv6"
	}
	return "ipv4"
}

// of are the subnets of a space.
func (n Network) of(space string) []netip.Prefix {
	if space != model.AlphaSpace {
		return nil
	}
	return n.subnets()
}

// SpacesTree is what spaces shows programs.
func (n Network) SpacesTree(short bool) Tree {
	if short {
		return Tree{"spaces": n.names()}
	}
	list := []Tree{}
	for _, s := range n.Spaces {
		subnets := Tree{}
		for _, p := range n.of(s.Name) {
			subnets[p.String()] = Tree{"type": subnetType(p), "status": "in-use", "zones": []string{zone}}
		}
		list = append(list, Tree{"id": s.ID, "name": s.Name, "subnets": subnets})
	}
	return Tree{"spaces": list}
}

func (n Network) names() []string {
	names := make([]string, len(n.Spaces))
	for i, s := range n.Spaces {
		names[i] = s.Name
	}
	return names
}

// SpaceNames are the names of spaces below their heading.
func (n Network) SpaceNames() string {
	return strings.Join(append([]string{"Space"}, n.names()...), "\n") + "\n"
}

// SpacesTable is what spaces shows people: all cells are as wide as their column, and a
// row of blanks ends the table.
func (n Network) SpacesTable() string {
	rows := [][]string{{"Name", "Space ID", "Subnets"}}
	for _, s := range n.Spaces {
		row := []string{s.Name, s.ID, ""}
		for i, p := range n.of(s.Name) {
			if i > 0 {
				rows, row = append(rows, row), []string{"", "", ""}
			}
			row[2] = p.String()
		}
		rows = append(rows, row)
	}
	rows = append(rows, []string{"", "", ""})
	width := make([]int, 3)
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%-*s  %-*s  %-*s\n", width[0], row[0], width[1], row[1], width[2], row[2])
	}
	return b.String()
}

// SpaceTree is what show-space shows; false: there is no such space.
func (n Network) SpaceTree(name string) (Tree, bool) {
	i := slices.IndexFunc(n.Spaces, func(s state.SpaceDoc) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	s := n.Spaces[i]
	subnets, applications := []Tree{}, []string{}
	for _, p := range n.of(name) {
		subnets = append(subnets, Tree{"cidr": p.String(), "vlan-tag": 0, "zones": []string{zone}, "space-id": s.ID, "space-name": s.Name})
	}
	for _, app := range n.Status.Applications {
		for _, space := range app.Bindings.All(app.CharmDoc.Charm.Bindable()) {
			if space == name && !slices.Contains(applications, app.Name) {
				applications = append(applications, app.Name)
			}
		}
	}
	machines := 0
	if len(subnets) > 0 {
		machines = len(n.Status.Machines)
	}
	return Tree{
		"space":        Tree{"id": s.ID, "name": s.Name, "subnets": subnets},
		"applications": applications, "machine-count": machines,
	}, true
}

// SubnetsTree is what subnets shows of a space and a zone, each empty for any; false:
// there is nothing.
func (n Network) SubnetsTree(space, inZone string) (Tree, bool) {
	subnets := Tree{}
	if (space == "" || space == model.AlphaSpace) && (inZone == "" || inZone == zone) {
		for _, p := range n.subnets() {
			subnets[p.String()] = Tree{"type": subnetType(p), "status": "in-use", "space": model.AlphaSpace, "zones": []string{zone}}
		}
	}
	return Tree{"subnets": subnets}, len(subnets) > 0
}
