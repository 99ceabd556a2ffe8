package charmdir

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/juju/errors"
)

// craft is a charmcraft.yaml with parts.
func craft(parts string) string {
	return "name: a\ntype: charm\nparts:\n  " + strings.ReplaceAll(parts, "\n", "\n  ") + "\n"
}

func TestWhatIsATreeThatHasToBeBuilt(t *testing.T) {
	t.Parallel()
	program := files{"src/charm.py*": "", "requirements.txt": "ops"}
	for _, row := range []struct {
		name string
		in   files
		want string // plugin and requirements
	}{
		{"no charmcraft.yaml: it is a charm as it is", program.with("metadata.yaml", "name: a"), ""},
		{"parts that copy", program.with("charmcraft.yaml", craft("x: {plugin: dump, source: .}")), ""},
		{"parts that copy what isn't here", program.with("charmcraft.yaml", craft("x: {plugin: dump, source: 'https://x', organize: {a: b}}")), ""},
		{"packed before", program.with("charmcraft.yaml", craft("charm: {}")).with("manifest.yaml", "bases: []"), ""},
		{"no parts, and a program", program.with("charmcraft.yaml", "name: a"), "charm requirements.txt"},
		{"no parts, and a dispatch", program.with("charmcraft.yaml", "name: a").with("dispatch*", ""), ""},
		{"no parts, and hooks", program.with("charmcraft.yaml", "name: a").with("hooks/install*", ""), ""},
		{"no parts, and a uv.lock", program.with("charmcraft.yaml", "name: a").with("uv.lock", ""), "uv"},
		{"no parts, and a pyproject.toml beside requirements.txt", program.with("charmcraft.yaml", "name: a").with("pyproject.toml", ""), "charm requirements.txt"},
		{"a part that is named after its plugin", program.with("charmcraft.yaml", craft("charm: {source: .}")), "charm requirements.txt"},
		{"requirements by name", program.with("charmcraft.yaml", craft("x: {plugin: charm, charm-requirements: [r.txt]}")).with("r.txt", ""), "charm r.txt"},
		{"packages by name", program.with("charmcraft.yaml", craft("x: {plugin: charm, charm-python-packages: [six], charm-binary-python-packages: [b]}")),
			"charm requirements.txt b six"},
		{"which ones may be binaries is none to install", program.with("charmcraft.yaml", craft("x: {plugin: charm, charm-strict-dependencies: true, charm-binary-python-packages: [b]}")),
			"charm requirements.txt"},
		{"libraries need packages", program.with("charmcraft.yaml", craft("charm: {}")).with("lib/charms/tls/v4/tls.py",
			"LIBAPI = 4\nPYDEPS = [\n    \"pydantic>=2\",  # it's needed\n    'cryptography[x]; python_version > \"3.8\"',\n]\n").with("lib/charms/a/v0/b.py", `PYDEPS = ["cosl"]`),
			`charm requirements.txt cosl cryptography[x]; python_version > "3.8" pydantic>=2`},
		{"the python plugin", program.with("charmcraft.yaml", craft("x: {plugin: python, python-packages: [six], python-constraints: [c.txt]}")).with("c.txt", ""),
			"python requirements.txt c.txt six"},
		{"the poetry plugin", program.with("charmcraft.yaml", craft("x: {plugin: poetry, poetry-with: [a]}")).with("poetry.lock", ""), "poetry main a"},
		{"the poetry plugin that exports something else", program.with("charmcraft.yaml",
			craft("x: {plugin: poetry, poetry-export-extra-args: ['--only=main,charm-libs', -E, e, '--without-hashes']}")), "poetry e main charm-libs"},
		{"no parts, and a poetry.lock", files{"src/charm.py*": "", "charmcraft.yaml": "name: a", "pyproject.toml": "", "poetry.lock": ""}, "poetry main"},
		{"a script that makes it all", program.with("charmcraft.yaml", craft("x: {plugin: nil, override-build: make}")), "charm requirements.txt"},
		{"a script beside the part that makes it", program.with("charmcraft.yaml", craft("x: {plugin: nil, override-build: make}\ncharm: {}")), "charm requirements.txt"},
		{"a script in a charm that runs", program.with("charmcraft.yaml", craft("x: {plugin: nil, override-build: make}")).with("dispatch*", ""), ""},
		{"a part that does nothing", program.with("charmcraft.yaml", craft("x: {plugin: nil}")), ""},
		{"the uv plugin", program.with("charmcraft.yaml", craft("x: {plugin: uv, uv-extras: [e], uv-groups: [g]}")), "uv e g"},
		{"a program, and a plugin that isn't known, in a charm that runs", program.with("charmcraft.yaml", craft("charm: {}\nx: {plugin: rust}")).with("hooks/install*", ""),
			"charm requirements.txt"},
		{"a plugin that isn't known, of a charm that runs", program.with("charmcraft.yaml", craft("x: {plugin: rust}")).with("dispatch*", ""), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c, err := ReadDir(row.in.dir(t))
			must(t, err)
			got := ""
			if p := c.Project; p != nil {
				got = strings.Join(slices.Concat([]string{p.Plugin}, p.Requirements, p.Constraints, p.Packages, p.Extras, p.Groups), " ")
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestWhatIsNotFollowedIsNamed(t *testing.T) {
	t.Parallel()
	c, err := ReadDir(files{"src/charm.py*": "", "poetry.lock": "", "charmcraft.yaml": craft("deps: {plugin: nil, override-build: make}\n" +
		"x: {plugin: poetry, override-build: craftctl default, poetry-export-extra-args: [--dev], poetry-pip-extra-args: [-v]}")}.dir(t))
	must(t, err)
	want := []string{"deps: override-build", "x: poetry-export-extra-args: --dev", "x: poetry-pip-extra-args", "x: override-build"}
	if !slices.Equal(c.Project.Ignored, want) {
		t.Errorf("got  %v\nwant %v", c.Project.Ignored, want)
	}
}

func TestTreesThatCannotBeBuiltAreRefused(t *testing.T) {
	t.Parallel()
	program := files{"src/charm.py*": ""}
	for _, row := range []struct {
		name string
		in   files
		want string
	}{
		{"a plugin that isn't known", program.with("charmcraft.yaml", craft("x: {plugin: rust}")),
			`charmcraft.yaml:4: parts.x: plugin "rust" isn't known here (charm, dump, nil, poetry, python and uv are): pack the charm with charmcraft, and deploy the .charm file`},
		{"a filter that leaves out the program", program.with("charmcraft.yaml", craft("charm: {prime: [-src]}")),
			"charmcraft.yaml: parts.charm.prime: it leaves out the charm's program, src/charm.py"},
		{"a filter that doesn't name the program", program.with("charmcraft.yaml", craft("x: {plugin: uv, prime: [lib]}")),
			"charmcraft.yaml: parts.x.prime: it leaves out the charm's program, src/charm.py"},
		{"no program", files{"charmcraft.yaml": craft("charm: {}")}, "charmcraft.yaml: parts.charm: there is no program src/charm.py"},
		{"a program outside", files{"charmcraft.yaml": craft("charm: {charm-entrypoint: ../x}")}, `charmcraft.yaml: parts.charm.charm-entrypoint: "../x" isn't the path of a program inside the charm`},
		{"a program that a shell would run", files{"charmcraft.yaml": craft("charm: {charm-entrypoint: src/$(x).py}"), "src/$(x).py*": ""},
			`charmcraft.yaml: parts.charm.charm-entrypoint: "src/$(x).py" isn't the path of a program inside the charm`},
		{"no such requirements", program.with("charmcraft.yaml", craft("charm: {charm-requirements: [r.txt]}")), `charmcraft.yaml:4: parts.charm: there is no file "r.txt"`},
		{"two programs", program.with("charmcraft.yaml", craft("a: {plugin: uv}\nb: {plugin: charm}")),
			`charmcraft.yaml:5: parts.b: a second part that is a charm's program; part "a" is one`},
		{"source elsewhere", program.with("charmcraft.yaml", craft("charm: {source: 'https://x'}")),
			`charmcraft.yaml:4: parts.charm.source: only the folder of charmcraft.yaml itself, ".", is known here`},
		{"a folder that isn't there", program.with("charmcraft.yaml", craft("charm: {}\nx: {plugin: dump, source: ../y}")),
			`charmcraft.yaml:5: parts.x.source: "../y" isn't a folder of the charm's`},
		{"files that move", program.with("charmcraft.yaml", craft("charm: {}\nx: {plugin: dump, source: ., organize: {a: b}}")),
			`charmcraft.yaml:5: parts.x.organize: isn't known here: pack the charm with charmcraft, and deploy the .charm file`},
		{"a list that is none", program.with("charmcraft.yaml", craft("charm: {prime: x}")), `charmcraft.yaml:4: parts.charm.prime: expected a list, got "x"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := row.in.dir(t)
			_, err := ReadDir(dir)
			if want := "cannot read charm " + dir + ": " + row.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// built are the entries of the archive of a tree with a package "ops".
func built(t *testing.T, in files) (names []string, dispatch string) {
	t.Helper()
	c, err := ReadDir(in.dir(t))
	must(t, err)
	if _, err := c.Archive(io.Discard); c.Project != nil && err == nil {
		t.Error("an archive without what it needs")
	}
	c.Built(files{"ops/main.py": ""}.dir(t))
	var b bytes.Buffer
	_, err = c.Archive(&b)
	must(t, err)
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	must(t, err)
	for _, f := range z.File {
		if !f.FileInfo().IsDir() {
			names = append(names, f.Name)
		}
		if f.Name == "dispatch" {
			r, err := f.Open()
			must(t, err)
			text, err := io.ReadAll(r)
			must(t, err)
			dispatch = string(text)
			if f.Mode().Perm() != 0o755 {
				t.Errorf("dispatch has mode %v", f.Mode())
			}
		}
	}
	slices.Sort(names)
	return names, dispatch
}

func TestABuiltCharmHasWhatItsPartsTake(t *testing.T) {
	t.Parallel()
	tree := files{
		"src/charm.py*": "", "src/x.egg-info/PKG-INFO": "", "src/__pycache__/x.pyc": "", "lib/l.py": "", "templates/t": "", "templates/old/t": "", "actions.yaml": "", "README.md": "",
		".venv/bin/python@": "/usr/bin/python3", "venv/bin/python@": "/usr/bin/python3", ".tox/x@": "/x", "build/x@": "/x", "tests/unit@": "/x",
		"notes/a.txt": "", "notes/keep.txt": "", "extra/files/f": "", "extra/link@": "files/f", ".jujuignore": "# ours\ntests\n/notes/*\n!keep.txt\n",
	}
	made := []string{"dispatch", "metadata.yaml", "venv/ops/main.py"}
	all := []string{
		".jujuignore", "README.md", "actions.yaml", "extra/files/f", "extra/link", "lib/l.py", "notes/keep.txt", "src/charm.py", "templates/old/t", "templates/t",
	}
	for _, row := range []struct {
		name, parts string
		want        []string
	}{
		{"charm: all but what builds leave, and .jujuignore names", "charm: {}", all[1:]},
		{"uv: the program and its libraries", "x: {plugin: uv}", []string{"actions.yaml", "lib/l.py", "src/charm.py"}},
		{"with a part that copies some", "x: {plugin: uv}\ny: {plugin: dump, source: ., prime: [templates, -templates/old]}",
			[]string{"actions.yaml", "lib/l.py", "src/charm.py", "templates/t"}},
		{"with a part that copies a folder", "x: {plugin: uv}\ny: {plugin: dump, source: ./extra}",
			[]string{"actions.yaml", "files/f", "lib/l.py", "link", "src/charm.py"}},
		{"charm: the program and its libraries, whatever is named beside them", "charm: {prime: [extra]}",
			[]string{"README.md", "actions.yaml", "extra/files/f", "extra/link", "lib/l.py", "src/charm.py", "templates/old/t", "templates/t"}},
		{"all but some", "charm: {prime: [-templates, -notes/*, -extra]}", []string{"README.md", "actions.yaml", "lib/l.py", "src/charm.py"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, dispatch := built(t, tree.with("charmcraft.yaml", craft(row.parts)).with("pyproject.toml", ""))
			want := append(slices.Clone(made), row.want...)
			if strings.HasPrefix(row.parts, "charm") && !strings.Contains(row.parts, "[extra]") {
				want = append(want, "pyproject.toml")
			}
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
			if !strings.HasSuffix(dispatch, "\nexec python3 \"$dir/src/charm.py\"\n") {
				t.Errorf("dispatch:\n%s", dispatch)
			}
		})
	}
}

func TestACharmsOwnDispatchStays(t *testing.T) {
	t.Parallel()
	_, dispatch := built(t, files{"charmcraft.yaml": craft("charm: {}"), "src/charm.py*": "", "dispatch*": "#!/bin/own"})
	if dispatch != "#!/bin/own" {
		t.Errorf("dispatch:\n%s", dispatch)
	}
}

// TestALinkThatIsMovedOutOfTheCharmIsRefused: a part's folder becomes the
// charm's, and what was inside before may not be so then.
func TestALinkThatIsMovedOutOfTheCharmIsRefused(t *testing.T) {
	t.Parallel()
	c, err := ReadDir(files{
		"charmcraft.yaml": craft("charm: {prime: [src]}\nx: {plugin: dump, source: extra}"), "src/charm.py*": "", "extra/l@": "../src/charm.py",
	}.dir(t))
	must(t, err)
	c.Built("")
	_, err = c.Archive(io.Discard)
	if err == nil || !strings.HasSuffix(err.Error(), `entry "l": link to "../src/charm.py" leads out of the charm`) {
		t.Errorf("got %v", err)
	}
}

func TestATreeThatNamesTheCharmTwiceIsNotPacked(t *testing.T) {
	t.Parallel()
	dir := files{"metadata.yaml": "name: a\n", "charmcraft.yaml": "name: b\nbase: ubuntu@24.04\n"}.dir(t)
	c, err := ReadDir(dir)
	must(t, err)
	want := "cannot pack charm " + dir + `: its name is "a" in metadata.yaml and "b" in charmcraft.yaml`
	if err := c.AddManifest("amd64"); err == nil || err.Error() != want || !errors.Is(err, errors.NotValid) {
		t.Errorf("got %v", err)
	}
}

func TestManifestsHaveTheBases(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, craft, want string }{
		{"a base", "base: ubuntu@24.04", "ubuntu 24.04 [amd64]"},
		{"a base and platforms", "base: ubuntu@24.04\nplatforms: {amd64: , arm64: {build-on: [amd64], build-for: [arm64]}}", "ubuntu 24.04 [amd64 arm64]"},
		{"platforms without blanks", "base: ubuntu@24.04\nplatforms: {amd64:, arm64:}", "ubuntu 24.04 [amd64 arm64]"},
		{"a platform with a base, without blanks", "platforms: {ubuntu@22.04:amd64:}", "ubuntu 22.04 [amd64]"},
		{"platforms with bases", "platforms: {'ubuntu@22.04:amd64': , 'ubuntu@24.04:arm64': }", "ubuntu 22.04 [amd64] ubuntu 24.04 [arm64]"},
		{"a platform with a name", "platforms: {noble: {build-on: ['ubuntu@24.04:amd64'], build-for: ['ubuntu@24.04:riscv64']}}", "ubuntu 24.04 [riscv64]"},
		{"build-for as a word", "base: ubuntu@24.04\nplatforms: {any: {build-on: amd64, build-for: all}}", "ubuntu 24.04 [all]"},
		{"the old form, short", "bases: [{name: ubuntu, channel: '20.04'}]", "ubuntu 20.04 [amd64]"},
		{"the old form, long", "bases: [{build-on: [{name: ubuntu, channel: '20.04'}], run-on: [{name: centos, channel: '7', architectures: [arm64]}]}]", "centos 7 [arm64]"},
		{"what the caller says goes before", "base: ubuntu@24.04", "other 1 [x]"},
		{"not a base", "base: ubuntu", `charmcraft.yaml:2: base: invalid base "ubuntu": expected it as ubuntu@24.04`},
		{"a platform without a base", "platforms: {amd64: }", "charmcraft.yaml:2: platforms: a platform without a base: say base: ubuntu@24.04, or ubuntu@24.04:amd64 as its name"},
		{"not a list", "bases: ubuntu", `charmcraft.yaml:2: bases: expected a list, got "ubuntu"`},
		{"half a base", "bases: [{name: ubuntu}]", "charmcraft.yaml:2: bases: a base without a name or a channel"},
		{"only where it is built", "bases: [{build-on: []}]", "charmcraft.yaml:2: bases: build-on without run-on"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := files{"charmcraft.yaml": "name: a\n" + row.craft + "\n"}.dir(t)
			c, err := ReadDir(dir)
			must(t, err)
			var given []Base
			if strings.HasPrefix(row.want, "other") {
				given = []Base{{"other", "1", []string{"x"}}}
			}
			if err := c.AddManifest("amd64", given...); err != nil {
				if got := strings.TrimPrefix(err.Error(), "cannot pack charm "+dir+": "); got != row.want {
					t.Errorf("got  %v\nwant %s", got, row.want)
				}
				return
			}
			n, err := parse("manifest.yaml", c.generated["manifest.yaml"])
			must(t, err)
			bases, err := oldBases(n.get("bases"), "")
			must(t, err)
			var got []string
			for _, b := range bases {
				got = append(got, b.Name, b.Channel, "["+strings.Join(b.Architectures, " ")+"]")
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("got %v, want %s", got, row.want)
			}
		})
	}
	c, err := ReadDir(files{"metadata.yaml": "name: a", "manifest.yaml": "bases: []"}.dir(t))
	must(t, err)
	must(t, c.AddManifest("amd64"))
	if c.generated["manifest.yaml"] != nil {
		t.Error("its own manifest.yaml is not used")
	}
	if err := c.AddManifest("amd64", Base{}); err == nil || !strings.Contains(err.Error(), "it has a manifest.yaml, which says what it runs on") {
		t.Errorf("got %v", err)
	}
	must(t, os.Remove(filepath.Join(c.Path, "manifest.yaml")))
	if err := c.AddManifest("amd64"); !errors.Is(err, errors.NotFound) || !strings.Contains(err.Error(), "nothing says which base it runs on") {
		t.Errorf("got %v", err)
	}
}

// FuzzProject: whatever the parts of a charmcraft.yaml say, the error is one
// line of text, and what is taken has names inside the charm.
func FuzzProject(f *testing.F) {
	for _, parts := range []string{
		"x: {plugin: uv, uv-groups: [a]}", "charm: {prime: [-a, b/*, '[']}", "a: {plugin: dump, source: ./x/../y}", "charm: {charm-entrypoint: /x}", "x: []", "{}",
	} {
		f.Add(craft(parts)+"platforms: {'ubuntu@24.04:amd64': {build-for: [all]}}\n", "# x\n!a/\n/b/[\n")
	}
	f.Add("name: a\nbases: [{run-on: [{name: x, channel: y}]}]\n", "*")
	f.Fuzz(func(t *testing.T, craft, ignored string) {
		dir := files{"charmcraft.yaml": craft, ".jujuignore": ignored, "src/charm.py*": "", "lib/l.py": "", "x/y@": "../src"}.dir(t)
		line := func(err error) {
			if err != nil && strings.ContainsFunc(strings.ReplaceAll(err.Error(), dir, ""), unprintable) {
				t.Fatalf("an error that isn't a line of text: %q", err)
			}
		}
		c, err := ReadDir(dir)
		line(err)
		if err != nil {
			return
		}
		line(c.AddManifest("amd64"))
		c.Built("")
		_, err = c.Archive(io.Discard)
		line(err)
		if c.Project == nil {
			return
		}
		for _, name := range []string{"src/charm.py", "lib/l.py", "x/y", "x", "dispatch"} {
			for _, got := range c.Project.names(name) {
				if err := checkName(got); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		}
	})
}
