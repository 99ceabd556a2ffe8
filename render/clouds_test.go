package render_test

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
)

// Source of each row: docs/spec/juju-clients.md §3.7, §4.2.
func TestCloudsCredentialsAndDefaultsAreShownAsTheFieldShowsThem(t *testing.T) {
	t.Parallel()
	stack := render.Cloud{Name: "stack", Defined: render.LocalCloud, Cloud: model.Cloud{
		Type: "openstack", AuthTypes: []string{"userpass"}, Endpoint: "https://e",
		Regions: map[string]model.CloudRegion{"one": {Endpoint: "https://e", StorageEndpoint: "https://s"}}, Config: map[string]any{"k": "v"},
	}}
	copied := stack
	copied.Controller = "unitd"
	aws := map[string]model.CloudCredentials{"aws": {DefaultCredential: "quay", Credentials: map[string]model.Credential{
		"a": {AuthType: "access-key"}, "quay": {AuthType: "access-key", Details: map[string]string{"access-key": "AK", "secret-key": "SK"}},
	}}}
	shown := func(b []byte, err error) string {
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	table := func(rows [][]render.Cell) string {
		tab := render.Table{}
		tab.Block(rows)
		return tab.String()
	}
	for _, test := range []struct{ name, got, want string }{
		{"an endpoint that is the cloud's own is left out of its regions", shown(render.ShowClouds("display", []render.Cloud{stack}, false)),
			"Client cloud \"stack\":\n\ndefined: local\ntype: openstack\ndescription: Openstack Cloud\nauth-types: [userpass]\nendpoint: https://e\n" +
				"regions:\n  one:\n    storage-endpoint: https://s\n"},
		{"JSON is a list, and a controller's copy is public", shown(render.ShowClouds("json", []render.Cloud{copied}, true)),
			`[{"name":"stack","summary":"Cloud \"stack\" from controller \"unitd\"","defined":"public","type":"openstack","description":"Openstack Cloud",` +
				`"auth-types":["userpass"],"endpoint":"https://e","regions":{"one":{"storage-endpoint":"https://s"}},"config":{"k":"v"}}]` + "\n"},
		{"two documents of YAML end with dashes", strings.Join(strings.SplitAfter(shown(render.ShowClouds("yaml", []render.Cloud{{Name: "a"}, {Name: "b"}}, false)), "---\n"), "|"),
			"name: a\nsummary: Client cloud \"a\"\ntype: \"\"\n---\n|name: b\nsummary: Client cloud \"b\"\ntype: \"\"\n---\n|"},
		{"the client's clouds", table(render.CloudRows([]render.Cloud{stack}, true)),
			"Cloud  Regions  Default  Type       Credentials  Source  Description\nstack  1        one      openstack  0            local   Openstack Cloud\n"},
		{"a controller's clouds", table(render.CloudRows([]render.Cloud{copied}, false)), "Cloud  Regions  Default  Type\nstack  1        one      openstack  \n"},
		{"the default credential comes first", table(render.CredentialRows(aws)), "Cloud  Credentials\naws    quay*, a\n"},
		{"what is secret is hidden", shown(render.Encode("json", render.CredentialsTree{Client: aws}.Hidden())),
			`{"client-credentials":{"aws":{"default-credential":"quay","cloud-credentials":{"a":{"auth-type":"access-key"},` +
				`"quay":{"auth-type":"access-key","details":{"access-key":"AK"}}}}}}` + "\n"},
		{"in YAML names and attributes are inlined", shown(render.Encode("yaml", render.CredentialsTree{Client: aws})),
			"client-credentials:\n  aws:\n    default-credential: quay\n    a:\n      auth-type: access-key\n    quay:\n      auth-type: access-key\n      access-key: AK\n      secret-key: SK\n"},
		{"no credentials are an empty object", shown(render.Encode("json", render.CredentialsTree{}.Hidden())), "{}\n"},
		{"defaults, those of a region below", table(render.DefaultRows(map[string]render.DefaultSetting{
			"a": {Default: "", Controller: true}, "b": {Default: "5m", Regions: []render.RegionSetting{{Name: "host", Value: "1m"}}},
		})), "Attribute  Default  Controller\na          \"\"       true\nb          5m       -\n  host     1m       -\n"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, test.got, test.want)
		}
	}
}
