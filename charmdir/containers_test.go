package charmdir

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/model"
)

const containerMetadata = `
name: web
charm-user: non-root
assumes:
  - k8s-api
  - juju >= 3.1
  - any-of: [juju < 4, {all-of: [k8s-api, other]}]
containers:
  web:
    resource: web-image
    uid: 999
    gid: 10000
    mounts:
      - {storage: data, location: /srv/data}
      - {storage: data, location: /mnt}
  my-db: {resource: db-image, uid: 0}
  later:
    bases: [{name: ubuntu, channel: "24.04", architectures: [amd64]}]
resources:
  web-image: {type: oci-image, upstream-source: "docker.io/library/web:1"}
  db-image: {type: oci-image}
  file: {filename: f}
storage:
  data: {type: filesystem}
`

// TestStorageMayBeWhereKubernetesHasItToo: what is near the container's own places is
// free.
func TestStorageMayBeWhereKubernetesHasItToo(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"/etc", "/dev/shm", "/run/app", "/var/run/secrets", "/charm/data", "/charm-data", "/process", "/var/lib/pebble/default", "/tmp"} {
		in := files{"metadata.yaml": strings.Replace(containerMetadata, "/srv/data", at, 1)}
		if _, err := ReadDir(in.dir(t)); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// TestContainersAreRead: all that metadata can say of them; K-005, K-012 and
// K-013 of docs/spec/containers.md in so far as they are about reading.
func TestContainersAreRead(t *testing.T) {
	t.Parallel()
	for _, in := range []files{{"metadata.yaml": containerMetadata}, {"charmcraft.yaml": containerMetadata}} {
		c, err := ReadDir(in.dir(t))
		must(t, err)
		id := func(n int) *int { return &n }
		want := map[string]model.ContainerSpec{
			"web": {
				Resource: "web-image", UID: id(999), GID: id(10000),
				Mounts: []model.Mount{{Storage: "data", Location: "/srv/data"}, {Storage: "data", Location: "/mnt"}},
			},
			"my-db": {Resource: "db-image", UID: id(0)},
			"later": {},
		}
		if !reflect.DeepEqual(c.Containers, want) {
			t.Errorf("containers: %+v", c.Containers)
		}
		if got := c.ContainerNames(); !slices.Equal(got, []string{"later", "my-db", "web"}) || !c.Sidecar() {
			t.Errorf("names %q, sidecar %v", got, c.Sidecar())
		}
		if c.CharmUser != model.CharmUserNonRoot || c.Resources["web-image"].Upstream != "docker.io/library/web:1" || c.Resources["file"].Type != model.FileResource {
			t.Errorf("user %q, resources %+v", c.CharmUser, c.Resources)
		}
		assumes := []model.Assumption{
			{Feature: "k8s-api"}, {Feature: "juju", Compare: ">=", Version: "3.1"},
			{AnyOf: []model.Assumption{{Feature: "juju", Compare: "<", Version: "4"}, {AllOf: []model.Assumption{{Feature: "k8s-api"}, {Feature: "other"}}}}},
		}
		if !reflect.DeepEqual(c.Assumes, assumes) {
			t.Errorf("assumes %+v", c.Assumes)
		}
		if err := c.CheckContainers(); err == nil || err.Error() != `container "later": empty container resource reference not valid` {
			t.Errorf("K-013: %v", err)
		}
	}
}

func badContainers() []bad {
	const image = "resources: {img: {type: oci-image}, f: {type: file, filename: f}}\nstorage: {data: {type: filesystem}}\n"
	with := func(lines ...string) files {
		return meta(append([]string{strings.TrimSuffix(image, "\n"), "containers:"}, lines...)...)
	}
	return []bad{
		{"K-002 a container refers to a resource that isn't there", with("  web: {resource: x}"), `metadata.yaml:5: containers.web.resource: parsing containers: referenced resource "x" not found`},
		{"K-003 a container refers to a file", with("  web: {resource: f}"), `metadata.yaml:5: containers.web.resource: parsing containers: referenced resource "f" is not a oci-image`},
		{"K-004 a mount without a location", with("  web:", "    mounts: [{storage: data}]"), `metadata.yaml:6: containers.web.mounts: parsing containers: container "web": location must be specifed on mount`},
		{"K-004 a mount without storage", with("  web:", "    mounts:", "    - {location: /a}"), `metadata.yaml:7: containers.web.mounts: parsing containers: container "web": storage must be specifed on mount`},
		{"a mount of storage that isn't there", with("  web:", "    mounts:", "    - {storage: x, location: /a}"), `metadata.yaml:7: containers.web.mounts: parsing containers: container "web": storage "x" not valid`},
		{"a mount at no absolute path", with("  web:", "    mounts:", "    - {storage: data, location: a}"), `metadata.yaml:7: containers.web.mounts: parsing containers: container "web": expected an absolute path as location, got "a"`},
		{"a mount over all", with("  web:", "    mounts:", "    - {storage: data, location: //}"), `metadata.yaml:7: containers.web.mounts: parsing containers: container "web": storage "data" cannot have the location "//": / is the container's own`},
		{"a mount over Pebble's directory", with("  web:", "    mounts:", "    - {storage: data, location: /charm/container}"), `metadata.yaml:7: containers.web.mounts: parsing containers: container "web": storage "data" cannot have the location "/charm/container": /charm/container is the container's own`},
		{"a mount over what is above it", with("  web:", "    mounts:", "    - {storage: data, location: /charm/}"), `metadata.yaml:7: containers.web.mounts: parsing containers: container "web": storage "data" cannot have the location "/charm/": /charm is the container's own`},
		{"a mount in the kernel's files", with("  web:", "    mounts:", "    - {storage: data, location: /srv/../proc/x}"), `metadata.yaml:7: containers.web.mounts: parsing containers: container "web": storage "data" cannot have the location "/srv/../proc/x": /proc is the container's own`},
		{"a mount over the names", with("  web:", "    mounts:", "    - {storage: data, location: /etc/hosts}"), `metadata.yaml:7: containers.web.mounts: parsing containers: container "web": storage "data" cannot have the location "/etc/hosts": /etc/hosts is the container's own`},
		{"mounts are a map", with("  web: {mounts: {storage: data}}"), "metadata.yaml:5: containers.web.mounts: expected a list, got a map"},
		{"a mount is a word", with("  web: {mounts: [data]}"), `metadata.yaml:5: containers.web.mounts: expected a map, got "data"`},
		{"K-005 the least uid that is reserved", with("  web: {uid: 1000}"), `metadata.yaml:5: containers.web.uid: parsing containers: container "web" has invalid uid 1000: uid cannot be in reserved range 1000-9999`},
		{"K-005 the greatest uid that is reserved", with("  web: {uid: 9999}"), `metadata.yaml:5: containers.web.uid: parsing containers: container "web" has invalid uid 9999: uid cannot be in reserved range 1000-9999`},
		{"K-005 a gid that is reserved", with("  web: {gid: 1000}"), `metadata.yaml:5: containers.web.gid: parsing containers: container "web" has invalid gid 1000: gid cannot be in reserved range 1000-9999`},
		{"a uid below zero", with("  web: {uid: -1}"), `metadata.yaml:5: containers.web.uid: parsing containers: container "web" has invalid uid -1`},
		{"a uid is a word", with("  web: {uid: root}"), `metadata.yaml:5: containers.web.uid: expected a whole number, got "root"`},
		{"K-011 a container has the name of a unit's own", with("  charm:"), `metadata.yaml:5: containers.charm: parsing containers: container name "charm" is reserved: a unit's own containers are called so`},
		{"K-011 a container has the name of what begins a unit", with("  charm-init:"), `metadata.yaml:5: containers.charm-init: parsing containers: container name "charm-init" is reserved: a unit's own containers are called so`},
		{"a container's name has capitals", with("  Web:"), `metadata.yaml:5: containers.Web: parsing containers: invalid container name "Web": expected up to 63 of a-z, 0-9 and -, with no - first or last`},
		{"a container's name could leave its directory", with("  ../x:"), `metadata.yaml:5: containers.../x: parsing containers: invalid container name "../x": expected up to 63 of a-z, 0-9 and -, with no - first or last`},
		{"a container's name is longer than a label", with("  " + strings.Repeat("a", 64) + ":"), `metadata.yaml:5: containers.` + strings.Repeat("a", 64) + `: parsing containers: invalid container name "` + strings.Repeat("a", 64) + `": expected up to 63 of a-z, 0-9 and -, with no - first or last`},
		{"a container is a word", with("  web: img"), `metadata.yaml:5: containers.web: expected a map, got "img"`},
		{"containers are a list", meta("containers: [web]"), "metadata.yaml:2: containers: expected a map, got a list"},
		{"an unknown charm-user", meta("charm-user: me"), `metadata.yaml:2: charm-user: parsing charm-user: invalid charm-user "me" expected one of root, sudoer or non-root`},
		{"assumes is a word", meta("assumes: k8s-api"), `metadata.yaml:2: assumes: expected a list, got "k8s-api"`},
		{"an assumption that isn't one", meta("assumes: [juju => 3]"), `metadata.yaml:2: assumes: invalid assumption "juju => 3": expected a feature such as k8s-api, or one with a version such as "juju >= 3.1"`},
		{"an assumption of nothing", meta("assumes: [{of: []}]"), "metadata.yaml:2: assumes: expected a feature, or a map with any-of or all-of alone"},
		{"containers in metadata with series, and no manifest", meta("series: [jammy]", "containers: {web: {}}"), "metadata.yaml:3: containers: containers without a manifest.yaml not valid"},
		{"containers in metadata with series", meta("series: [jammy]", "containers: {web: {}}").with("manifest.yaml", ""), "metadata.yaml:3: containers: containers in metadata v1 not valid"},
		{"assumes in metadata with series", meta("series: [jammy]", "assumes: [juju]"), "metadata.yaml:3: assumes: assumes in metadata v1 not valid"},
	}
}

// TestHooksOfContainersAreMadeExecutable: each container adds four; K-012.
func TestHooksOfContainersAreMadeExecutable(t *testing.T) {
	t.Parallel()
	in := files{"metadata.yaml": "name: a\ncontainers: {my-db: {}}\n"}
	want := files{"metadata.yaml": in["metadata.yaml"], "hooks/": "", "hooks/other-pebble-ready": ""}
	for _, kind := range []string{"ready", "custom-notice", "check-failed", "check-recovered"} {
		in["hooks/my-db-pebble-"+kind] = ""
		want["hooks/my-db-pebble-"+kind+"*"] = ""
	}
	in["hooks/other-pebble-ready"] = ""
	unit := t.TempDir()
	must(t, NewDeployer(durable.Disk{}, unit).Deploy(t.Context(), in.archive(t), "local:a-0"))
	got := look(t, filepath.Join(unit, "charm"))
	delete(got, markerName)
	if !maps.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}
