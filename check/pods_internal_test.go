package check

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
)

// TestContainerUnitsGoByTheirNumber: no line names the one that is to go, as nobody can; and what comes again
// has the number of what has gone.
func TestContainerUnitsGoByTheirNumber(t *testing.T) {
	t.Parallel()
	for _, containers := range []map[string]model.ContainerSpec{nil, {"web": {}}} {
		w := world()
		w.Charm.Containers = containers
		named, numbered := 0, 0
		for seed := range uint64(20) {
			chance := rand.New(rand.NewPCG(seed, 0))
			var lines []string
			for _, p := range append(probes(w, nil, chance), tours(w)...) {
				lines = append(append(lines, p.setUp...), p.lines()...)
			}
			walker := newWalker(w, chance)
			for range 20 {
				t := walker.on(walker.from())
				walker.keep(t)
				lines = append(lines, t.lines()...)
			}
			for _, line := range lines {
				if strings.HasPrefix(line, "remove-unit "+w.Application()+"/") || strings.Contains(line, w.Application()+"/1="+w.Application()+"/0") {
					named++
				}
				if line == "remove-unit "+w.Application()+" --num-units 1" {
					numbered++
				}
			}
		}
		if pods := containers != nil; pods == (named > 0) || pods != (numbered > 0) {
			t.Errorf("containers %v: %d units are named, and %d go by their number", containers, named, numbered)
		}
	}
}

// TestAnActionDoesntWaitForTheAgentThatIsKilled: it is asked for, and done once there is another agent.
func TestAnActionDoesntWaitForTheAgentThatIsKilled(t *testing.T) {
	t.Parallel()
	sure, more, _ := world().kills([]Seen{{Hook: "config-changed", Tools: []string{"status-set", "config-get"}}}, nil, []string{"run shop/0 pack size=1", "settle"})
	for _, p := range []probe{sure, more} {
		for _, part := range p.parts {
			if part[2] != "run --background shop/0 pack size=1" {
				t.Errorf("it is %q", part)
			}
		}
		if p.first[1] != "run shop/0 pack size=1" {
			t.Errorf("without a kill it is %q", p.first)
		}
	}
}

func TestContainerUnitsAreUpgradedWithTheStorageThatTheyHave(t *testing.T) {
	t.Parallel()
	w := world()
	w.Charm.Containers = map[string]model.ContainerSpec{"web": {}}
	w.Was = w.Charm
	w.Was.Storage = map[string]model.StorageSpec{}
	for name, spec := range w.Charm.Storage {
		spec.Description += " of old"
		w.Was.Storage[name] = spec
	}
	if w.otherStorage() {
		t.Error("another description is other storage")
	}
	w.Was.Storage["more"] = model.StorageSpec{}
	if !w.otherStorage() {
		t.Error("more storage is none")
	}
	w.Charm.Containers = nil
	if w.otherStorage() {
		t.Error("machine units can get storage by an upgrade")
	}
}
