package charmbuild

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/unitd/unitd/charmdir"
)

// hash is that of one of the tests' wheels.
func hash(t *testing.T, wheel string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(os.Getenv("PIP_FIND_LINKS"), wheel+"-py3-none-any.whl"))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(data))
}

// TestWhatLibrariesNeedAndHashedRequirementsHaveIsLeftToThem: pip would want a
// hash of it otherwise.
func TestWhatLibrariesNeedAndHashedRequirementsHaveIsLeftToThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin: charm", map[string]string{
		"requirements.txt":     "-r more.txt\n",
		"more.txt":             "left==1.0 \\\n    --hash=" + hash(t, "left-1.0") + "  # ours\n",
		"lib/charms/a/v0/a.py": `PYDEPS = ["Left>=1"]`,
	})
	w.want(1, "left-1.0")
	w.write("lib/charms/a/v0/a.py", `PYDEPS = ["left>=1", "right"]`)
	w.want(2, "left-1.0", "right-1.0") // and no left 2.0 for right
}

func TestSourcesOfUvAreFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin: uv", map[string]string{
		"pyproject.toml": `[project]
name = "a"
dependencies = ["own[x]>=1", "left", "more; python_version < '3'"]
[tool.uv.sources]
Own = { path = "./own" }
left = [{ path = "./none", marker = "python_version < '3'" }, { url = "file://` + filepath.Join(os.Getenv("PIP_FIND_LINKS"), "left-1.0-py3-none-any.whl") + `" }]
`,
		"own/pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n",
		"own/backend.py": `import zipfile
def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "own-1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{directory}/{name}", "w") as z:
        z.writestr("own/__init__.py", "")
        z.writestr("own-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: own\nVersion: 1.0\nProvides-Extra: x\n")
        z.writestr("own-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("own-1.0.dist-info/RECORD", "")
    return name
`,
	})
	w.want(1, "left-1.0", "own-1.0")
	before := w.key()
	w.write("own/changed.py", "")
	if w.key() == before {
		t.Error("a package beside the charm has changed, and nothing is made anew")
	}
	w.write("pyproject.toml", "[project]\nname = 'a'\ndependencies = ['own']\n[tool.uv.sources]\nown = { workspace = true }\n")
	_, err := w.build(t.Context())
	if want := "pyproject.toml: tool.uv.sources: own comes from a source that is known here only by a uv.lock: workspace"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAnIndexOfItsOwnIsOneOfAll: pip can't look for a package in one alone.
func TestAnIndexOfItsOwnIsOneOfAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin: uv", map[string]string{"pyproject.toml": `[project]
name = "a"
dependencies = ["left", "right>=1", "more"]
[[tool.uv.index]]
name = "ours"
url = "https://x/simple"
[tool.uv.sources]
left = { index = "ours" }
right = { index = "ours" }
`})
	var told []string
	w.Note = func(what string) { told = append(told, what) }
	in := install{Builder: w.Builder, project: w.project(), work: t.TempDir()}
	if _, err := in.fromProject(t.Context(), "python3"); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || told[0] != "left, right: looked for in all indexes, not in ours alone" {
		t.Errorf("told %q", told)
	}
	lines, err := os.ReadFile(filepath.Join(in.work, "requirements.txt"))
	if err != nil || !strings.HasSuffix(string(lines), "\n--extra-index-url https://x/simple\nleft\nright>=1\nmore\n") {
		t.Errorf("pip is asked for %s, %v", lines, err)
	}
}

const poetryProject = `[tool.poetry.dependencies]
python = "^3.8"
right = {version = "^1.0", extras = ["big"]}
elsewhere = {version = "*", markers = "python_version < '3'"}
[tool.poetry.group.libs.dependencies]
more = "*"
[tool.poetry.group.dev.dependencies]
left = "^2.0"
`

func TestWhatPoetryHasLockedIsInstalled(t *testing.T) {
	t.Parallel()
	newer := fmt.Sprintf(`[[package]]
name = "right"
version = "1.0"
groups = ["main"]
files = [{file = "right", hash = %q}]
[[package]]
name = "left"
version = "1.0"
groups = ["dev", "main"]
files = [{file = "left", hash = %q}]
markers = {main = "python_version > '3'", dev = "python_version < '3'"}
[[package]]
name = "more"
version = "1.0"
groups = ["libs"]
files = [{file = "more", hash = %q}]
[[package]]
name = "elsewhere"
version = "1.0"
groups = ["main"]
markers = "python_version < '3'"
files = []
[metadata]
lock-version = "2.1"
`, hash(t, "right-1.0"), hash(t, "left-1.0"), hash(t, "more-1.0"))
	older := `[[package]]
name = "right"
version = "1.0"
files = []
[package.dependencies]
left = ">=1"
[package.extras]
big = ["more (>=1)"]
[[package]]
name = "left"
version = "1.0"
[[package]]
name = "more"
version = "1.0"
[[package]]
name = "elsewhere"
version = "1.0"
[metadata]
lock-version = "2.0"
`
	newWorld(t, "plugin: poetry, poetry-with: [libs]", map[string]string{"pyproject.toml": poetryProject, "poetry.lock": newer}).want(1, "left-1.0", "more-1.0", "right-1.0")
	for _, row := range []struct {
		name, craft, lock, want string
	}{
		{"of Poetry 2", "plugin: poetry", newer, "left==1.0 right==1.0"},
		{"of Poetry 2, a group alone", "plugin: poetry, poetry-export-extra-args: [--only, libs]", newer, "more==1.0"},
		{"of Poetry 1", "plugin: poetry", older, "left==1.0 more==1.0 right==1.0"},
		{"of Poetry 1, a group alone", "plugin: poetry, poetry-export-extra-args: ['--only=libs']", older, "more==1.0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, row.craft, map[string]string{"pyproject.toml": poetryProject, "poetry.lock": row.lock})
			in := install{Builder: w.Builder, project: w.project(), work: t.TempDir()}
			if _, err := in.fromProject(t.Context(), "python3"); err != nil {
				t.Fatal(err)
			}
			lines, err := os.ReadFile(filepath.Join(in.work, "requirements.txt"))
			got := strings.Join(strings.Fields(regexp.MustCompile(`--hash=\S+`).ReplaceAllString(string(lines), "")), " ")
			if err != nil || got != row.want {
				t.Errorf("pip is asked for %q, %v, want %q", got, err, row.want)
			}
		})
	}
}

// TestByteCodeIsKept: it goes with the packages, says itself whether it is up to
// date, and is the same wherever it was made.
func TestByteCodeIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin: charm", map[string]string{"requirements.txt": "left==1.0\n"})
	w.want(1, "left-1.0")
	c, err := charmdir.Read(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	hold, err := w.Build(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Release()
	var b bytes.Buffer
	if _, err := c.Archive(&b); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	there := false
	for _, f := range z.File {
		there = there || strings.HasPrefix(f.Name, "venv/left/__pycache__/__init__.")
	}
	if !there {
		t.Error("the charm has no byte code")
	}
	made := byteCode(t, filepath.Join(w.Cache, "*"))
	if made[4] != 3 { // PEP 552: by the source's hash, which is looked at
		t.Errorf("byte code: % x…", made[:16])
	}
	// Somewhere else, later.
	in := install{Builder: w.Builder, work: t.TempDir()}
	if in.python, err = w.Hooks.python(t.Context(), w.project()); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(in.target(), "left"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in.target(), "left", "__init__.py"), []byte("version = '1.0'\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := in.compile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, byteCode(t, in.target())) {
		t.Error("the byte code differs")
	}
}

// byteCode is that of the package left below a directory.
func byteCode(t *testing.T, dir string) []byte {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "left", "__pycache__", "__init__.*.pyc"))
	if err != nil || len(found) != 1 {
		t.Fatalf("byte code: %v, %v", found, err)
	}
	data, err := os.ReadFile(found[0])
	if err != nil || len(data) < 16 {
		t.Fatalf("byte code: % x, %v", data, err)
	}
	return data
}
