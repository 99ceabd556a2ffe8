package bundle_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/bundle"
)

func TestParse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "motd"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Parse(filepath.Join(dir, "b.yaml"), []byte(`
name: everything
description: all that a bundle may say
default-base: ubuntu@24.04
applications:
  shop:
    charm: ./shop
    num_units: 3
    expose: true
    trust: true
    constraints: mem=4G
    bindings: {"": alpha}
    options: {port: 8080, title: "Shop", rate: 1e3, on: true, none: null, motd: include-file://motd, enc: include-base64://motd}
  ledger: {charm: /srv/ledger.charm, scale: 0}
  logger: {charm: local:../logger}
relations:
- [shop:db, ledger:db]
- ["logger", ["shop", "ledger"]]
`))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range b.Applications {
		names = append(names, a.Name)
	}
	if !slices.Equal(names, []string{"shop", "ledger", "logger"}) {
		t.Errorf("applications %v, want the order of the file", names)
	}
	shop := b.Applications[0]
	if shop.Charm.Path != filepath.Join(dir, "shop") || shop.Units != 3 || shop.Constraints != "mem=4096M" {
		t.Errorf("%+v", shop)
	}
	for k, want := range map[string]string{"port": "8080", "title": "Shop", "rate": "1e3", "on": "true", "motd": "hello\n", "enc": "aGVsbG8K"} {
		if got := shop.Set[k]; got != want {
			t.Errorf("option %s is %q, want %q", k, got, want)
		}
	}
	if _, ok := shop.Set["none"]; ok {
		t.Error("an option that is null was set")
	}
	if ledger := b.Applications[1]; ledger.Charm.Path != "/srv/ledger.charm" || ledger.Units != 0 {
		t.Errorf("%+v", ledger)
	}
	if logger := b.Applications[2]; logger.Charm.Path != filepath.Join(filepath.Dir(dir), "logger") || logger.Units != -1 {
		t.Errorf("%+v", logger)
	}
	if want := [][2]string{{"shop:db", "ledger:db"}, {"logger", "shop"}, {"logger", "ledger"}}; !slices.Equal(b.Relations, want) {
		t.Errorf("relations %v, want %v", b.Relations, want)
	}
	if want := []string{"constraints", "bindings"}; !slices.Equal(b.Ignored, want) {
		t.Errorf("ignored %v, want %v", b.Ignored, want)
	}
}

func TestWhatIsNotSaidIsToldFromFalse(t *testing.T) {
	t.Parallel()
	said := func(b *bool) string {
		if b == nil {
			return "not said"
		}
		return strconv.FormatBool(*b)
	}
	for _, test := range []struct{ name, keys, want string }{
		{"nothing", "", "not said, not said"},
		{"true", ", trust: true, expose: true", "true, true"},
		{"false", ", trust: false, expose: false", "false, false"},
		{"one of the two", ", expose: true", "not said, true"},
		{"null", ", trust: null, expose: ", "not said, not said"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b, err := bundle.Parse("b.yaml", []byte("applications: {a: {charm: ./a"+test.keys+"}}"))
			if err != nil {
				t.Fatal(err)
			}
			if got := said(b.Applications[0].Trust) + ", " + said(b.Applications[0].Exposed); got != test.want {
				t.Errorf("trust and expose are %s, want %s", got, test.want)
			}
		})
	}
}

func TestBadBundlesSayWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, content, want string }{
		{"nothing", "", "b.yaml: malformed bundle: bundle is empty not valid"},
		{"not YAML", "a: b: c", "b.yaml: mapping values are not allowed in this context"},
		{"a list", "- a", "b.yaml:1: bundle: expected a map"},
		{"no applications", "relations: []", "b.yaml:1: applications: the bundle has none"},
		{"an unknown key", "aplications: {}", "b.yaml:1: aplications: not known in a bundle here"},
		{"an unknown key of an application", "applications:\n  a: {charm: ./a, unit: 1}", "b.yaml:2: a.unit: not known in a bundle here"},
		{"a key twice", "applications:\n  a: {charm: ./a}\n  a: {charm: ./a}", "b.yaml:3: a: given twice"},
		{"a bad name", "applications:\n  A_b: {charm: ./a}", `b.yaml:2: A_b: invalid application name "A_b"`},
		{"no charm", "applications:\n  a: {num_units: 1}", "b.yaml:2: a.charm: no charm specified"},
		{"no body", "applications:\n  a: {}", `b.yaml:2: base application "a" has no body`},
		{"a charm with its revision in its name", "applications:\n  a: {charm: ledger-41}", `b.yaml:2: a.charm: cannot specify revision in "ch:ledger-41", please use revision`},
		{"a revision without a channel", "applications:\n  a: {charm: ledger, revision: 41}", `b.yaml:2: application "a" with a revision requires a channel for future upgrades, please use channel`},
		{"a revision that is none", "applications:\n  a: {charm: ledger, channel: stable, revision: new}", `b.yaml:2: a.revision: expected a revision, got "new"`},
		{"a charm that is no word", "applications:\n  a: {charm: a b}", `b.yaml:2: a.charm: "a b" is neither a path, as ./ledger, nor the name of a charm`},
		{"offers", "applications:\n  a: {charm: ./a, offers: {o: {endpoints: [db]}}}", `b.yaml:2: applications.a.offers can only appear in an overlay section`},
		{"exposed endpoints", "applications:\n  a:\n    charm: ./a\n    exposed-endpoints: {db: {}}", `b.yaml:4: applications.a.exposed-endpoints can only appear in an overlay section`},
		{"a base that is none", "applications:\n  a: {charm: ./a, base: noble}", `b.yaml:2: a.base: base "noble" is not valid: expected it as ubuntu@24.04`},
		{"storage that is none", "applications:\n  a: {charm: ./a, storage: {data: \"1G,2G\"}}", `b.yaml:2: a.storage.data: "1G,2G": a pool, a count and a size can be given once each`},
		{"a SAAS without a URL", "applications:\n  a: {charm: ./a}\nsaas:\n  db: {}", `b.yaml:4: db.url: no offer URL specified`},
		{"units that are no number", "applications:\n  a: {charm: ./a, num_units: many}", `b.yaml:2: a.num_units: expected a number of units, got "many"`},
		{"fewer units than none", "applications:\n  a: {charm: ./a, num_units: -1}", `b.yaml:2: a.num_units: expected a number of units, got "-1"`},
		{"more units than anybody means", "applications:\n  a: {charm: ./a, num_units: 1001}", "b.yaml:2: a.num_units: at most 1000 units are added at once, got 1001"},
		{"two numbers of units", "applications:\n  a: {charm: ./a, num_units: 1, scale: 2}", "b.yaml:2: a.scale: num_units and scale say different numbers, 1 and 2: leave one out"},
		{"an option that is a list", "applications:\n  a: {charm: ./a, options: {o: [1]}}", "b.yaml:2: a.options.o: expected text, a number or a boolean"},
		{"trust that is a word", "applications:\n  a: {charm: ./a, trust: maybe}", `b.yaml:2: a.trust: expected true or false, got "maybe"`},
		{"a relation of one", "applications:\n  a: {charm: ./a}\nrelations: [[a]]", `b.yaml:3: relations: expected pairs, as ["shop:db", "ledger:db"]`},
		{"relations that are a map", "applications:\n  a: {charm: ./a}\nrelations: {a: b}", "b.yaml:3: relations: expected a list"},
		{"a relation of a stranger", "applications:\n  a: {charm: ./a}\nrelations: [[a, b:x]]", `b.yaml: relations: b:x: the bundle has no application "b"`},
		{"a place in a container", "applications:\n  a: {charm: ./a, to: [lxd:0]}\nmachines: {0: }", `b.yaml:2: a.to: "lxd:0": there are no containers (lxd) here; name a machine of the bundle, "new", or a unit`},
		{"a container on a new machine", "applications:\n  a: {charm: ./a, to: lxd}", `b.yaml:2: a.to: "lxd": there are no containers (lxd) here; name a machine of the bundle, "new", or a unit`},
		{"a place in a zone", "applications:\n  a: {charm: ./a, to: zone=b}", `b.yaml:2: a.to: "zone=b" is not a machine of the bundle, "new", an application or a unit`},
		{"places that are a map", "applications:\n  a: {charm: ./a, to: {b: c}}", `b.yaml:2: a.to: expected places, as ["0", new, ledger/0]`},
		{"a machine that isn't there", "applications:\n  a: {charm: ./a, to: 1}\nmachines: {0: }", `b.yaml:2: a.to: the bundle's machines have no "1"`},
		{"a place with a stranger", "applications:\n  a: {charm: ./a, to: b/0}", `b.yaml:2: a.to: b/0: the bundle has no application "b"`},
		{"a place with itself", "applications:\n  a: {charm: ./a, to: a/0}", `b.yaml:2: a.to: "a/0" is of the same application`},
		{"a machine for nobody", "applications:\n  a: {charm: ./a}\nmachines:\n  0: {}", `b.yaml:4: machines.0: no application is placed there`},
		{"a machine with a name", "applications:\n  a: {charm: ./a}\nmachines: {one: }", `b.yaml:3: machines.one: expected a number as the machine's key`},
		{"an unknown key of a machine", "applications:\n  a: {charm: ./a, to: 0}\nmachines: {0: {size: 3}}", `b.yaml:3: machines.0.size: not known in a bundle here`},
		{"a file that isn't there", "applications:\n  a: {charm: ./a, options: {o: include-file:///nowhere/x}}", "b.yaml:2: a.options.o: open /nowhere/x: no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := bundle.Parse("dir/b.yaml", []byte(test.content))
			if err == nil || err.Error() != test.want {
				t.Fatalf("%v\nwant %s", err, test.want)
			}
			if !errors.Is(err, errors.NotValid) || strings.Contains(err.Error(), "\n") {
				t.Errorf("not a NotValid of one line: %#v", err)
			}
		})
	}
}

func TestReadFindsTheBundleInADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := bundle.Read(dir); !errors.Is(err, errors.NotFound) {
		t.Errorf("of an empty directory: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bundle.yaml"), []byte("applications: {a: {charm: ./a}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Read(dir)
	if err != nil || len(b.Applications) != 1 || b.Applications[0].Charm.Path != filepath.Join(dir, "a") {
		t.Errorf("%+v, %v", b, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("applications: {a: {charm: ./a, options: {o: 1}}}\nrelations: [[a, a]]")
	f.Add("applications: &x\n  a: *x")
	f.Add("applications: {a: {charm: ./a, num_units: 3, to: [0, new, b/1]}, b: {charm: ./b, to: 0}}\nmachines: {0: {constraints: mem=1G, annotations: {x: y}}}")
	f.Add("applications: {a: {charm: ./a, to: b}, b: {charm: ./b, to: a}}")
	f.Add("applications: {a: {charm: ./a, options: {o: 1}}, b: {charm: b, channel: x}}\nsaas: {c: {url: m.c}}\nrelations: [[a, [b, c]]]\n---\napplications: {a: {options: {o: {}, p: 2}, offers: {x: {endpoints: [db]}}, exposed-endpoints: {\"\": {expose-to-cidrs: [10.0.0.0/8]}}}, b: }\nrelations: [[a:x, c:y]]\n---\nmachines: {}\nsaas: {c: {}}")
	f.Add("applications: &x {a: &a {charm: ./a}}\n---\napplications: &y {a: *y, b: {charm: ./b}}\nrelations: &r [*r]")
	f.Add("applications: {a: {charm: ./a, to: \"lxd:0, 99999999999, b/007\"}}")
	f.Fuzz(func(t *testing.T, content string) {
		b, err := bundle.Parse("b.yaml", []byte(content))
		if err == nil {
			units := map[string]int{}
			for _, app := range b.Applications {
				units[app.Name] = max(app.Units, 1)
			}
			_, err = b.Places(units)
			if _, oerr := b.Order(); err == nil {
				err = oerr
			}
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of several lines: %q", err)
		}
	})
}
