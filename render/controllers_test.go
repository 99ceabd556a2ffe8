package render_test

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/render"
)

func madeUpControllers() []render.Controller {
	return []render.Controller{
		{Name: "unitd", UUID: "0f1e", Cloud: "local", Region: "host", Model: "harbour", Models: map[string]render.ModelCounts{
			"harbour": {UUID: "7c6b", Machines: 2, Cores: 8}, "quay": {UUID: "8d7c", Machines: 1, Cores: 4},
		}},
		{Name: "spare", UUID: "1a2b", Cloud: "lxd"},
	}
}

// Source: docs/spec/juju-clients.md §3.1, §3.2.
func TestControllersAreShownAsTheFieldShowsThem(t *testing.T) {
	t.Parallel()
	table := render.Table{}
	table.Block(render.ControllerRows(madeUpControllers(), "unitd"))
	for _, test := range []struct {
		name, format string
		value        any
		want         string
	}{
		{"the key of the UUID is another one in JSON than in YAML", "json", render.Controllers(madeUpControllers()[1:], "unitd"),
			`{"controllers":{"spare":{"user":"admin","access":"superuser","recent-server":"127.0.0.1:0","uuid":"1a2b","api-endpoints":["127.0.0.1:0"],` +
				`"ca-cert":"","cloud":"lxd","agent-version":"VERSION"}},"current-controller":"unitd"}` + "\n"},
		{"what isn't there is left out, and endpoints are in a line", "yaml", render.Controllers(madeUpControllers()[:1], "unitd"),
			"controllers:\n  unitd:\n    current-model: harbour\n    user: admin\n    access: superuser\n    recent-server: 127.0.0.1:0\n" +
				"    controller-uuid: 0f1e\n    api-endpoints: ['127.0.0.1:0']\n    ca-cert: \"\"\n    cloud: local\n    region: host\n" +
				"    agent-version: VERSION\n    model-count: 2\n    machine-count: 3\ncurrent-controller: unitd\n"},
		{"one with its models, and the current one's full name", "json", render.ShowController(madeUpControllers()[0]),
			`{"details":{"uuid":"0f1e","api-endpoints":["127.0.0.1:0"],"cloud":"local","region":"host","agent-version":"VERSION","ca-cert":""},` +
				`"models":{"harbour":{"uuid":"7c6b","machine-count":2,"core-count":8},"quay":{"uuid":"8d7c","machine-count":1,"core-count":4}},` +
				`"current-model":"admin/harbour","account":{"access":"superuser","user":"admin"}}` + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b, err := render.Encode(test.format, test.value)
			if want := strings.ReplaceAll(test.want, "VERSION", hooks.Version); err != nil || string(b) != want {
				t.Errorf("got %v\n%s\nwant\n%s", err, b, want)
			}
		})
	}
	want := "Controller  Model    User   Access     Cloud/Region  Models  Nodes  HA  Version\n" +
		"unitd*      harbour  admin  superuser  local/host         2      3   -  VERSION\n" +
		"spare       -        admin  superuser  lxd                -      -   -  VERSION\n"
	var got strings.Builder
	for line := range strings.Lines(table.String()) {
		got.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	if want = strings.ReplaceAll(want, "VERSION", hooks.Version); got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	if lines := strings.Split(table.String(), "\n"); !strings.HasSuffix(lines[1], " -  "+hooks.Version+"  ") || !strings.HasSuffix(lines[0], "Version") {
		t.Errorf("a row isn't padded: %q", lines[1])
	}
}
