package resolver_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
	"github.com/unitd/unitd/uniter/sim"
)

// Whatever happens to the model, in whatever order, and however much of it the
// agent doesn't get to see: what runs keeps the guarantees, and once nothing
// happens any more the charm is told of all that is.
func TestRandomHistoriesKeepTheGuarantees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := sim.New("app/0", "ch:1", rapid.Bool().Draw(t, "leader"))
		h := &history{T: t, w: &w, related: map[string]bool{}}
		if rapid.Bool().Draw(t, "containers") {
			h.act("container db")
			h.act("container web")
		}
		t.Repeat(map[string]func(*rapid.T){
			"model":    h.model,
			"agent":    h.agent,
			"work":     h.work,
			"operator": h.operator,
			"kill":     func(*rapid.T) { h.kill() },
		})
		h.end()
	})
}

// history is a world, and all that has happened in it.
type history struct {
	*rapid.T
	w       *sim.World
	related map[string]bool
	log     []string
}

func (h *history) model(t *rapid.T) {
	if h.w.Model.Sidecar && rapid.Bool().Draw(t, "in a container") {
		h.container(t)
		return
	}
	if rapid.IntRange(0, 4).Draw(t, "storage") == 0 {
		verb := rapid.SampledFrom([]string{"storage", "add-storage", "provide", "provide", "provide", "move", "lose", "detach", "vanish-storage"}).Draw(t, "verb")
		h.act(verb + " " + rapid.SampledFrom([]string{"data/0", "data/1", "logs/2"}).Draw(t, "instance"))
		return
	}
	rel := rapid.SampledFrom([]string{"cluster:0 app", "db:1 mysql", "db:2 mysql", "juju-info:3 ntp"}).Draw(t, "relation")
	ref, app, _ := strings.Cut(rel, " ")
	if !h.related[rel] {
		h.related[rel] = true
		h.act("relate " + rel)
		return
	}
	// The unit itself is app/0.
	unit := fmt.Sprintf("%s/%d", app, rapid.IntRange(1, 2).Draw(t, "unit"))
	weighted := []string{"join", "join", "join", "write", "write", "leave", "write-app", "suspend", "resume", "hold", "let", "let", "config", "config", "lead", "depose",
		"leader-settings", "charm", "force-charm", "wait", "unrelate", "vanish", "destroy", "orphan", "lose-charm", "retry", "reboot"}
	switch verb := rapid.SampledFrom(weighted).Draw(t, "verb"); verb {
	case "join", "write", "leave":
		h.act(verb + " " + ref + " " + unit)
	case "write-app":
		h.act("write " + ref + " " + app)
	case "suspend", "resume", "hold", "let", "unrelate", "vanish":
		h.act(verb + " " + ref)
	case "config":
		h.act(fmt.Sprintf("config %d", rapid.IntRange(1, 3).Draw(t, "value")))
	case "charm", "force-charm":
		h.act(fmt.Sprintf("%s ch:%d", verb, rapid.IntRange(1, 3).Draw(t, "revision")))
	case "wait":
		h.act("wait 3m")
	case "destroy", "orphan":
		if rapid.IntRange(0, 5).Draw(t, "really") == 0 {
			h.act(verb)
		}
	default:
		h.act(verb)
	}
}

// container has something happen in a container, or to all of them.
func (h *history) container(t *rapid.T) {
	name := rapid.SampledFrom([]string{"db", "web"}).Draw(t, "container")
	switch verb := rapid.SampledFrom([]string{"start-container", "start-container", "stop-container", "notice", "notice", "check-fails", "check-recovers",
		"replace", "workload-errors", "no-workload-errors", "wait"}).Draw(t, "verb"); verb {
	case "start-container", "stop-container":
		h.act(verb + " " + name)
	case "notice", "check-fails", "check-recovers":
		h.act(fmt.Sprintf("%s %s %d", verb, name, rapid.IntRange(1, 3).Draw(t, "notice")))
	case "wait":
		h.act("wait 3s")
	default:
		h.act(verb)
	}
}

func (h *history) act(line string) {
	ok, err := h.w.Act(line)
	h.check(fmt.Sprintf("%s (%v)", line, ok), err)
}

// agent makes some moves; the last may be to decide on what it does only after
// the world has gone on.
func (h *history) agent(t *rapid.T) {
	for range rapid.IntRange(1, 15).Draw(t, "moves") {
		h.move(t)
	}
}

func (h *history) move(t *rapid.T) {
	if !h.w.Busy() {
		op := h.w.Decide()
		h.check(fmt.Sprintf("decides: %s %s", op.Verb, op.Hook), nil)
		if again := h.w.Decide(); !reflect.DeepEqual(op, again) {
			h.check("decides again", fmt.Errorf("got %+v, then %+v", op, again))
		}
		return
	}
	how := rapid.SampledFrom([]sim.How{sim.Well, sim.Well, sim.Well, sim.Well, sim.Badly, sim.Overdue, sim.KilledAfter, sim.KilledWithin, sim.StoppedAgent, sim.StoppedAtCommit}).Draw(t, "how")
	if how == sim.Overdue && !h.w.Limited() {
		how = sim.Badly
	}
	h.check("does it "+string(how), h.w.Do(how))
}

func (h *history) work(*rapid.T) {
	h.w.Kill() // what it has in hand is dropped
	ran, err := h.w.Settle(well)
	h.check(fmt.Sprintf("works: %v", ran), err)
}

func (h *history) operator(t *rapid.T) {
	h.act(rapid.SampledFrom([]string{"resolved", "resolved-no-retry"}).Draw(t, "answer"))
}

func (h *history) kill() {
	h.w.Kill()
	h.check("killed", nil)
}

// end lets all come to rest: the operator skips what has failed, others leave
// what is going.
func (h *history) end() {
	h.w.Kill()
	for range 50 {
		ran, err := h.w.Settle(well)
		h.check(fmt.Sprintf("works: %v", ran), err)
		// An agent that was killed as its unit became Dead needn't finish anything.
		if h.w.Local.Current == nil || h.w.Model.Life == model.Dead {
			h.check("rests", h.w.Rested())
			return
		}
		h.act("resolved-no-retry")
	}
	h.check("rests", fmt.Errorf("still in error at %s", h.w.Local.Current.Hook))
}

func (h *history) check(what string, err error) {
	h.Helper()
	h.log = append(h.log, what)
	if err != nil {
		h.Fatalf("%v\n%s", err, strings.Join(h.log, "\n"))
	}
}

func well(hooks.Info) sim.How { return sim.Well }

// Notices that are lost, repeated or late make no difference to where an agent
// comes to rest: two agents that look at different times end up alike.
func TestAgentsThatLookAtDifferentTimesEndUpAlike(t *testing.T) {
	t.Parallel()
	acts := []string{"relate db:1 mysql", "join db:1 mysql/0", "config 2", "write db:1 mysql/0", "charm ch:2", "join db:1 mysql/1",
		"leave db:1 mysql/0", "lead", "config 3", "write db:1 mysql", "relate db:2 mysql", "join db:2 mysql/0"}
	rapid.Check(t, func(t *rapid.T) {
		often, seldom := sim.New("app/0", "ch:1", false), sim.New("app/0", "ch:1", false)
		for i, line := range acts {
			for _, w := range []*sim.World{&often, &seldom} {
				if ok, err := w.Act(line); !ok || err != nil {
					t.Fatalf("%s: %v, %v", line, ok, err)
				}
			}
			settle(t, &often)
			if rapid.Bool().Draw(t, acts[i]) {
				settle(t, &seldom)
			}
		}
		settle(t, &seldom)
		if a, b := forget(often.Local), forget(seldom.Local); !reflect.DeepEqual(a, b) {
			t.Fatalf("one knows\n%+v\nthe other\n%+v", a, b)
		}
	})
}

func settle(t *rapid.T, w *sim.World) {
	if _, err := w.Settle(well); err != nil {
		t.Fatal(err)
	}
	if err := w.Rested(); err != nil {
		t.Fatal(err)
	}
}

// forget drops what depends on how many hooks ran.
func forget(l resolver.Local) resolver.Local {
	l.Run, l.Ended = 0, resolver.Ended{}
	return l
}
