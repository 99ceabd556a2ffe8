package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/errors"
)

// TestContainersAreRefusedOnAnotherSystemThanLinux: in one line, before anything is
// there of them; whichever way the charm is deployed.
func TestContainersAreRefusedOnAnotherSystemThanLinux(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("UNITD_DATA", filepath.Join(dir, "data"))
	for name, text := range map[string]string{
		"app/metadata.yaml": "name: app\ncontainers: {web: {resource: image}, db: {resource: image}}\nresources: {image: {type: oci-image}}\n",
		"bundle.yaml":       "applications: {one: {charm: ./app, num_units: 1, resources: {image: host}}}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	charm, bundle := filepath.Join(dir, "app"), filepath.Join(dir, "bundle.yaml")
	ways := map[string]func(a *program) error{
		"deploy": func(a *program) error {
			return charmVerbs{caches{a.deploying}}.deploy(charm, "", deployFlags{units: -1, resources: []string{"image=host"}})
		},
		"deploy BUNDLE": func(a *program) error {
			return charmVerbs{caches{a.deploying}}.deploy(bundle, "", deployFlags{units: -1, hub: hubFlags{revision: latest}})
		},
		"up": func(a *program) error {
			return upVerbs{base: a.base, charmVerbs: charmVerbs{caches{a.deploying}}}.up(bundle, upFlags{})
		},
		"refresh": func(a *program) error {
			return charmVerbs{caches{a.deploying}}.refresh("app", refreshFlags{path: charm})
		},
	}
	const want = `charm "app" has workload containers (db, web), which need Linux, and this host runs macOS: deploy it on a host with Linux, or in a virtual machine`
	for name, way := range ways {
		a := newProgram(t.Context(), "unitd", Streams{Out: io.Discard, Err: io.Discard})
		a.System = "darwin"
		err := way(a)
		if !errors.Is(err, errors.NotSupported) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
		a.close()
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "data", "*.db")); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}
