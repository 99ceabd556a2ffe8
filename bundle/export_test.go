package bundle_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/bundle"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// pictured is a picture of applications, each with units on machines, and of relations.
func pictured(apps []state.ApplicationView, relations ...[2]string) bundle.Picture {
	p := bundle.Picture{Status: &state.FullStatus{Applications: apps}, Config: map[string]state.ApplicationConfig{}}
	machines := map[string]bool{}
	for _, app := range apps {
		p.Config[app.Name] = state.ApplicationConfig{}
		for _, u := range app.Units {
			machines[u.Machine] = true
		}
	}
	for id := range 100 {
		if id := fmt.Sprint(id); machines[id] {
			p.Status.Machines = append(p.Status.Machines, state.MachineView{MachineDoc: state.MachineDoc{ID: id}})
		}
	}
	for i, r := range relations {
		doc := state.RelationDoc{ID: model.RelationID(i)}
		for _, end := range r {
			name, endpoint, _ := strings.Cut(end, ":")
			doc.Endpoints = append(doc.Endpoints, model.Endpoint{Application: name, Name: endpoint})
		}
		p.Status.Relations = append(p.Status.Relations, doc)
	}
	return p
}

// application is one with units on machines.
func application(name, base string, machines ...string) state.ApplicationView {
	v := state.ApplicationView{ApplicationDoc: state.ApplicationDoc{Name: name, Charm: "local:" + name + "-0", Base: base}}
	v.CharmDoc.Charm.Name = name
	for i, id := range machines {
		v.Units = append(v.Units, state.UnitView{UnitDoc: state.UnitDoc{Name: model.NewUnitName(name, i), Machine: id}})
	}
	return v
}

// TestTheBaseOfABundle: one that all have is said once; of several, each that isn't the
// model's, or the newest.
func TestTheBaseOfABundle(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, model, bases, want string }{
		{"nobody says any", "", "-", "ubuntu@24.04/stable"},
		{"the model does", "ubuntu@22.04", "-", "ubuntu@22.04/stable"},
		{"all have the same", "ubuntu@22.04", "ubuntu@20.04 ubuntu@20.04 -", "ubuntu@20.04/stable"},
		{"several", "", "ubuntu@20.04 ubuntu@24.04 -", "ubuntu@24.04/stable a:ubuntu@20.04/stable"},
		{"several, and the model's is one", "ubuntu@20.04", "ubuntu@20.04 ubuntu@24.04", "ubuntu@20.04/stable b:ubuntu@24.04/stable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var apps []state.ApplicationView
			for i, base := range strings.Fields(test.bases) {
				apps = append(apps, application(string(rune('a'+i)), strings.TrimPrefix(base, "-")))
			}
			p := pictured(apps)
			if test.model != "" {
				p.Base, _ = model.ParseBase(test.model)
			}
			text, err := bundle.Export(p, bundle.ExportOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			app := ""
			for line := range strings.Lines(text) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				switch {
				case key == "default-base":
					got = append(got, value)
				case key == "base":
					got = append(got, app+":"+value)
				case strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   "):
					app = strings.TrimSuffix(key, ":")
				}
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("got %s, want %s\n%s", got, test.want, text)
			}
		})
	}
}

// TestACharmOfAHubIsNamedAsThere, with its channel and its revision.
func TestACharmOfAHubIsNamedAsThere(t *testing.T) {
	t.Parallel()
	app := application("a", "")
	app.ApplicationDoc.Charm, app.CharmDoc.Revision = "ch:amd64/ledger-41", 41
	app.Hub = &state.Hub{Name: "ledger", Channel: "latest/stable"}
	text, err := bundle.Export(pictured([]state.ApplicationView{app}), bundle.ExportOptions{})
	if want := "    charm: ledger\n    channel: latest/stable\n    revision: 41\n"; err != nil || !strings.Contains(text, want) {
		t.Errorf("%v, got\n%s", err, text)
	}
}

// TestConstraintsOfABundle: they have names, sizes and an order of their own.
func TestConstraintsOfABundle(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "mem=4G": "mem=4096", "cores=2 arch=arm64 mem=1G": "arch=arm64 cpu-cores=2 mem=1024",
		"zones=a,b tags=x,^y root-disk-source=p root-disk=8G container=lxd": "root-disk=8192 container=lxd tags=x,^y zones=a,b root-disk-source=p",
		`instance-type=a\ b arch=`: `arch= instance-type=a\ b`, "nonsense": "nonsense",
	} {
		app := application("a", "")
		app.Constraints = text
		out, err := bundle.Export(pictured([]state.ApplicationView{app}), bundle.ExportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(out, "    constraints: ")
		if got, _, _ := strings.Cut(after, "\n"); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestWhatGoesIsNotExported: applications, SAAS and relations on their way out, peers, and
// relations with what stands in for an application of another model.
func TestWhatGoesIsNotExported(t *testing.T) {
	t.Parallel()
	going := application("going", "")
	going.Life = model.Dying
	p := pictured([]state.ApplicationView{application("a", "", "0"), application("b", ""), going},
		[2]string{"a:db", "b:db"}, [2]string{"a:log", "b:log"}, [2]string{"a:db", "going:db"}, [2]string{"a:db", "remote-0123:db"}, [2]string{"kv:db", "a:kv"}, [2]string{"old:db", "a:kv"})
	p.Status.Relations[1].Life = model.Dying
	p.Status.Relations = append(p.Status.Relations, state.RelationDoc{Endpoints: []model.Endpoint{{Application: "a", Name: "peers"}}})
	p.Status.SAAS = []state.SAASView{{SAASDoc: state.SAASDoc{Name: "kv", URL: "unitd:admin/m.kv"}}, {SAASDoc: state.SAASDoc{Name: "old", URL: "unitd:admin/m.old", Life: model.Dying}}}
	text, err := bundle.Export(p, bundle.ExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := `default-base: ubuntu@24.04/stable
saas:
  kv:
    url: unitd:admin/m.kv
applications:
  a:
    charm: local:a-0
    num_units: 1
    to:
    - "0"
  b:
    charm: local:b-0
    num_units: 0
machines:
  "0": {}
relations:
- - a:db
  - b:db
- - a:kv
  - kv:db
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestWhatIsExportedIsReadAgain: whatever texts a model has, Parse reads of the bundle what
// was in the picture, and comparing both finds nothing.
func TestWhatIsExportedIsReadAgain(t *testing.T) {
	t.Parallel()
	texts := rapid.MapOfN(rapid.StringMatching(`[a-z][a-z0-9-]{0,5}`), rapid.OneOf(
		rapid.String(), rapid.SampledFrom([]string{"", "~", "null", "yes", "1e3", "0x1F", "1:20", "- a", "# b", "a: b", "|", "two\nlines\n", " x", "'", "\"", "{}", "2001-01-01"}),
	), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		var apps []state.ApplicationView
		set := map[string]map[string]string{}
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,6}`), 1, 4, rapid.ID[string]).Draw(t, "names") {
			machines := rapid.SliceOfN(rapid.SampledFrom([]string{"0", "1", "2", "10"}), 0, 3).Draw(t, "machines")
			app := application(name, rapid.SampledFrom([]string{"", "ubuntu@22.04", "ubuntu@24.04"}).Draw(t, "base"), machines...)
			app.Constraints = rapid.SampledFrom([]string{"", "mem=4096M", "arch=amd64 cores=2"}).Draw(t, "constraints")
			app.Trust, app.Exposed = rapid.Bool().Draw(t, "trust"), rapid.Bool().Draw(t, "exposed")
			if app.Exposed && rapid.Bool().Draw(t, "by endpoints") {
				app.ExposedEndpoints = map[string]state.ExposedTo{"": {}, "db": {CIDRs: []string{"10.0.0.0/8"}, Spaces: []string{"alpha"}}}
			}
			app.Annotations = texts.Draw(t, "annotations")
			app.CharmDoc.Charm.Options = map[string]model.ConfigOption{}
			set[name] = texts.Draw(t, "options")
			for option := range set[name] {
				app.CharmDoc.Charm.Options[option] = model.ConfigOption{Type: "string"}
			}
			apps = append(apps, app)
		}
		slices.SortFunc(apps, func(a, b state.ApplicationView) int { return strings.Compare(a.Name, b.Name) })
		p := pictured(apps, [2]string{apps[0].Name + ":db", apps[len(apps)-1].Name + ":log"})
		for name, options := range set {
			values := map[string]any{}
			for k, v := range options {
				values[k] = v
			}
			p.Config[name] = state.ApplicationConfig{Set: values}
		}
		text, err := bundle.Export(p, bundle.ExportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := bundle.Parse("b.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for i, app := range b.Applications {
			was := apps[i]
			if app.Name != was.Name || app.Charm.URL != was.ApplicationDoc.Charm || app.Units != len(was.Units) || app.Constraints != was.Constraints {
				t.Fatalf("%+v was %+v\n%s", app, was, text)
			}
			if len(app.Set)+len(set[app.Name]) > 0 && !reflect.DeepEqual(app.Set, set[app.Name]) {
				t.Fatalf("options %q were %q\n%s", app.Set, set[app.Name], text)
			}
			if len(app.Annotations)+len(was.Annotations) > 0 && !reflect.DeepEqual(app.Annotations, was.Annotations) {
				t.Fatalf("annotations %q were %q\n%s", app.Annotations, was.Annotations, text)
			}
			if (app.Trust != nil) != was.Trust || !reflect.DeepEqual(app.ExposedTo, was.ExposedEndpoints) {
				t.Fatalf("%+v was %+v\n%s", app, was, text)
			}
		}
		differences, warnings, err := bundle.Diff(bundle.Compared{Bundle: b, Annotations: true}, p)
		if err != nil || differences != "{}\n" || len(warnings) > 0 {
			t.Fatalf("%s%v%v\n%s", differences, warnings, err, text)
		}
	})
}

// flow is YAML in a line, with its keys in their order.
func flow(t *testing.T, text string) string {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	var write func(n *yaml.Node) string
	write = func(n *yaml.Node) string {
		var parts []string
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i < len(n.Content); i += 2 {
				parts = append(parts, write(n.Content[i])+": "+write(n.Content[i+1]))
			}
			return "{" + strings.Join(parts, ", ") + "}"
		case yaml.SequenceNode:
			for _, c := range n.Content {
				parts = append(parts, write(c))
			}
			return "[" + strings.Join(parts, ", ") + "]"
		}
		if n.Style == yaml.DoubleQuotedStyle {
			return `"` + n.Value + `"`
		}
		return n.Value
	}
	var parts []string
	top := doc.Content[0]
	for i := 0; i < len(top.Content); i += 2 {
		parts = append(parts, write(top.Content[i])+": "+write(top.Content[i+1]))
	}
	if len(parts) == 0 {
		return "{}"
	}
	return strings.Join(parts, "; ")
}
