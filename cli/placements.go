package cli

import (
	"slices"
	"strings"

	"github.com/unitd/unitd/state"
)

const toFlag = "where the units go, one after the other: the id of a machine, or new, with commas between"

// placements are the places that --to names: ids of machines, and state.NewMachine. What
// is for a cloud alone, as "zone=a", is recorded. Source: docs/spec/juju-clients.md §10.1.
type placements struct {
	to []string
	// directives are what a cloud would go by.
	directives []string
}

// parsePlacements reads the value of --to for n units.
func parsePlacements(text string, n int) (placements, error) {
	var p placements
	if text == "" {
		return p, nil
	}
	for place := range strings.SplitSeq(text, ",") {
		kind, _, _ := strings.Cut(place, ":")
		switch {
		case place == "":
			return p, Usagef("invalid --to parameter %q", place)
		case place == state.NewMachine || machineID.MatchString(place):
			p.to = append(p.to, place)
		case slices.Contains([]string{"lxd", "kvm"}, kind) || strings.Contains(place, "/"):
			return p, Usagef("--to: %q is not the id of a machine, nor %q: cannot create containers; --isolate gives units machines of their own", place, state.NewMachine)
		case !strings.Contains(place, "="):
			return p, Usagef("--to: %q is not the id of a machine, nor %q", place, state.NewMachine)
		default:
			p.directives = append(p.directives, place)
		}
	}
	if len(p.to) > n {
		return p, Usagef("--to names %d places for %d units", len(p.to), n)
	}
	return p, nil
}

// notePlacements says what is not done about places.
func (a base) notePlacements(p placements) {
	if len(p.directives) > 0 {
		a.ignores("--to " + strings.Join(p.directives, ","))
	}
}
