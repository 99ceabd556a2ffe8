package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/unitd/unitd/model"
)

// A subordinate has a unit for each unit of its principal, which is a stub in worlds: what adds
// and removes units of other charms does so to that stub here.

// host is the endpoint of a subordinate that its units share a machine by, one of that every
// charm provides before others, with the stub that is the principal; false: the charm is no
// subordinate, or has no such endpoint.
func (s Subject) host() (Endpoint, bool) {
	if !s.Charm.Subordinate {
		return Endpoint{}, false
	}
	var found Endpoint
	for _, name := range slices.Sorted(maps.Keys(s.Charm.Endpoints)) {
		e := s.Charm.Endpoints[name]
		if e.Scope != model.Container || e.Role == model.Peer || e.Role == model.Provider && e.Interface == model.JujuInfo {
			continue
		}
		if found.Name == "" || found.Interface != model.JujuInfo && e.Interface == model.JujuInfo {
			found = Endpoint{Name: name, Interface: e.Interface, Role: otherRole(e.Role), Other: s.free("principal", s.stubs())}
		}
	}
	return found, found.Name != ""
}

// HasHost says whether a check can have units of the charm: a subordinate needs an endpoint to
// share a machine by.
func (s Subject) HasHost() bool {
	_, ok := s.host()
	return ok || !s.Charm.Subordinate
}

// placed deploys n units of a version, none of which has run a hook yet.
func (w World) placed(charm string, n int, flags ...string) []string {
	words := append([]string{"deploy", charm, w.Application()}, w.more(charm)...)
	for _, f := range flags {
		words = append(words, quoted(f))
	}
	host, ok := w.host()
	if !ok {
		if n > 1 {
			words = append(words, "-n", strconv.Itoa(n))
		}
		return []string{strings.Join(words, " ")}
	}
	stub := "stub --principal " + host.Stub()
	if host.Interface != model.JujuInfo {
		stub += fmt.Sprintf(" %s:%s:%s", host.Name, host.Interface, host.Role)
	}
	lines := []string{strings.Join(words, " "), stub}
	for range n - 1 {
		lines = append(lines, w.addUnit())
	}
	return append(lines, w.beside(host))
}

// beside relates a subordinate to its principal.
func (w World) beside(host Endpoint) string {
	return fmt.Sprintf("integrate %s:%s %s", w.Application(), host.Name, host.Stub())
}

// addUnit adds a unit.
func (w World) addUnit() string {
	if host, ok := w.host(); ok {
		return "stub-join " + host.Stub()
	}
	return "add-unit " + w.Application()
}

// pods says whether the units are container units, of which the one with the highest number goes first, and
// comes again by the same number.
func (w World) pods() bool {
	return w.Charm.Sidecar() && !w.Charm.Subordinate
}

// removeUnit removes the unit with a number, which its principal's has too; of container units it has to be
// the highest.
func (w World) removeUnit(n int) string {
	if w.pods() {
		return fmt.Sprintf("remove-unit %s --num-units 1", w.Application())
	}
	if host, ok := w.host(); ok {
		return fmt.Sprintf("stub-leave %s/%d", host.Stub(), n)
	}
	return fmt.Sprintf("remove-unit %s/%d", w.Application(), n)
}

// ofUnits is a line of a scenario as it would be if units didn't come with a principal's; nil: it is
// about the principal alone.
func (w World) ofUnits(words []string) []string {
	host, ok := w.host()
	if !ok || len(words) < 2 {
		return words
	}
	switch name, number, _ := strings.Cut(words[1], "/"); {
	case words[0] == "stub" && words[1] == "--principal", words[0] == "integrate" && words[len(words)-1] == host.Stub():
		return nil
	case words[0] == "stub-join" && name == host.Stub():
		return []string{"add-unit", w.Application()}
	case words[0] == "stub-leave" && name == host.Stub():
		return []string{"remove-unit", w.Application() + "/" + number}
	}
	return words
}
