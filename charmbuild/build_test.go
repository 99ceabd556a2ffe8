package charmbuild

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unitd/unitd/charmdir"
)

// TestMain gives pip the wheels of the tests, and no other place to look.
func TestMain(m *testing.M) {
	wheels, err := os.MkdirTemp("", "unitd-wheels-")
	if err == nil {
		for _, w := range []struct{ name, version, needs string }{
			{"left", "1.0", ""}, {"left", "2.0", ""}, {"right", "1.0", "left>=1"}, {"more", "1.0", ""}, {"elsewhere", "1.0", ""},
		} {
			if err = wheel(wheels, w.name, w.version, w.needs); err != nil {
				break
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for key, value := range map[string]string{
		"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels, "PIP_CONFIG_FILE": os.DevNull, "PIP_NO_BUILD_ISOLATION": "0", "PIP_USER": "1", "PIP_TARGET": filepath.Join(wheels, "wrong"),
	} {
		os.Setenv(key, value)
	}
	code := m.Run()
	os.RemoveAll(wheels)
	os.Exit(code)
}

// wheel writes the wheel of a package that says its version.
func wheel(dir, name, version, needs string) error {
	f, err := os.Create(filepath.Join(dir, name+"-"+version+"-py3-none-any.whl"))
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(f)
	info := name + "-" + version + ".dist-info/"
	meta := "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"
	if needs != "" {
		meta += "Requires-Dist: " + needs + "\n"
	}
	for _, file := range [][2]string{
		{name + "/__init__.py", "version = '" + version + "'\n"},
		{info + "METADATA", meta},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "entry_points.txt", "[console_scripts]\n" + name + " = " + name + ":version\n"},
		{info + "RECORD", ""},
	} {
		w, err := z.Create(file[0])
		if err != nil {
			return err
		}
		if _, err := w.Write([]byte(file[1])); err != nil {
			return err
		}
	}
	return z.Close()
}

// hasPip says whether there is a Python with pip.
var hasPip = sync.OnceValue(func() bool { return exec.Command("python3", "-m", "pip", "--version").Run() == nil })

// world is a tree and a cache; it counts what was made.
type world struct {
	*testing.T
	dir string
	Builder
	mu   sync.Mutex
	made int
}

func newWorld(t *testing.T, craft string, files map[string]string) *world {
	t.Helper()
	if !hasPip() {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI needs python3 with pip")
		}
		t.Skip("skipped: python3 has no pip here")
	}
	w := &world{T: t, dir: t.TempDir()}
	w.Builder = Builder{Cache: filepath.Join(t.TempDir(), "cache"), Begin: func(string, []string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.made++
	}}
	w.write("charmcraft.yaml", "name: a\ntype: charm\nparts: {x: {"+craft+"}}\n")
	w.write("src/charm.py", "")
	for name, text := range files {
		w.write(name, text)
	}
	return w
}

func (w *world) write(name, text string) {
	w.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

// project is how the tree is built.
func (w *world) project() *charmdir.Project {
	w.Helper()
	c, err := charmdir.Read(w.dir)
	if err != nil {
		w.Fatal(err)
	}
	return c.Project
}

// key is what the tree's packages have in the cache.
func (w *world) key() string {
	w.Helper()
	p := w.project()
	s, err := sources(p)
	if err != nil {
		w.Fatal(err)
	}
	return s.key(p, interpreter{})
}

// build builds the tree as it is now, and returns what its venv has.
func (w *world) build(ctx context.Context) ([]string, error) {
	c, err := charmdir.Read(w.dir)
	if err != nil {
		w.Error(err)
		return nil, err
	}
	hold, err := w.Build(ctx, c)
	if err != nil {
		return nil, err
	}
	defer hold.Release()
	var b bytes.Buffer
	if _, err := c.Archive(&b); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, f := range z.File {
		if rest, ok := strings.CutPrefix(f.Name, "venv/"); ok && !f.FileInfo().IsDir() {
			top, _, _ := strings.Cut(rest, "/")
			found[strings.TrimSuffix(top, ".dist-info")] = true
		}
	}
	var out []string
	for name := range found {
		out = append(out, name)
	}
	slices.Sort(out)
	return out, nil
}

func (w *world) want(made int, packages ...string) {
	w.Helper()
	got, err := w.build(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	var versions []string // the others are their folders
	for _, name := range got {
		if strings.Contains(name, "-") {
			versions = append(versions, name)
		}
	}
	if !slices.Equal(versions, packages) || len(got) != 2*len(packages) || w.made != made {
		w.Errorf("venv has %v, made %d times; want %v and their folders, %d times", got, w.made, packages, made)
	}
}

func TestPackagesAreMadeOnceForWhatTheyAreMadeFrom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin: charm", map[string]string{"requirements.txt": "-r base.txt\nright\n", "base.txt": "left<2\n"})
	w.want(1, "left-1.0", "right-1.0")
	w.write("src/charm.py", "# changed")
	w.want(1, "left-1.0", "right-1.0")
	w.write("base.txt", "left>=2\n") // a file that the named one includes
	w.want(2, "left-2.0", "right-1.0")
	w.write("lib/charms/x/v1/x.py", "PYDEPS = ['more']\n")
	w.want(3, "left-2.0", "more-1.0", "right-1.0")
	w.write("base.txt", "left<2\n")
	w.write("lib/charms/x/v1/x.py", "")
	w.want(3, "left-1.0", "right-1.0") // it is still there
	entries, err := os.ReadDir(w.dir)
	if err != nil || len(entries) != 5 { // charmcraft.yaml, src, lib and two files
		t.Errorf("the tree has %v, %v", entries, err)
	}
	left, err := filepath.Glob(filepath.Join(w.Cache, "*.new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestACharmThatNeedsNothingNeedsNoPython(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin: charm", nil)
	w.want(0)
}

func TestWhatUvHasLockedIsInstalled(t *testing.T) {
	t.Parallel()
	const lock = `version = 1
[[package]]
name = "a"
version = "1"
source = { virtual = "." }
dependencies = [{ name = "right", extra = ["big"] }, { name = "elsewhere", marker = "python_version < '3'" }]
[package.optional-dependencies]
fast = [{ name = "elsewhere" }]
[package.dev-dependencies]
lint = [{ name = "more" }]
[[package]]
name = "right"
version = "1.0"
source = { registry = "https://x" }
dependencies = [{ name = "left" }]
wheels = [{ url = "https://x/right.whl"%s }]
[package.optional-dependencies]
big = [{ name = "more" }]
[[package]]
name = "left"
version = "1.0"
source = { registry = "https://x" }
[[package]]
name = "more"
version = "1.0"
source = { registry = "https://x" }
[[package]]
name = "elsewhere"
version = "1.0"
source = { registry = "https://x" }
`
	w := newWorld(t, "plugin: uv, uv-extras: [fast]", map[string]string{"uv.lock": fmt.Sprintf(lock, "")})
	w.want(1, "elsewhere-1.0", "left-1.0", "more-1.0", "right-1.0")
	w = newWorld(t, "plugin: uv", map[string]string{"uv.lock": fmt.Sprintf(lock, "")})
	w.want(1, "left-1.0", "more-1.0", "right-1.0")
	// Another file than the locked one is refused.
	w.write("uv.lock", fmt.Sprintf(lock, `, hash = "sha256:`+strings.Repeat("0", 64)+`"`))
	if _, err := w.build(t.Context()); err == nil || !strings.Contains(err.Error(), "pip: ") {
		t.Errorf("got %v", err)
	}
}

func TestWhatAProjectNamesIsInstalledWithoutALock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin: uv, uv-groups: [all]", map[string]string{"pyproject.toml": `[project]
name = "a"
dependencies = ["right", "elsewhere; python_version < '3'"]
[dependency-groups]
all = [{include-group = "some"}]
some = ["more"]
`})
	w.want(1, "left-2.0", "more-1.0", "right-1.0")
}

func TestWhatCannotBeMadeIsSaidInALine(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, craft string
		files       map[string]string
		want        string
	}{
		{"no such package", "plugin: charm", map[string]string{"requirements.txt": "left==7\n"}, "pip: No matching distribution found for left==7; all that it said is in CACHE/KEY.log"},
		{"a line that is none", "plugin: charm", map[string]string{"requirements.txt": "left ==== 1\n"}, "pip: Invalid requirement: 'left ==== 1'"},
		{"neither project nor lock", "plugin: uv", nil, "there is neither a pyproject.toml nor a uv.lock"},
		{"a lock that is none", "plugin: uv", map[string]string{"uv.lock": "x = ["}, "uv.lock: "},
		{"a lock of something else", "plugin: uv", map[string]string{"uv.lock": "version = 1"}, "uv.lock: it has no package that is the project"},
		{"no such group", "plugin: uv, uv-groups: [no]", map[string]string{"pyproject.toml": ""}, "pyproject.toml: there is no dependency group 'no', or it is in itself"},
		{"no such extra", "plugin: uv, uv-extras: [no]", map[string]string{"pyproject.toml": ""}, "pyproject.toml: there is no extra 'no'"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, row.craft, row.files)
			_, err := w.build(t.Context())
			if err == nil {
				t.Fatal("it was built")
			}
			keys, _ := filepath.Glob(filepath.Join(w.Cache, "*.log"))
			got := err.Error()
			if len(keys) == 1 {
				got = strings.ReplaceAll(got, keys[0], "CACHE/KEY.log")
			}
			if want := "cannot build charm " + w.dir + ": " + row.want; !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
				t.Errorf("got  %q\nwant %q…", got, want)
			}
			dirs, _ := filepath.Glob(filepath.Join(w.Cache, "*.new-*"))
			if len(dirs) > 0 {
				t.Errorf("left behind: %v", dirs)
			}
		})
	}
}

func TestManyAtOnceMakeThemOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin: charm", map[string]string{"requirements.txt": "right\n"})
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if got, err := w.build(t.Context()); err != nil || len(got) != 4 {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	all.Wait()
	if w.made != 1 {
		t.Errorf("made %d times", w.made)
	}
}

// TestWaitingForAnotherProcessEndsWhenToldTo: also while that one goes on.
func TestWaitingForAnotherProcessEndsWhenToldTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin: charm", map[string]string{"requirements.txt": "right\n"})
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := w.lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	w.Step = func(string) { cancel() } // it has begun to wait
	if _, err := w.lock(ctx, path); err == nil || ctx.Err() == nil {
		t.Errorf("got %v", err)
	}
	unlock()
	unlock, err = w.lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// TestInterruptedItLeavesNothingButItsLock: pip is ended with all that it has
// started.
func TestInterruptedItLeavesNothingButItsLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin: charm", map[string]string{"requirements.txt": "right\n"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.Step = func(string) { cancel() } // pip has begun
	if _, err := w.build(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	left, err := os.ReadDir(w.Cache)
	if err != nil || len(left) != 1 || filepath.Ext(left[0].Name()) != ".lock" {
		t.Errorf("left behind: %v, %v", left, err)
	}
	w.Step = nil
	w.want(2, "left-2.0", "right-1.0")
}
