package bundle_test

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/bundle"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// TestDiff: in what a model differs from a bundle.
func TestDiff(t *testing.T) {
	t.Parallel()
	a := application("a", "ubuntu@22.04", "0", "1")
	a.Exposed, a.Constraints, a.Annotations = true, "mem=1024M", map[string]string{"x": "1"}
	a.CharmDoc.Charm.Options = map[string]model.ConfigOption{"port": {Type: "int"}, "on": {Type: "boolean"}}
	p := pictured([]state.ApplicationView{a, application("b", "", "1")}, [2]string{"b:db", "a:db"})
	p.Config["a"] = state.ApplicationConfig{Set: map[string]any{"port": int64(1)}}
	const same = `
applications:
  a: {charm: local:a-0, num_units: 2, expose: true, constraints: mem=1G, options: {port: 01}, base: ubuntu@22.04}
  b: {charm: local:b-0}
relations: [[b, "a:db"]]
`
	for _, test := range []struct{ name, overlay, want string }{
		{"the same, said otherwise", "", "{}"},
		{"an application that one side lacks", "applications: {b: , c: {charm: local:c-0}}\nrelations: [[a:db, c:db]]",
			`applications: {b: {missing: bundle}, c: {missing: model}}; relations: {bundle-additions: [[a:db, c:db]], model-additions: [[a:db, b:db]]}`},
		{"another charm", "applications: {a: {charm: local:a-1}}", "applications: {a: {charm: {bundle: local:a-1, model: local:a-0}}}"},
		{"a charm of another name", "applications: {a: {charm: ./ax}}", "applications: {a: {charm: {bundle: /ax, model: local:a-0}}}"},
		{"another base", "applications: {a: {base: ubuntu@24.04}}", "applications: {a: {series: {bundle: noble, model: jammy}}}"},
		{"more units", "applications: {a: {num_units: 3}}", "applications: {a: {num_units: {bundle: 3, model: 2}}}"},
		{"not exposed", "applications: {a: {expose: false}}", "applications: {a: {expose: {bundle: false, model: true}}}"},
		{"exposed by endpoints alone", "applications: {a: {exposed-endpoints: {db: {expose-to-cidrs: [10.0.0.0/8]}}}}",
			`applications: {a: {exposed_endpoints: {bundle: {db: {expose-to-cidrs: [10.0.0.0/8]}}, model: null}}}`},
		{"options", "applications: {a: {options: {port: 2, on: true}}}", `applications: {a: {options: {"on": {bundle: true, model: null}, port: {bundle: 2, model: 1}}}}`},
		{"an option that the bundle doesn't set", "applications: {a: {options: {}}}", "applications: {a: {options: {port: {bundle: null, model: 1}}}}"},
		{"constraints", "applications: {b: {constraints: cores=2}}", "applications: {b: {constraints: {bundle: cpu-cores=2, model: null}}}"},
		{"machines, if the bundle has some", "applications: {b: {to: 7}}\nmachines: {7: }", `machines: {"7": {missing: model}, "0": {missing: bundle}, "1": {missing: bundle}}`},
		{"a relation by other endpoints", "applications: {b: }\n---\napplications: {b: {charm: local:b-0}}\nrelations: [[b:log, a:log]]",
			"relations: {bundle-additions: [[a:log, b:log]], model-additions: [[a:db, b:db]]}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b, err := bundle.Parse("/b.yaml", []byte(same), bundle.Source{Path: "/o.yaml", Content: []byte(test.overlay)})
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := bundle.Diff(bundle.Compared{Bundle: b, Names: map[string]string{"a": "ax"}}, p)
			if err != nil || flow(t, got) != test.want {
				t.Errorf("got %s, %v\nwant %s", flow(t, got), err, test.want)
			}
		})
	}
	b, err := bundle.Parse("/b.yaml", []byte(same))
	if err != nil {
		t.Fatal(err)
	}
	got, warnings, err := bundle.Diff(bundle.Compared{Bundle: b, Annotations: true}, p)
	if want := `applications: {a: {annotations: {x: {bundle: null, model: "1"}}}}`; err != nil || flow(t, got) != want {
		t.Errorf("with annotations it is %s, %v\nwant %s", flow(t, got), err, want)
	}
	if got := strings.Join(warnings, "; "); !strings.HasPrefix(got, "relation a:db - b names no endpoints") {
		t.Errorf("warned of %q", got)
	}
}
