package check

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
)

func subordinate() World {
	s := shop()
	s.Charm.Subordinate = true
	w := World{Subject: s, Endpoints: s.endpoints(), Actions: []string{"sell what=what-1"}}
	w.Endpoints[0].Keys[3].Kind = Secret
	w.Life = w.life()
	w.Hooks = []Seen{{0, "install", nil}, {1, "config-changed", []string{"config-get"}}}
	return w
}

// TestSubordinatesComeWithTheirPrincipals: in whatever is tried, nothing adds or removes a unit of
// the subordinate's but what does so with its principal's.
func TestSubordinatesComeWithTheirPrincipals(t *testing.T) {
	t.Parallel()
	w := subordinate()
	if !w.HasHost() {
		t.Fatal("it has an endpoint for its principal")
	}
	var names []string
	for _, p := range Promises() {
		names = append(names, p.Name)
	}
	var all [][]string
	for _, p := range append(probes(w, names, rand.New(rand.NewPCG(1, 0))), tours(w)...) {
		all = append(all, append(slices.Clone(p.setUp), p.lines()...))
	}
	k := newWalker(w, rand.New(rand.NewPCG(1, 0)))
	for range 60 {
		one := k.on(k.from())
		k.keep(one)
		if all = append(all, one.lines()); !slices.Contains(w.wherever(one).units, 0) && !slices.Contains(one.lines(), "stub-leave principal/0") {
			t.Fatalf("its first unit is lost:\n%s", strings.Join(one.lines(), "\n"))
		}
		if err := possible(w, one.lines()); err != "" {
			t.Fatalf("%s:\n%s", err, strings.Join(one.lines(), "\n"))
		}
	}
	verbs := map[string]bool{}
	for _, lines := range all {
		text := strings.Join(lines, "\n")
		if !closed(lines) {
			t.Errorf("it lacks something:\n%s", text)
		}
		for _, line := range lines {
			words := split(line)
			verbs[words[0]] = true
			if slices.Contains([]string{"add-unit", "remove-unit"}, words[0]) || words[0] == "deploy" && slices.Contains(words, "-n") {
				t.Fatalf("%s: a subordinate has no units of its own:\n%s", line, text)
			}
		}
		if strings.Count(text, "deploy $") != strings.Count(text, "stub --principal principal") || !strings.Contains(text, "integrate shop:host principal") {
			t.Fatalf("a subordinate without a principal:\n%s", text)
		}
	}
	for _, verb := range []string{"stub-join", "stub-leave"} {
		if !verbs[verb] {
			t.Errorf("never %s", verb)
		}
	}
}

// TestUnitsOfAPrincipalAreTheSubordinates: what is done to them is blamed as if it were done to those.
func TestUnitsOfAPrincipalAreTheSubordinates(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"deploy x\nstub-join principal\nsettle": Settles, "deploy x\nstub-leave principal/1\nsettle": LastUnit, "deploy x\nstub-leave other-db/1\nsettle": RemoteGone,
	} {
		if got := subordinate().blamed(strings.Split(lines, "\n")); got != want {
			t.Errorf("%q: %s, want %s", lines, got, want)
		}
	}
}

// TestAPrincipalHasTheOtherEnd: what every application has is preferred; if there is only an
// interface of the subordinate's own, the stub has that.
func TestAPrincipalHasTheOtherEnd(t *testing.T) {
	t.Parallel()
	with := func(name string, endpoints map[string]model.CharmRel) World {
		return World{Subject: Subject{Charm: model.Charm{Name: name, Subordinate: true, Endpoints: endpoints}}}
	}
	logs := model.CharmRel{Role: model.Requirer, Interface: "syslog", Scope: model.Container}
	info := model.CharmRel{Role: model.Requirer, Interface: "juju-info", Scope: model.Container}
	for _, c := range []struct {
		world World
		want  string
	}{
		{with("logger", map[string]model.CharmRel{"a": logs, "info": info}), "deploy $SCRIPT_DIR/.. logger; stub --principal principal; integrate logger:info principal"},
		{with("logger", map[string]model.CharmRel{"a": logs}), "deploy $SCRIPT_DIR/.. logger; stub --principal principal a:syslog:provider; integrate logger:a principal"},
		{with("principal", map[string]model.CharmRel{"info": info}), "deploy $SCRIPT_DIR/.. principal; stub --principal principal-too; integrate principal:info principal-too"},
	} {
		if got := strings.Join(c.world.begun(1), "; "); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
	if with("logger", map[string]model.CharmRel{"a": {Role: model.Requirer, Interface: "x", Scope: model.Global}}).HasHost() {
		t.Error("there is none without scope container")
	}
}

// TestStubsHaveNamesOfTheirOwn: endpoints may differ in what an application's name can't have.
func TestStubsHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	rel := model.CharmRel{Role: model.Requirer, Interface: "x", Scope: model.Global}
	s := Subject{Charm: model.Charm{Name: "other-db", Endpoints: map[string]model.CharmRel{"a_b": rel, "a-b": rel, "db": rel}}}
	var names []string
	for _, e := range s.stubs() {
		names = append(names, e.Stub())
	}
	if want := []string{"other-a-b", "other-a-b-too", "other-db-too"}; !slices.Equal(names, want) {
		t.Errorf("they are %q, want %q", names, want)
	}
}
