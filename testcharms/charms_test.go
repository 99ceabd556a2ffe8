package testcharms_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/testcharms"
)

// names are the charms: the folders here.
func names(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !slices.Contains([]string{"testdata", "images", "planted"}, e.Name()) {
			names = append(names, e.Name())
		}
	}
	if len(names) < 8 {
		t.Fatalf("there are only %v", names)
	}
	return names
}

func TestEachCharmReadsAsACharmOfItsFoldersName(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		c, err := charmdir.Read(testcharms.Dir(name))
		if err != nil {
			t.Error(err)
			continue
		}
		if c.Name != name || c.Summary == "" || c.Description == "" {
			t.Errorf("%s: name %q, summary %q, description %q", name, c.Name, c.Summary, c.Description)
		}
		if _, err := os.Stat(filepath.Join(name, "README.md")); err != nil {
			t.Error(err)
		}
	}
}

// inOne are the charms with all metadata in charmcraft.yaml; trees those of them that
// have to be built.
var (
	trees = []string{"kuby", "noticer", "prober", "storer", "webby"}
	inOne = append([]string{"quorum"}, trees...)
)

func TestSomeHaveTheirMetadataInCharmcraftYAML(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		_, err := os.Stat(filepath.Join(name, "metadata.yaml"))
		if got, want := err == nil, !slices.Contains(inOne, name); got != want {
			t.Errorf("%s: metadata.yaml is there: %v, want %v", name, got, want)
		}
	}
}

func TestEachYAMLFileParses(t *testing.T) {
	t.Parallel()
	files := 0
	walk(t, func(path string, _ fs.FileMode) {
		if filepath.Ext(path) != ".yaml" {
			return
		}
		files++
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := yaml.Unmarshal(data, &v); err != nil || len(v) == 0 {
			t.Errorf("%s: %d keys, %v", path, len(v), err)
		}
	})
	if files < 20 {
		t.Errorf("there are only %d files", files)
	}
}

func TestTheBundleNamesCharmsAndEndpointsThatExist(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var b struct {
		Applications map[string]struct {
			Charm   string
			Options map[string]any
		}
		Relations [][]string
	}
	if err := yaml.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	endpoints := map[string]string{}
	for app, a := range b.Applications {
		c, err := charmdir.Read(a.Charm)
		if err != nil {
			t.Fatal(err)
		}
		for option := range a.Options {
			if _, ok := c.Options[option]; !ok {
				t.Errorf("%s has no option %q", app, option)
			}
		}
		for name, rel := range c.Endpoints {
			endpoints[app+":"+name] = rel.Interface
		}
	}
	if len(b.Relations) != 1 || len(b.Relations[0]) != 2 {
		t.Fatalf("relations: %v", b.Relations)
	}
	for _, e := range b.Relations[0] {
		if endpoints[e] != "ledgerdb" {
			t.Errorf("endpoint %s has the interface %q", e, endpoints[e])
		}
	}
}

func TestEachScriptIsExecutableAndParses(t *testing.T) {
	t.Parallel()
	scripts := 0
	walk(t, func(path string, mode fs.FileMode) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := bytes.Cut(data, []byte("\n"))
		folder := filepath.Base(filepath.Dir(path))
		started := folder == "hooks" || folder == "actions" || filepath.Base(path) == "dispatch"
		if started && !bytes.HasPrefix(first, []byte("#!/bin/")) {
			t.Errorf("%s: doesn't say what runs it: %q", path, first)
		}
		if started && mode&0o111 != 0o111 {
			t.Errorf("%s: mode %v", path, mode)
		}
		if !started && filepath.Ext(path) != ".sh" {
			return
		}
		scripts++
		shell := "bash"
		if string(first) == "#!/bin/sh" {
			shell = "sh"
		}
		if out, err := exec.Command(shell, "-n", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
		if check, err := exec.LookPath("shellcheck"); err == nil {
			if out, err := exec.Command(check, "-x", "-P", filepath.Dir(path), path).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", path, err, out)
			}
		}
	})
	if scripts < 40 {
		t.Errorf("there are only %d scripts", scripts)
	}
}

// walk calls f with each file, following symbolic links, and its mode.
func walk(t *testing.T, f func(path string, mode fs.FileMode)) {
	t.Helper()
	for _, name := range append(names(t), "shop.yaml") {
		err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			st, err := os.Stat(path)
			if err == nil {
				f(path, st.Mode())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestCopyKeepsLinksAndModesAndIsApartFromItsSource(t *testing.T) {
	t.Parallel()
	dir := testcharms.Copy(t, "noop")
	if target, err := os.Readlink(filepath.Join(dir, "hooks", "install")); err != nil || target != "../noop.sh" {
		t.Errorf("hooks/install leads to %q, %v", target, err)
	}
	if err := exec.Command(filepath.Join(dir, "hooks", "install")).Run(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "metadata.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := charmdir.Read(testcharms.Dir("noop")); err != nil {
		t.Errorf("the source has changed: %v", err)
	}
}

func TestCopyBuildsGobin(t *testing.T) {
	t.Parallel()
	dir := testcharms.Copy(t, "gobin")
	cmd := exec.Command(filepath.Join(dir, "dispatch"))
	cmd.Env = []string{"JUJU_DISPATCH_PATH=hooks/unheard-of", "PATH=/nowhere"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("a hook that it doesn't know: %v\n%s", err, out)
	}
	cmd = exec.Command(filepath.Join(dir, "dispatch"))
	cmd.Env = []string{"JUJU_DISPATCH_PATH=hooks/install", "PATH=/nowhere"}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "status-set") {
		t.Errorf("without hook tools: %v\n%s", err, out)
	}
}

func TestCopyOpsTakesTheVirtualEnvironmentsPackagesWithoutItsInstallers(t *testing.T) {
	t.Parallel()
	venv := t.TempDir()
	packages := filepath.Join(venv, "lib", "python3.12", "site-packages")
	for _, file := range []string{
		"ops/main.py", "ops/__pycache__/main.pyc", "yaml/__init__.py", "typing_extensions.py", "pipeline/a.py",
		"pip/a.py", "pip-23.2.1.dist-info/RECORD", "setuptools/a.py", "_distutils_hack/a.py", "distutils-precedence.pth",
	} {
		path := filepath.Join(packages, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := testcharms.CopyOps(t, venv)
	var got []string
	err := filepath.WalkDir(filepath.Join(dir, "venv"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(filepath.Join(dir, "venv"), path)
			got = append(got, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"ops/main.py", "pipeline/a.py", "typing_extensions.py", "yaml/__init__.py"}; !slices.Equal(got, want) {
		t.Errorf("venv has %v, want %v", got, want)
	}
	if _, err := charmdir.Read(dir); err != nil {
		t.Error(err)
	}
}

func TestCopyPythonOfATreeNeedsNoBuild(t *testing.T) {
	t.Parallel()
	venv := t.TempDir()
	if err := os.MkdirAll(filepath.Join(venv, "lib", "python3.12", "site-packages"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range trees {
		dir := testcharms.CopyPython(t, name, venv)
		for file, want := range map[string]bool{testcharms.Dir(name): true, dir: false} {
			c, err := charmdir.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Project != nil; got != want || c.Name != name {
				t.Errorf("%s: %s has to be built: %v, want %v", file, c.Name, got, want)
			}
		}
		if st, err := os.Stat(filepath.Join(dir, "dispatch")); err != nil || st.Mode()&0o111 == 0 {
			t.Errorf("%s: dispatch: %v", name, err)
		}
	}
}

// TestEachPythonFileCompiles: what is wrong with one shows nowhere else without a
// container.
func TestEachPythonFileCompiles(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	files := 0
	walk(t, func(path string, _ fs.FileMode) {
		if filepath.Ext(path) != ".py" {
			return
		}
		files++
		cmd := exec.Command(python, "-c", "import sys; compile(open(sys.argv[1]).read(), sys.argv[1], 'exec')", path)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	})
	if files < 6 {
		t.Errorf("there are only %d files", files)
	}
}

func TestContainersOfTheCharms(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"kuby":    "app from app-image",
		"noticer": "front from front-image, worker from worker-image",
		"storer":  "store from store-image, as 584792:584792, with data at /data, data at /srv/export; non-root",
		"webby":   "web from web-image",
	} {
		c, err := charmdir.Read(testcharms.Dir(name))
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, n := range slices.Sorted(maps.Keys(c.Containers)) {
			k := c.Containers[n]
			text := n + " from " + k.Resource
			if k.UID != nil && k.GID != nil {
				text += fmt.Sprintf(", as %d:%d", *k.UID, *k.GID)
			}
			for i, m := range k.Mounts {
				text += []string{", with ", ", "}[min(i, 1)] + m.Storage + " at " + m.Location
			}
			all = append(all, text)
		}
		got := strings.Join(all, ", ")
		if c.CharmUser != "" {
			got += "; " + c.CharmUser
		}
		if got != want || !c.Sidecar() {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
