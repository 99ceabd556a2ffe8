package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tours bring each hook in each state of the endpoints: all of them are in the same state while
// the unit, and one endpoint after the other, goes through its life.
func tours(w World) (all []probe) {
	if len(w.Endpoints) == 0 {
		return nil
	}
	for _, state := range States() {
		setUp := w.bare()
		var stubs, early []string // a stub writes to its application's databag once it leads, after a settle
		for _, e := range w.Endpoints {
			setUp = append(setUp, w.enter(e, state, true)...)
			stubs = append(stubs, w.relate(e)[0])
			early = append(early, slices.DeleteFunc(w.enter(e, state, false), func(line string) bool { return line == w.relate(e)[0] })...)
		}
		early = slices.Concat(stubs, []string{"settle"}, w.begun(1), early)
		lives := probe{setUp: setUp, parts: w.whatHappens(), end: w.remove()}
		all = append(all, one(nil, append(early, "settle")...), lives)
		if state == None {
			for _, e := range w.Endpoints {
				all = append(all, probe{setUp: w.bare(), parts: [][]string{slices.Concat(w.secretsOf(e), w.wholeLife(e))}})
			}
			continue
		}
		others := probe{setUp: setUp}
		for _, e := range w.Endpoints {
			lines := w.wholeLife(e)
			switch state {
			case Gone:
			case Deserted, Silent, Told:
				lines = slices.Concat([]string{w.unrelate(e), "settle", "remove-application " + e.Stub(), "settle"}, lines)
				lines = append(lines, w.enter(e, state, true)[len(w.secretsOf(e)):]...)
			}
			others.parts = append(others.parts, lines)
		}
		all = append(all, others)
	}
	for i := range all {
		all[i].promise = OrderOfRelations
	}
	return all
}

// blamed is the promise that a charm breaks that fails after these lines, of a tour or of relations in
// some order: by the newest line that does more than let time pass.
func (w World) blamed(lines []string) string {
	for _, line := range slices.Backward(lines) {
		words := w.ofUnits(split(strings.TrimPrefix(line, "! ")))
		if len(words) == 0 {
			continue
		}
		if promise, ok := blames[words[0]]; ok {
			if words[0] == "advance" && words[1] == "--skip-update-status" {
				return AMonth
			}
			return promise
		}
	}
	return OrderOfRelations
}

// blames are the promises that lines are about.
var blames = map[string]string{
	"config": UpdateStatus, "advance": UpdateStatus, "refresh": Upgrade, "add-storage": StorageGone, "detach-storage": StorageGone, "container-stop": Container,
	"container-start": Container, "notice": Container, "add-unit": Settles, "remove-unit": LastUnit, "lose-leadership": LeaderLost, "status": Removal, "stdout": Removal,
	"remove-relation": RelationAgain, "stub-leave": RemoteGone, "update-secret": Secrets, "stub-set": OrderOfRelations, "integrate": OrderOfRelations,
	"stub-join": OrderOfRelations, "deploy": OrderOfRelations, "run": OrderOfRelations,
}

// enter brings an endpoint that never had a relation into a state. settled: hooks run on the way.
func (w World) enter(e Endpoint, s State, settled bool) (lines []string) {
	add := func(more ...string) {
		if lines = append(lines, more...); settled && len(more) > 0 {
			lines = append(lines, "settle")
		}
	}
	if s == None {
		return nil
	}
	lines = w.secretsOf(e)
	add(w.relate(e)...)
	if s == Told || s == Gone {
		add(e.publish(e.Keys, 0)...)
	}
	if s == Deserted {
		add(fmt.Sprintf("stub-leave %s/0", e.Stub()))
	}
	if s == Gone {
		add(w.unrelate(e))
		add("remove-application " + e.Stub())
	}
	return lines
}

// wholeLife is that of an endpoint's relation, from one that isn't there to one that is gone; the
// secrets that it needs are there.
func (w World) wholeLife(e Endpoint) []string {
	lines := append(w.relate(e), "settle")
	lines = append(lines, append(e.publish(e.Keys, 0), "settle")...)
	for _, k := range e.Keys {
		if k.Kind == Secret {
			lines = append(lines, w.secret("update-secret", e, k, "second"), "settle")
		}
	}
	return append(lines, "stub-join "+e.Stub(), "settle", fmt.Sprintf("stub-leave %s/1", e.Stub()), "settle",
		w.unrelate(e), "settle", "remove-application "+e.Stub(), "settle")
}

// whatHappens is what happens to a unit whatever its relations are in, each for itself.
func (w World) whatHappens() (parts [][]string) {
	if acts := w.acts(w.Unit()); len(acts) > 0 {
		parts = append(parts, append(acts, "settle"))
	}
	for _, c := range w.change() {
		parts = append(parts, append(slices.Clone(c), fmt.Sprintf("config %s --reset %s", w.Application(), optionOf(c[0])), "settle"))
	}
	parts = append(parts, []string{"advance 6m", "settle"}, w.refresh())
	var stores []string // the id of each depends on those before
	for i, s := range w.optional() {
		stores = append(stores, "add-storage "+w.Unit()+" "+s, "settle", "detach-storage "+w.storageID(s, i), "settle")
	}
	parts = append(parts, stores)
	for _, c := range slices.Sorted(maps.Keys(w.Charm.Containers)) {
		parts = append(parts, []string{fmt.Sprintf("container-stop %s %s", w.Unit(), c), "settle", fmt.Sprintf("container-start %s %s", w.Unit(), c), "settle"},
			[]string{fmt.Sprintf("notice %s %s example.com/%s", w.Unit(), c, c), "settle"})
	}
	if w.peers() {
		parts = append(parts, []string{w.addUnit(), "settle", w.app("lose-leadership %s"), "settle", w.removeUnit(1), "settle"})
	}
	parts = append(parts, slices.Concat([]string{noRetry}, month, []string{retry}))
	return slices.DeleteFunc(parts, func(part []string) bool { return len(part) == 0 })
}

// spread puts some probes among all others, so that they are tried soon: each others to one of them.
func spread(some, all []probe, each int) (mixed []probe) {
	for len(some) > 0 {
		n := min(each, len(all))
		mixed = append(append(mixed, some[0]), all[:n]...)
		some, all = some[1:], all[n:]
	}
	return append(mixed, all...)
}
