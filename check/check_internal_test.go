package check

import (
	"archive/zip"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
)

func shop() Subject {
	return Subject{
		Charm: model.Charm{
			Name: "shop",
			Endpoints: map[string]model.CharmRel{
				"db":   {Role: model.Requirer, Interface: "sql", Scope: model.Global},
				"web":  {Role: model.Provider, Interface: "http", Scope: model.Global},
				"all":  {Role: model.Peer, Interface: "all", Scope: model.Global},
				"host": {Role: model.Requirer, Interface: "juju-info", Scope: model.Container},
			},
			Options:    map[string]model.ConfigOption{"port": {Type: "int", Default: int64(80)}, "title": {Type: "string", Default: "it's"}, "on": {Type: "boolean"}, "key": {Type: "secret"}, "mode": {Type: "string"}},
			Actions:    map[string]model.ActionSpec{"sell": {Params: map[string]any{"required": []any{"what"}, "properties": map[string]any{"what": map[string]any{"type": "string"}}}}},
			Storage:    map[string]model.StorageSpec{"disk": {CountMin: 0, CountMax: 1}, "own": {CountMin: 1, CountMax: 1}},
			Containers: map[string]model.ContainerSpec{"work": {}},
		},
		Values: map[string][]string{"mode": {"fast", "slow"}},
		Dir:    "/charm", Words: []string{"host", "port", "password", "token"}, Numbers: []int64{9, 65535},
	}
}

func world() World {
	w := World{Subject: shop(), Endpoints: shop().endpoints(), Actions: []string{"sell what=what-1"}, More: []string{"sell what=what-2"}, Trusted: []string{"key"}}
	w.Endpoints[0].Keys[3].Kind = Secret
	w.Life = w.life()
	for i := range w.Life {
		w.Hooks = append(w.Hooks, Seen{i, "config-changed", []string{"config-get", "status-set"}})
	}
	w.Hooks = append(w.Hooks, Seen{0, "install", nil}, Seen{3, "upgrade-charm", []string{"status-set"}})
	return w
}

// TestProbesAreWhole: each promise has some, and none names a variable, snapshot or mark that it
// doesn't have.
func TestProbesAreWhole(t *testing.T) {
	t.Parallel()
	var names []string
	for _, p := range Promises() {
		names = append(names, p.Name)
		if makers[p.Name] == nil {
			t.Errorf("%s has no probes", p.Name)
		}
	}
	seen := map[string]bool{}
	for _, p := range probes(world(), names, rand.New(rand.NewPCG(1, 0))) {
		seen[p.promise] = true
		lines := append(slices.Clone(p.setUp), p.lines()...)
		if !closed(lines) {
			t.Errorf("%s lacks something:\n%s", p.promise, strings.Join(lines, "\n"))
		}
	}
	for _, name := range names {
		if !seen[name] {
			t.Errorf("nothing is tried of %s", name)
		}
	}
}

func TestTheSameSeedTriesTheSame(t *testing.T) {
	t.Parallel()
	text := func(seed uint64) string {
		var b strings.Builder
		for _, p := range probes(world(), []string{Killed, WrongConfig, OrderOfRelations}, rand.New(rand.NewPCG(seed, 0))) {
			b.WriteString(strings.Join(p.lines(), "\n"))
		}
		return b.String()
	}
	first, again := text(1), text(1)
	if first != again {
		t.Error("a seed tries one thing and then another")
	}
	if first == text(2) {
		t.Error("seeds make no difference")
	}
}

func TestAProbeGoesOnWithoutThePartThatFailed(t *testing.T) {
	t.Parallel()
	p := probe{parts: [][]string{{"a", "b"}, {"c"}}, end: []string{"d"}}
	rest, ok := p.without(1)
	if !ok || strings.Join(rest.lines(), "") != "cd" {
		t.Errorf("without the first part: %v %v", rest.lines(), ok)
	}
	if _, ok := rest.without(0); ok {
		t.Error("nothing is left, and it goes on")
	}
	if _, ok := p.without(3); ok {
		t.Error("the end is no part")
	}
}

func TestWordsAreFoundInCode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"src/charm.py": "x = relation.data[unit]\nhost = x[\"host\"]\nport = x.get('port')\n# x['comment']\nif n > 65535: pass\nlog('Some text.')\n",
		"venv/ops.py":  "d['ops-own']",
		"lib/y.py":     "z = 12345\n",
		"actions/act":  "if n > 77: pass\n",
		"reactive/a":   "if n > 88: pass\n",
		"README.md":    "['readme']",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packed := filepath.Join(t.TempDir(), "x.charm")
	file, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(file)
	if err := cmp.Or(w.AddFS(os.DirFS(dir)), w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	for _, charm := range []string{dir, packed} {
		var s Subject
		if err := s.ReadConstants(charm); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.Words, " "); got != "host port" {
			t.Errorf("%s: words: %s", charm, got)
		}
		if !slices.Equal(s.Numbers, []int64{77, 88, 65535}) {
			t.Errorf("%s: numbers: %d", charm, s.Numbers)
		}
	}
}

func TestWhatHappened(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ line, why, what, cause string }{
		{
			"settle", `shop/0: hook failed: "config-changed" (exit status 1: ValueError: bad port 70000); it waits to be resolved`,
			"config-changed: ValueError: bad port 70000", "error: ValueError: bad port N",
		},
		{"settle", `shop/0: hook failed: "stop" for pg:db (exit status 3: ); it waits to be resolved`, "stop fails", "error: stop fails"},
		{
			"same one", "not as at mark \"one\":\n~ file shop/0 /etc/x: -rw-r--r--, 3 bytes, 0a1b2c3d -> -rw-r--r--, 4 bytes, ffffffff\n+ more",
			"~ file shop/0 /etc/x: -rw-r--r-- -> -rw-r--r--", "killed: same: ~ file shop/N /etc/x: -rw-r--r-- -> -rw-r--r--",
		},
		{
			"settle", `shop/0: hook failed: "start" (exit status 1: at 0x7f9a4c0d3e80 of 0a1b2c3d-0000-4000-8000-abcdefabcdef: no /tmp/tmpk3j2l1xx/a: 9m4e2mr0ui3e8a215n4g); it waits to be resolved`,
			"start: at 0x7f9a4c0d3e80 of 0a1b2c3d-0000-4000-8000-abcdefabcdef: no /tmp/tmpk3j2l1xx/a: 9m4e2mr0ui3e8a215n4g", "error: at N of N: no /tmp/…: N",
		},
		{
			"same one", "not as at mark \"one\":\n~ databag db app/0 password =: a -> b", "~ databag db app/0 password =: a -> b",
			"killed: same: ~ databag db app/N password =",
		},
		{"! stdout x", "it was printed: x 12", "it was printed: x 12", "killed: stdout: it was printed: x N"},
	} {
		what, cause := whatHappened(Killed, &failed{line: test.line, why: test.why})
		if what != test.what || cause != test.cause {
			t.Errorf("%s\n%q\n%q", test.why, what, cause)
		}
	}
}

func TestLinesLackNothing(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]bool{
		"deploy $SCRIPT_DIR/.. x;settle":                   true,
		"capture URI;stub-set a/0 k=$URI":                  true,
		"stub-set a/0 k=$URI":                              false,
		"snapshot a;restore a":                             true,
		"restore a":                                        false,
		"mark a;same --but files a x/1=x/0":                true,
		"snapshot a;same a":                                false,
		"! same a":                                         false,
		"deploy $FORMER x;refresh x --path $SCRIPT_DIR/..": true,
	} {
		if got := closed(strings.Split(lines, ";")); got != want {
			t.Errorf("%s: %v", lines, got)
		}
	}
}

func TestAFindingIsKept(t *testing.T) {
	t.Parallel()
	f := Finding{Promise: NoSecretsShown, What: "it was printed: shop/0 log", Steps: []string{
		"deploy $SCRIPT_DIR/.. shop", "add-secret a-b k={x}", "capture A_B", "stub-set pg/0 k=$A_B w='two words'", "! settle", "search hush", `! stdout ' (log|[{]status)( |$)'`,
	}}
	want := `said = unitd.do("deploy", CHARM, "shop")`
	text := f.Pytest("")
	for _, want := range []string{
		"CHARM = Path(__file__).parent.parent\n\n\n@pytest.mark.unitd(isolate=\"on\")\ndef test_no_secrets_shown_it_was_printed_shop_0_log(unitd):\n",
		`said = unitd.do("add-secret", "a-b", "k={x}")`, "a_b = said.strip()", `said = unitd.do("stub-set", "pg/0", f"k={a_b}", "w=two words")`,
		"with pytest.raises(CommandError):\n        unitd.do(\"settle\")", `assert not re.search(" (log|[{]status)( |$)", said, re.MULTILINE)`,
		"from unitd import CommandError\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %s:\n%s", want, text)
		}
	}
	if !strings.Contains(text, strings.Replace(want, "CHARM", `f"{CHARM}"`, 1)) {
		t.Errorf("it lacks the charm:\n%s", text)
	}
	f.Steps = append([]string{"deploy $FORMER shop"}, f.Steps[:1]...)
	if text := f.Pytest("/it/was"); !strings.Contains(text, "FORMER = Path(\"/it/was\")\n\n\n@") || strings.Contains(text, "import re\n") || strings.Contains(text, "CommandError") {
		t.Error(text)
	}
	if text := f.Scenario(""); !strings.Contains(text, "\n\nenv FORMER=$SCRIPT_DIR/..\ndeploy $FORMER shop\n") {
		t.Error(text)
	}
	if script, test := f.Scenario("../../was"), f.Pytest("../../was"); !strings.Contains(script, "\nenv FORMER=$SCRIPT_DIR/../../was\n") || !strings.Contains(test, "\nFORMER = Path(__file__).parent / \"../../was\"\n") {
		t.Error(script, test)
	}
	f.Failed, f.Tried = 1, 3
	for _, text := range []string{f.Scenario(""), f.Pytest("")} {
		if want := "# The scenario doesn't always fail: it failed in 1 of 3 runs.\n"; !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	dir := t.TempDir()
	r := Report{Findings: []Finding{f}}
	for _, n := range []int{2, 0} { // nothing is overwritten
		if names, err := r.Keep(dir, ""); err != nil || len(names) != n {
			t.Errorf("it has written %v, %v", names, err)
		}
	}
}

func TestTheFormsOfAReport(t *testing.T) {
	t.Parallel()
	r := Report{Charm: "shop", Tried: map[string]int{Killed: 3, Settles: 2}, Findings: []Finding{{Promise: Killed, What: "a < b", Cause: "c", Steps: []string{"settle"}, Failed: 2, Tried: 3}}}
	junit, err := r.JUnit()
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	if err := xml.Unmarshal(junit, &suite); err != nil || suite.Tests != len(Promises()) || suite.Failures != 1 || suite.Skipped != len(Promises())-2 {
		t.Errorf("%v %+v: %s", err, suite, junit)
	}
	sarif, err := r.SARIF("1", "my charm", "src/charm.py")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
			}
		}
	}
	if want := `"text": "a < b\nThe scenario doesn't always fail: it failed in 2 of 3 runs.\n\nsettle"`; !strings.Contains(string(sarif), want) {
		t.Errorf("it lacks %s: %s", want, sarif)
	}
	if want := `"uri": "my%20charm/src/charm.py"`; !strings.Contains(string(sarif), want) {
		t.Errorf("it lacks %s: %s", want, sarif)
	}
	if err := json.Unmarshal(sarif, &doc); err != nil || doc.Runs[0].Tool.Driver.Rules[doc.Runs[0].Results[0].RuleIndex].ID != Killed {
		t.Errorf("%v: %s", err, sarif)
	}
	fresh := r.New(Report{Findings: []Finding{{Cause: "c"}}})
	if len(fresh.Known) != 1 || len(fresh.Findings) != 0 || len(r.Findings) != 1 {
		t.Errorf("%d known, %d new", len(fresh.Known), len(fresh.Findings))
	}
	if got := fresh.Standing(Killed); got != Broken {
		t.Errorf("a promise that is known to be broken is %s", got)
	}
	var out strings.Builder
	if err := r.Write(&out); err != nil || !strings.Contains(out.String(), "failed 2 times of 3") {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestAReportSaysWhatOfTheNetworkThereWas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   Report
		want string
	}{
		{Report{Fetched: 0}, ""},
		{Report{Closed: true}, ""},
		{Report{Closed: true, Fetched: 1_250_000}, "Network: only the first unit could reach beyond this host, and fetched 1.2 MB for all (--net opens it)\n"},
		{Report{Closed: true, Findings: []Finding{{Promise: Killed}}}, "Network: units could reach nothing beyond this host (--net opens it)\n"},
	} {
		var b strings.Builder
		if err := c.of.Write(&b); err != nil || !strings.Contains(b.String(), c.want) || c.want == "" && strings.Contains(b.String(), "Network") {
			t.Errorf("%v: %s, want %q", err, b.String(), c.want)
		}
	}
}

// TestDeedsStay: a scenario isn't made shorter by what its claim is about.
func TestDeedsStay(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"deploy x;settle;config x a=b;settle":                                              "0000",
		"deploy x;settle;remove-application x;settle;status;! stdout x":                    "001110",
		"deploy x;mark a;config x a=b;settle;config x --reset a;settle;same a":             "0000110",
		"deploy x;snapshot a;config x a=b;settle;mark b;restore a;config x a=b;same b":     "01111111",
		"deploy x;stub-leave y/0;settle;search text;! stdout file":                         "01110",
		"deploy x;mark a;remove-relation x y;settle;remove-application y;settle;same a":    "0011000",
		"deploy x;mark a;remove-relation x y;settle;remove-application x;settle;same a":    "0011110",
		"deploy x;stub-leave y/0;settle":                                                   "000",
		"deploy x;kill-agent at ended x/0 start;restart-agent;advance 10m;settle;! same a": "011110",
	} {
		got := ""
		for _, is := range needed(strings.Split(lines, ";")) {
			got += map[bool]string{true: "1", false: "0"}[is]
		}
		if got != want {
			t.Errorf("%s: %s, not %s", lines, got, want)
		}
	}
}

// TestSecretsHaveOnlyKeysThatTheyMayHave: words of two letters are none.
func TestSecretsHaveOnlyKeysThatTheyMayHave(t *testing.T) {
	t.Parallel()
	e := Endpoint{Name: "seal", Keys: []Key{{Name: "token", Kind: Secret}}}
	for _, name := range []string{"de", "a", "user", "top-secret", "a--b", "b-", "stock.json", "x_y", "key2"} {
		e.Keys = append(e.Keys, Key{Name: name, Kind: Word})
	}
	var got []string
	for _, word := range split(World{}.secret("add-secret", e, e.Keys[0], "first"))[2:] {
		name, _, _ := strings.Cut(word, "=")
		got = append(got, name)
	}
	if want := []string{"token", "user", "top-secret", "key2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
