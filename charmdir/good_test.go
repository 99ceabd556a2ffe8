package charmdir

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/model"
)

const wholeMetadata = `
name: web-app
summary: A web application
description: |
  Serves.
  Well.
provides:
  website: http
  metrics: {interface: prometheus, limit: 2, optional: true}
requires:
  db:
    interface: mysql
    limit: 1
  host:
    interface: juju-info
    scope: container
peers:
  cluster: {interface: cluster}
subordinate: true
extra-bindings:
  admin:
  public:
storage:
  data:
    type: filesystem
    description: The data.
    location: /srv/data
    minimum-size: 1.5G
    multiple: {range: 1-3}
  any: {type: block, multiple: {range: 0-}, read-only: true, shared: true}
  two: {type: block, multiple: {range: 2}}
  some: {type: block, multiple: {range: 2+}}
resources:
  wheel: {type: file, filename: app.whl, description: The app.}
  image: {type: oci-image}
`

const wholeConfig = `
options:
  title: {type: string, default: "1", description: A title.}
  port: {type: int, default: 80}
  ratio: {type: float, default: 1}
  debug: {type: boolean, default: yes}
  quiet: {type: boolean, default: false}
  key: {type: secret}
  plain: {}
  day: {type: string, default: 2024-01-31}
`

const wholeActions = `
backup:
  description: Make a backup.
  params:
    to: {type: string}
    level: {type: integer, default: 3}
  required: [to]
pause:
resume: {additionalProperties: true}
`

func wholeCharm() model.Charm {
	object := func(properties map[string]any, additional bool) map[string]any {
		return map[string]any{"type": "object", "properties": properties, "additionalProperties": additional}
	}
	backup := object(map[string]any{
		"to":    map[string]any{"type": "string"},
		"level": map[string]any{"type": "integer", "default": 3},
	}, false)
	backup["required"] = []any{"to"}
	return model.Charm{
		Name: "web-app", Summary: "A web application", Description: "Serves.\nWell.\n", Subordinate: true, Version: "1.2",
		Endpoints: map[string]model.CharmRel{
			"website": {Role: model.Provider, Interface: "http", Scope: model.Global},
			"metrics": {Role: model.Provider, Interface: "prometheus", Scope: model.Global, Limit: 2, Optional: true},
			"db":      {Role: model.Requirer, Interface: "mysql", Scope: model.Global, Limit: 1},
			"host":    {Role: model.Requirer, Interface: "juju-info", Scope: model.Container},
			"cluster": {Role: model.Peer, Interface: "cluster", Scope: model.Global},
		},
		Options: map[string]model.ConfigOption{
			"title": {Type: "string", Default: "1", Description: "A title."},
			"port":  {Type: "int", Default: int64(80)},
			"ratio": {Type: "float", Default: float64(1)},
			"debug": {Type: "boolean", Default: true},
			"quiet": {Type: "boolean", Default: false},
			"key":   {Type: "secret"},
			"plain": {Type: "string"},
			"day":   {Type: "string", Default: "2024-01-31"},
		},
		Actions: map[string]model.ActionSpec{
			"backup": {Description: "Make a backup.", Params: backup},
			"pause":  {Params: object(map[string]any{}, false)},
			"resume": {Params: object(map[string]any{}, true)},
		},
		Storage: map[string]model.StorageSpec{
			"data": {Type: "filesystem", Description: "The data.", Location: "/srv/data", CountMin: 1, CountMax: 3, MinimumSize: "1.5G"},
			"any":  {Type: "block", CountMin: 0, CountMax: -1, ReadOnly: true, Shared: true},
			"two":  {Type: "block", CountMin: 2, CountMax: 2},
			"some": {Type: "block", CountMin: 2, CountMax: -1},
		},
		Resources: map[string]model.ResourceSpec{
			"wheel": {Type: "file", Filename: "app.whl", Description: "The app."},
			"image": {Type: "oci-image"},
		},
		Bindings: []string{"admin", "public"},
	}
}

// unified is the same charm in a single charmcraft.yaml.
func unified() string {
	indent := func(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }
	return "type: charm\nbases: [{name: ubuntu}]\n" + wholeMetadata +
		"config:" + indent(wholeConfig) + "\nactions:" + indent(wholeActions) + "\nparts: {charm: {plugin: dump}}\n"
}

func TestReadGoodCharms(t *testing.T) {
	t.Parallel()
	whole := wholeCharm()
	least := model.Charm{
		Name: "a", Endpoints: map[string]model.CharmRel{},
		Options: map[string]model.ConfigOption{}, Actions: map[string]model.ActionSpec{},
		Storage: map[string]model.StorageSpec{}, Resources: map[string]model.ResourceSpec{},
	}
	for _, row := range []struct {
		name string
		in   files
		want model.Charm
	}{
		{"all that three files can say", files{
			"metadata.yaml": wholeMetadata, "config.yaml": wholeConfig, "actions.yaml": wholeActions, "version": " 1.2\n",
		}, whole},
		{"all of it in charmcraft.yaml", files{"charmcraft.yaml": unified(), "version": "1.2"}, whole},
		{"a charm needs no more than a name", files{"metadata.yaml": "name: a"}, least},
		{"empty files say nothing", files{"metadata.yaml": "name: a", "config.yaml": "", "actions.yaml": "# none\n"}, least},
		{"options may be null", files{"metadata.yaml": "name: a", "config.yaml": "options:"}, least},
		{"a charmcraft.yaml that has only build instructions adds nothing", files{
			"metadata.yaml": "name: a", "charmcraft.yaml": "type: charm\nparts: {}\n",
		}, least},
		{"metadata.yaml goes before charmcraft.yaml", files{"metadata.yaml": "name: a", "charmcraft.yaml": "name: b"}, least},
		{"a metadata file may be a link to another file of the charm", files{
			"metadata.yaml@": "src/meta.yaml", "src/meta.yaml@": "../real.yaml", "real.yaml": "name: a",
		}, least},
		{"an anchor in a part that isn't metadata is carried along", files{
			"charmcraft.yaml": "parts: {x: &n a}\nname: *n\n",
		}, least},
		{"maps are merged, own keys first", files{
			"metadata.yaml": "x: &x {name: b, summary: s}\n<<: [*x]\nname: a\nsummary:\n",
		}, least},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := row.in.dir(t)
			for _, path := range []string{dir, row.in.archive(t)} {
				c, err := Read(path)
				must(t, err)
				if !reflect.DeepEqual(c.Charm, row.want) {
					t.Errorf("%s:\n got %#v\nwant %#v", path, c.Charm, row.want)
				}
				if c.Path != path || c.Dir != (path == dir) {
					t.Errorf("path %q, directory %v", c.Path, c.Dir)
				}
			}
		})
	}
}

// TestGeneratedFilesAreWhatTheCharmReads: an archive of a tree that has only
// charmcraft.yaml has the three files that a charm opens when it runs.
func TestGeneratedFilesAreWhatTheCharmReads(t *testing.T) {
	t.Parallel()
	in := files{"charmcraft.yaml": unified(), "version": "1.2", "config.yaml@": "nowhere"}
	unit := t.TempDir()
	must(t, NewDeployer(durable.Disk{}, unit).Deploy(t.Context(), in.archive(t), "local:web-0"))
	tree := filepath.Join(unit, "charm")
	must(t, os.Remove(filepath.Join(tree, "charmcraft.yaml")))
	c, err := ReadDir(tree)
	must(t, err)
	if !reflect.DeepEqual(c.Charm, wholeCharm()) {
		t.Errorf("got %#v", c.Charm)
	}
}

func TestReadWhereThereIsNoCharm(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none")
	_, err := Read(path)
	if !errors.Is(err, errors.NotFound) || err.Error() != `no charm was found at "`+path+`"` {
		t.Errorf("got %v", err)
	}
}
