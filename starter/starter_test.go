package starter_test

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/starter"
)

// TestFiles: what the first tests have, by what a charm has.
func TestFiles(t *testing.T) {
	t.Parallel()
	endpoints := func(role model.Role, iface string, scope model.Scope) map[string]model.CharmRel {
		return map[string]model.CharmRel{"my-db": {Role: role, Interface: iface, Scope: scope}}
	}
	for _, test := range []struct {
		name         string
		charm        model.Charm
		want, hasNot []string // of the scenario
		python       []string
	}{
		{"nothing but a name", model.Charm{}, []string{"deploy $SCRIPT_DIR/.. app\nsettle\nhooks app/0\n"}, []string{"stub", "config", "run ", "skip"},
			[]string{"unitd.deploy(CHARM, \"app\")\n", "def test_it_comes_up(unitd):"}},
		{"what it requires is provided", model.Charm{Endpoints: endpoints(model.Requirer, "kv", model.Global)},
			[]string{"stub other-my-db my-db:kv:provider\nintegrate app:my-db other-my-db:my-db\nsettle\n"}, nil, []string{"def test_it_is_related_by_my_db(unitd):", `unitd.stub("other-my-db", "my-db:kv:provider")`}},
		{"what it provides is required", model.Charm{Endpoints: endpoints(model.Provider, "kv", model.Global)}, []string{"my-db:kv:requirer"}, nil, nil},
		{"peers are by themselves", model.Charm{Endpoints: endpoints(model.Peer, "kv", model.Global)}, nil, []string{"stub"}, nil},
		{"a subordinate has a principal", model.Charm{Subordinate: true, Endpoints: endpoints(model.Requirer, "kv", model.Container)},
			[]string{"deploy ./principal\nintegrate app:my-db principal\n", "-- principal/metadata.yaml --\nname: principal\nprovides: {host: {interface: kv, scope: container}}\n"}, []string{"stub"},
			[]string{"num_units=0", "def test_it_comes_up(unitd, tmp_path):"}},
		{"by juju-info too", model.Charm{Subordinate: true, Endpoints: endpoints(model.Requirer, "juju-info", model.Container)},
			[]string{"integrate app:my-db principal\n", "name: principal\n"}, []string{"provides"}, nil},
		{"the first option with a default", model.Charm{Options: map[string]model.ConfigOption{"a": {Type: "int"}, "b": {Type: "string", Default: "it's"}, "c": {Type: "int", Default: int64(7)}}},
			[]string{"config app 'c=7'\nsettle\n"}, nil, nil},
		{"actions are named", model.Charm{Actions: map[string]model.ActionSpec{"dump": {}}}, []string{"\n# run app/0 dump\n"}, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.charm.Name = "app"
			files := starter.Files(test.charm, "1.2.0")
			for _, want := range test.want {
				if !strings.Contains(files[0].Text, want) {
					t.Errorf("no %q in\n%s", want, files[0].Text)
				}
			}
			for _, not := range test.hasNot {
				if strings.Contains(files[0].Text, "\n"+not) {
					t.Errorf("%q in\n%s", not, files[0].Text)
				}
			}
			for _, want := range test.python {
				if !strings.Contains(files[1].Text, want) {
					t.Errorf("no %q in\n%s", want, files[1].Text)
				}
			}
			var workflow map[string]any
			if err := yaml.Unmarshal([]byte(files[2].Text), &workflow); err != nil || workflow["jobs"] == nil || !strings.Contains(files[2].Text, "uses: unitd/unitd@v1.2.0\n") {
				t.Errorf("the workflow is %v, %v", workflow, err)
			}
		})
	}
}
