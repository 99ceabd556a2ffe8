package check

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEndpointsAreWhereLinesBringThem(t *testing.T) {
	t.Parallel()
	stubs := map[string]string{"other-db": "db"}
	for _, c := range []struct {
		lines string
		want  State
	}{
		{"deploy $SCRIPT_DIR/.. shop\nsettle", None},
		{"stub other-db db:sql:provider", None},
		{"stub other-db db:sql:provider\nintegrate shop:db other-db", Silent},
		{"stub other-db db:sql:provider\nintegrate shop:db other-db\nstub-set other-db/0 a=b", Told},
		{"stub other-db db:sql:provider\nintegrate shop:db other-db\nstub-set --app other-db a=b", Told},
		{"stub other-db db:sql:provider\nstub-set other-db/0 a=b", None},
		{"stub other-db db:sql:provider\nintegrate shop:db other-db\nstub-leave other-db/0", Deserted},
		{"stub other-db db:sql:provider\nstub-join other-db\nintegrate shop:db other-db\nstub-leave other-db/0", Silent},
		{"stub other-db db:sql:provider\nintegrate shop:db other-db\nstub-leave other-db/0\nstub-join other-db", Silent},
		{"stub other-db db:sql:provider\nintegrate shop:db other-db\nstub-set --app other-db a=b\nstub-leave other-db/0\nstub-join other-db", Told},
		{"stub other-db db:sql:provider\nintegrate shop:db other-db\nstub-set other-db/0 a=b\nstub-leave other-db/0\nstub-join other-db", Silent},
		{"stub other-db db:sql:provider\nintegrate shop:db other-db\nremove-relation shop:db other-db", Gone},
		{"stub other-db db:sql:provider\nintegrate shop:db other-db\nremove-relation shop:db other-db\nstub other-db db:sql:provider", Gone},
		{"stub other-db db:sql:provider\nintegrate shop:db other-db\nremove-relation shop:db other-db\nintegrate shop:db other-db", Silent},
		{"stub other-db db:sql:provider\nintegrate shop:db other-db\nremove-application other-web", Silent},
	} {
		s := standing{}
		for line := range strings.Lines(c.lines) {
			s.after(split(strings.TrimSpace(line)), stubs)
		}
		if got := s.state("db"); got != c.want {
			t.Errorf("%s:\nit is %s, want %s", c.lines, got, c.want)
		}
	}
}

// TestToursComeToAllStates: whatever happens to a unit happens in each state of each endpoint, and so
// does what happens to each other endpoint.
func TestToursComeToAllStates(t *testing.T) {
	t.Parallel()
	w := world()
	stubs := map[string]string{}
	for _, e := range w.Endpoints {
		stubs[e.Stub()] = e.Name
	}
	met := map[string]bool{}
	for _, p := range tours(w) {
		lines := append(slices.Clone(p.setUp), p.lines()...)
		if !closed(lines) {
			t.Errorf("it lacks something:\n%s", strings.Join(lines, "\n"))
		}
		s := standing{}
		for _, line := range lines {
			words := split(line)
			s.after(words, stubs)
			for _, e := range w.Endpoints {
				met[words[0]+" "+stubs[words[len(words)-1]]+" "+e.Name+" "+string(s.state(e.Name))] = true
			}
		}
	}
	for _, e := range w.Endpoints {
		for _, state := range States() {
			for _, verb := range []string{"settle", "config", "advance", "refresh", "run", "add-storage", "detach-storage", "container-stop", "add-unit", "remove-unit"} {
				if !met[verb+"  "+e.Name+" "+string(state)] {
					t.Errorf("never %s while %s is %s", verb, e.Name, state)
				}
			}
			for _, o := range w.Endpoints {
				for _, verb := range []string{"integrate", "remove-relation", "stub-join"} {
					if o.Name != e.Name && !met[verb+" "+o.Name+" "+e.Name+" "+string(state)] {
						t.Errorf("never %s of %s while %s is %s", verb, o.Name, e.Name, state)
					}
				}
			}
		}
	}
}

func TestToursAreAmongTheFirst(t *testing.T) {
	t.Parallel()
	probes := func(n int, promise string) (all []probe) {
		for range n {
			all = append(all, probe{promise: promise})
		}
		return all
	}
	text := func(all []probe) (s string) {
		for _, p := range all {
			s += p.promise
		}
		return s
	}
	if got := text(spread(probes(3, "T"), probes(5, "p"), 1)); got != "TpTpTppp" {
		t.Errorf("%s", got)
	}
	if got := text(spread(probes(1, "T"), probes(6, "p"), 1)); got != "Tpppppp" {
		t.Errorf("%s", got)
	}
	if got := text(spread(probes(3, "L"), probes(8, "p"), 6)); got != "LppppppLppL" {
		t.Errorf("%s", got)
	}
}

// TestNobodyWalksBeforeTheLifeIsKnown: who has nothing to try waits for it, or until the check is broken off.
func TestNobodyWalksBeforeTheLifeIsKnown(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &search{lived: make(chan struct{})}
	c.idle(ctx, nil) // a walk takes a player
}

// TestWalksArePossible: each names only what is there, and the same chance makes the same.
func TestWalksArePossible(t *testing.T) {
	t.Parallel()
	w := world()
	w.Former = "/former"
	walks := func(seed uint64) (all []trail) {
		k := newWalker(w, rand.New(rand.NewPCG(seed, 0)))
		for range 40 {
			one := k.on(k.from())
			k.keep(one)
			all = append(all, one)
		}
		return all
	}
	promises := map[string]bool{}
	for seed := range uint64(10) {
		all := walks(seed)
		if again := walks(seed); !reflect.DeepEqual(all, again) {
			t.Fatal("the same chance makes others")
		}
		for _, one := range all {
			lines := one.lines()
			if !closed(lines) {
				t.Fatalf("it lacks something:\n%s", strings.Join(lines, "\n"))
			}
			if err := possible(w, lines); err != "" {
				t.Fatalf("%s:\n%s", err, strings.Join(lines, "\n"))
			}
			for _, m := range one {
				if m.Lines[len(m.Lines)-1] != "settle" {
					t.Fatalf("a move doesn't end settled: %q", m.Lines)
				}
			}
			for at := range lines {
				promise := one.promiseAt(at)
				if !Known(promise) {
					t.Fatalf("there is no promise %q", promise)
				}
				promises[promise] = true
			}
			if one.promiseAt(len(lines)) != "" {
				t.Fatal("a line behind the last has a promise")
			}
		}
	}
	for _, name := range []string{EmptyDatabag, OrderOfRelations, RelationAgain, RemoteGone, WrongConfig, UpdateStatus, AMonth, Upgrade, Settles, LastUnit, LeaderLost, StorageGone, Container, Secrets, Killed} {
		if !promises[name] {
			t.Errorf("no walk is about %s", name)
		}
	}
}

// possible says what a script would take for a slip, by what it has itself made before.
func possible(w World, lines []string) string {
	there := map[string]bool{}
	for _, line := range lines {
		words := w.ofUnits(split(line))
		if len(words) == 0 {
			continue
		}
		last := words[len(words)-1]
		need, gives, takes := "", "", ""
		switch words[0] {
		case "stub":
			gives = "application " + words[1]
		case "integrate":
			need, gives = "application "+last, "relation "+last
		case "remove-relation":
			need, takes = "relation "+last, "relation "+last
		case "remove-application":
			need, takes = "application "+last, "application "+last
		case "add-secret":
			gives = "secret " + words[1]
		case "update-secret", "grant-secret", "revoke-secret", "remove-secret":
			need = "secret " + words[1]
			if words[0] != "update-secret" && words[0] != "grant-secret" {
				takes = need
			}
		case "container-stop":
			gives = "stopped " + last
		case "container-start":
			need, takes = "stopped "+last, "stopped "+last
		}
		if need != "" && !there[need] {
			return line + ": there is no " + need
		}
		if gives != "" && there[gives] {
			return line + ": there is already " + gives
		}
		if delete(there, takes); gives != "" {
			there[gives] = true
		}
	}
	return ""
}

func TestAWalkThatIsNewIsGoneOnFrom(t *testing.T) {
	t.Parallel()
	k := newWalker(world(), rand.New(rand.NewPCG(1, 0)))
	first := k.from()
	for range 2 * maxTrails {
		k.keep(append(slices.Clone(first), move{Settles, []string{"settle"}}))
	}
	if len(k.trails) != maxTrails || !reflect.DeepEqual(k.trails[0], first) {
		t.Errorf("%d are kept", len(k.trails))
	}
	k.keep(make(trail, maxTrail+1))
	if len(k.trails[len(k.trails)-1]) > maxTrail {
		t.Error("one that is too long is kept")
	}
}

func TestWhatIsNewIsTold(t *testing.T) {
	t.Parallel()
	all, one := newLooks(), newLooks()
	one.hooks["start"], one.ways["a"], one.met[Meeting{"start", "db", Told}] = true, true, true
	if !all.take(&one) || !all.hooks["start"] || !all.met[Meeting{"start", "db", Told}] {
		t.Error("it isn't taken")
	}
	one.ways["a"] = true
	if all.take(&one) {
		t.Error("it isn't new a second time")
	}
	m := world().meetings([]string{"start", "db-relation-created"}, all.met)
	// start with two endpoints, and the hook of one with the other, in five states each
	if m.Wanted != 15 || m.Met != 1 || len(m.Missing) != 14 {
		t.Errorf("%+v", m)
	}
	ran := slices.DeleteFunc(slices.Clone(m.Ran), func(r Ran) bool { return len(r.Hooks) == 0 })
	if len(m.Ran) != 10 || len(ran) != 1 || len(ran[0].Hooks) != 1 || !all.met[Meeting{ran[0].Hooks[0], ran[0].Endpoint, ran[0].State}] {
		t.Errorf("%+v", m.Ran)
	}
}

// TestACheckGoesOn: from its progress as it is kept in a file.
func TestACheckGoesOn(t *testing.T) {
	t.Parallel()
	one := &search{Options: Options{Promises: []string{Killed}, Seed: 7}, world: world(), known: map[string]int{}, blocked: map[string]int{}, looks: newLooks()}
	one.world.Digest = "digest"
	chance := rand.New(rand.NewPCG(7, 0))
	one.life = one.world
	one.queue = probes(one.world, []string{Killed}, chance)
	one.walker = newWalker(one.world, chance)
	one.walker.keep(one.walker.on(one.walker.from()))
	one.looks.hooks["start"], one.looks.ways["way"], one.looks.met[Meeting{"start", "db", Told}] = true, true, true
	one.looks.costs.add("start", spent{[]time.Duration{time.Second}, []int{3}})
	one.blocked[Twice] = 2
	one.report = Report{Seed: 7, Walks: 3, Tried: map[string]int{Killed: 2}, Findings: []Finding{{Promise: Killed, Cause: "cause", Steps: []string{"settle"}}}, Lines: []FileLines{{"src/charm.py", []int{1, 2}, []int{2}}}}
	one.looks.lines.recall(one.report.Lines)
	b, err := json.Marshal(one.progress())
	if err != nil {
		t.Fatal(err)
	}
	var p Progress
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	other := &search{Options: Options{Resume: &p}, known: map[string]int{}, blocked: map[string]int{}, looks: newLooks()}
	other.resume(one.world.Subject)
	text := func(c *search) string {
		b, err := json.Marshal([]any{c.progress().Queue, c.progress().Trails, c.blocked, c.report, c.looks.ways, c.looks.hooks, len(c.looks.met), c.looks.lines.files(), c.looks.costs, c.world})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if a, b := text(one), text(other); a != b {
		t.Errorf("it goes on with\n%.2000s\nwant\n%.2000s", b, a)
	}
	// One that ended before it knew the charm's life learns it when it goes on, and says meanwhile what is left.
	one.unlived, one.life = true, World{}
	if b, err = json.Marshal(one.end(time.Now()).Progress); err != nil {
		t.Fatal(err)
	}
	p = Progress{}
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	later := &search{Options: Options{Resume: &p}, known: map[string]int{}, blocked: map[string]int{}, looks: newLooks()}
	if later.resume(one.world.Subject); !later.unlived || len(later.world.Life) > 0 || p.Report.Left[Killed] != len(p.Queue)+1 {
		t.Errorf("it goes on with unlived: %v, %d steps, %d left of %d", later.unlived, len(later.world.Life), p.Report.Left[Killed], len(p.Queue))
	}
	if other.Seed != 7 || other.known["cause"] != 0 || len(other.known) != 1 {
		t.Errorf("seed %d, known %v", other.Seed, other.known)
	}
}

func TestTheLineIsTheCharms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, file string
		line       int
	}{
		{"File \"/a/charm/src/charm.py\", line 3, in <module>\nFile \"/a/charm/venv/ops/main.py\", line 9, in main\nFile \"/a/charm/src/charm.py\", line 41, in _on\nFile \"/a/charm/venv/ops/model.py\", line 8, in get", "src/charm.py", 41},
		{"  ./src/market/src/charm.py:287, in <module>\n    ops.main(X)\n  ./market/venv/lib/ops/charm.py:1652, in _evaluate\n  ./market/src/charm.py:280, in _on", "src/charm.py", 280},
		{"File \"/a/charm/src/charm.py\", line 3, in <module>\nFile \"/a/charm/lib/charms/x/v0/x.py\", line 41, in _on", "src/charm.py", 3},
		{"File \"/a/charm/lib/charms/x/v0/x.py\", line 41, in _on", "lib/charms/x/v0/x.py", 41},
		{"nothing of the kind", "", 0},
	} {
		if file, line := lineOf(c.text); file != c.file || line != c.line {
			t.Errorf("%s:%d, want %s:%d", file, line, c.file, c.line)
		}
	}
}

// TestACharmIsToldFromOthers: by its files, but for tests and what tools leave, and by flags.
func TestACharmIsToldFromOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	of := func(flags ...string) string {
		var s Subject
		if err := s.Identify([]string{dir, filepath.Join(dir, "metadata.yaml")}, flags, []string{filepath.Join(dir, "check.json"), ""}); err != nil {
			t.Fatal(err)
		}
		return s.Digest
	}
	write("metadata.yaml", "name: shop\n")
	write("src/charm.py", "pass\n")
	first := of("a")
	for _, name := range []string{"tests/check.txtar", ".git/HEAD", ".coverage", "check.json", "src/__pycache__/charm.pyc"} {
		if write(name, "other"); of("a") != first {
			t.Errorf("%s is taken for a part of the charm", name)
		}
	}
	if of("b") == first {
		t.Error("flags make no difference")
	}
	if write("src/charm.py", "fail\n"); of("a") == first {
		t.Error("the charm's code makes no difference")
	}
}

func TestWhatFailsOnATourIsBlamedOnWhatWasDone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lines, want string }{
		{"deploy x\nsettle\nadvance 6m\nsettle", UpdateStatus},
		{"deploy x\nsettle\nadvance --skip-update-status 800h\nsettle", AMonth},
		{"deploy x\nrefresh x\nsettle", Upgrade},
		{"stub other-db db:sql:provider\nintegrate shop:db other-db\nsettle", OrderOfRelations},
		{"settle", OrderOfRelations},
		{"remove-application shop\nsettle\nstatus\n! stdout shop", Removal},
	} {
		if got := world().blamed(strings.Split(c.lines, "\n")); got != c.want {
			t.Errorf("%q: %s, want %s", c.lines, got, c.want)
		}
	}
}
