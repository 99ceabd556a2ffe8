// Package unitd_test holds the walls between the rooms of this module: which
// package may import which, and which must stay pure.
package unitd_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/unitd/unitd"

// reach says what a room may import from outside the module.
type reach int

const (
	anything reach = iota
	// standard: the standard library only. A hook tool's start-up is every
	// hook's time, and a charm program stands for charms written elsewhere.
	standard
	// pure: no input, output, clock, chance or goroutine. Such a room can be
	// tested by tables, explored and replayed.
	pure
)

// room is one line of the map. A folder that ends in "/..." stands for all
// below it.
type room struct {
	folder  string
	reach   reach
	imports []string // folders of this module; all stand above the line
}

// rooms is the map of the module. No room imports what stands below it. A new
// package gets its line here, and a new import across rooms is a change of the
// design: its commit says why.
var rooms = []room{
	{"durable", anything, nil},
	{"pattern", anything, nil},
	{"mounts", anything, nil},
	{"schema", pure, nil},
	{"model", pure, nil},
	{"names", pure, []string{"model"}},
	{"starter", pure, []string{"model"}},
	{"publish", anything, nil},
	{"hooks", pure, []string{"model"}},
	{"replay", pure, nil},
	{"relation", pure, []string{"hooks", "model"}},
	{"uniter/resolver", pure, []string{"hooks", "model", "relation"}},
	{"uniter/sim", pure, []string{"hooks", "model", "relation", "uniter/resolver"}},
	{"uniter/journal", anything, []string{"durable", "model", "relation", "uniter/resolver"}},
	{"uniter", anything, []string{"durable", "hooks", "model", "uniter/journal", "uniter/resolver"}},
	{"threads", anything, nil},
	{"peer", anything, []string{"threads"}},
	{"pebble", anything, []string{"peer"}},
	{"pebble/pebbletest", anything, nil},
	{"hooks/runner", anything, []string{"durable", "mounts"}},
	{"tunnel", anything, nil},
	{"isolate", anything, []string{"durable", "hooks/runner", "model", "mounts", "threads", "tunnel"}},
	{"isolate/isolatetest", anything, nil},
	{"oci", anything, []string{"durable"}},
	{"workload", anything, []string{"durable", "isolate", "oci", "pebble"}},
	{"context", anything, []string{"hooks", "model"}},
	{"tools/wire", standard, nil},
	{"tools/client", standard, []string{"tools/wire"}},
	{"tools", anything, []string{"context", "hooks", "model", "tools/wire"}},
	{"charmdir", anything, []string{"durable", "hooks", "model"}},
	{"charmbuild", anything, []string{"charmdir"}},
	{"charmhub", anything, nil},
	{"charmhub/folder", anything, []string{"charmdir", "charmhub", "model"}},
	{"charmhub/hubtest", anything, []string{"charmhub/folder"}},
	{"debuglog", anything, []string{"durable"}},
	{"journald", anything, nil},
	{"agentlog", anything, []string{"debuglog", "durable", "journald"}},
	{"service", anything, nil},
	{"service/units", standard, nil},
	{"sealed", anything, []string{"durable"}},
	{"debugger", anything, nil},
	{"terminal", anything, nil},
	{"sessions", anything, []string{"terminal"}},
	{"history", anything, []string{"durable", "hooks", "model"}},
	{"footprint", anything, nil},
	{"audit", anything, []string{"debuglog", "history", "model", "uniter/resolver", "uniter/sim"}},
	{"recording", anything, []string{"durable", "footprint", "history", "model", "tools/wire"}},
	{"recording/tap", anything, []string{"peer", "recording"}},
	{"state/store", anything, nil},
	{"state/store/storetest", anything, []string{"state/store"}},
	{"state/store/sqlite", anything, []string{"state/store"}},
	{"state/store/memory", anything, []string{"state/store"}},
	{"state/store/staged", anything, []string{"state/store"}},
	{"state/store/etcd", anything, []string{"state/store", "state/store/staged"}},
	{"state/store/served", anything, []string{"peer", "state/store", "state/store/staged"}},
	{"state/store/etcd/etcdtest", anything, []string{"state/store", "state/store/etcd", "state/store/sqlite"}},
	{"state", anything, []string{"model", "schema", "state/store"}},
	{"state/statetest", anything, []string{"model", "state", "state/store"}},
	{"external", anything, []string{"model", "state"}},
	{"storage", anything, []string{"charmdir", "durable", "model", "mounts"}},
	{"kube", anything, nil},
	{"systemd", anything, []string{"model"}},
	{"machine", anything, []string{
		"charmdir", "context", "debugger", "debuglog", "durable", "external", "footprint", "history", "hooks", "hooks/runner", "isolate", "kube", "model", "names", "oci", "pebble", "publish", "recording", "recording/tap", "relation",
		"state", "state/store", "storage", "systemd", "tools", "tools/wire", "tunnel", "uniter", "uniter/journal", "uniter/resolver", "workload",
	}},
	{"scale", anything, []string{"hooks", "machine", "model", "state", "state/store", "state/store/memory", "uniter/resolver"}},
	{"bench", anything, []string{"charmdir", "history", "hooks", "machine", "model", "mounts", "state", "state/store", "state/store/sqlite"}},
	{"script/lab", anything, []string{"hooks", "machine", "model", "state/store", "state/store/etcd", "state/store/sqlite"}},
	{"render", pure, []string{"bench", "debuglog", "footprint", "history", "hooks", "kube", "model", "state"}},
	{"waitfor", pure, []string{"model", "render", "state"}},
	{"why", anything, []string{"hooks", "hooks/runner", "machine", "model", "state", "uniter/journal", "uniter/resolver"}},
	{"opsstate", anything, nil},
	{"script/memory", anything, []string{"hooks/runner", "machine", "model", "opsstate", "replay", "script/lab", "state", "tools", "tools/wire"}},
	{"page", pure, []string{"debuglog", "history", "model", "state", "why"}},
	{"page/live", anything, []string{"debuglog", "durable", "history", "machine", "model", "opsstate", "page", "state", "state/store", "why"}},
	{"page/browser", anything, nil},
	{"telemetry/collector", anything, nil},
	{"telemetry", anything, []string{"history", "machine", "model", "state/store"}},
	{"top", anything, []string{"debuglog", "model", "page", "render"}},
	{"bases", anything, []string{"isolate", "model", "oci"}},
	{"script/trees", anything, []string{"charmdir", "durable"}},
	{"script", anything, []string{
		"audit", "bases", "charmdir", "debuglog", "durable", "footprint", "history", "hooks", "hooks/runner", "isolate", "machine", "model", "pebble", "recording", "render", "script/lab", "script/memory", "script/trees", "sealed", "state", "state/store", "state/store/etcd/etcdtest", "storage", "tools", "why", "workload",
	}},
	{"backup", anything, []string{"charmdir", "durable", "history", "machine", "state", "uniter/journal", "uniter/resolver"}},
	{"agent", anything, []string{
		"agentlog", "backup", "charmbuild", "durable", "history", "hooks", "hooks/runner", "isolate", "machine", "model", "mounts", "peer", "script/lab", "sealed", "service", "sessions", "state", "state/store", "state/store/etcd", "state/store/served", "state/store/sqlite", "storage", "telemetry", "tools", "workload",
	}},
	{"script/labagent", anything, []string{"agent", "machine", "model", "script/lab", "script/memory", "state", "state/store"}},
	{"debugger/session", anything, []string{"debugger", "durable", "isolate", "machine", "model", "terminal"}},
	{"deploy", anything, []string{"agent", "bases", "charmbuild", "charmdir", "charmhub", "charmhub/folder", "hooks", "isolate", "kube", "machine", "model", "oci", "render", "state", "terminal", "workload"}},
	{"check", anything, []string{"history", "hooks", "isolate", "model", "pattern", "recording", "schema", "script"}},
	{"check/web", pure, []string{"check", "page"}},
	{"bundle", anything, []string{"agent", "charmdir", "charmhub", "deploy", "model", "render", "state"}},
	{"cli", anything, []string{
		"agent", "agentlog", "backup", "bases", "bench", "bundle", "charmbuild", "charmdir", "charmhub", "check", "check/web", "debugger/session", "debuglog", "deploy", "durable", "external", "footprint", "history", "hooks", "hooks/runner", "isolate", "machine", "model", "oci", "page", "page/live", "pebble", "peer", "recording", "recording/tap",
		"render", "script", "script/lab", "script/labagent", "service", "service/units", "sessions", "starter", "state", "state/store", "state/store/etcd", "state/store/served", "state/store/sqlite", "terminal", "tools", "top", "uniter/resolver", "waitfor", "why", "workload",
	}},
	{"testcharms", anything, nil},
	{"testcharms/images", standard, nil},
	{"testcharms/images/save", standard, []string{"testcharms/images"}},
	{"testcharms/...", standard, nil},
	{"clients", anything, []string{"testcharms"}},
	{"suite", standard, nil},
	{"suite/action", standard, nil},
	{"suite/compare", standard, nil},
	{"suite/dist", standard, []string{"service/units", "testcharms/images"}},
	{"suite/lint", anything, nil},
	{"suite/picture", standard, nil},
	{"cmd/hooktool", standard, []string{"tools/client"}},
	{"cmd/unitd", anything, []string{"cli", "isolate", "oci", "tools", "tools/client", "tunnel"}},
}

// everywhere are what each room may import that may import something: tools for the
// source itself, without a say in what is done.
var everywhere = []string{"pattern"}

// outside is all that a pure room may import from outside the module.
var outside = []string{
	"bytes", "cmp", "crypto/sha256", "embed", "encoding/base64", "encoding/binary", "encoding/json", "fmt", "hash/fnv", "html", "iter", "maps", "math", "math/big", "net/netip", "net/url", "path", "reflect", "regexp", "slices", "strconv", "strings", "time", "unicode", "unicode/utf8",
	"github.com/juju/errors", "gopkg.in/yaml.v3",
}

// impure are the functions of those packages that read a clock, wait, or print
// to a place that they weren't given.
var impure = []string{
	"fmt.Print", "fmt.Printf", "fmt.Println",
	"time.After", "time.AfterFunc", "time.NewTicker", "time.NewTimer", "time.Now",
	"time.Since", "time.Sleep", "time.Tick", "time.Until",
}

func TestEachPackageImportsOnlyWhatTheMapAllows(t *testing.T) {
	t.Parallel()
	packages := parsePackages(t)
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		r, ok := lineOf(folder)
		if !ok {
			t.Errorf("%s has no line in the map of rooms", folder)
			continue
		}
		for _, f := range packages[folder] {
			for _, fault := range r.faults(f) {
				t.Error(fault)
			}
		}
	}
}

func TestNoRoomMayImportWhatStandsBelowIt(t *testing.T) {
	t.Parallel()
	above := map[string]bool{}
	for _, r := range rooms {
		for _, i := range r.imports {
			if !above[i] {
				t.Errorf("%s may import %s, which doesn't stand above it", r.folder, i)
			}
		}
		if above[r.folder] {
			t.Errorf("%s has two lines", r.folder)
		}
		above[r.folder] = true
	}
}

// TestTheArchitectureShowsTheMap compares the table in the document with the
// map.
func TestTheArchitectureShowsTheMap(t *testing.T) {
	t.Parallel()
	doc := read(t, "docs/architecture.md")
	for _, r := range rooms {
		if strings.HasSuffix(r.folder, "/...") {
			continue
		}
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(r.folder) + "/`.*\\| (.*) \\|$").FindStringSubmatch(doc)
		want := cmp.Or(strings.Join(r.imports, ", "), "–")
		if row == nil {
			t.Errorf("docs/architecture.md has no row for `%s/`", r.folder)
		} else if row[1] != want && row[1] != "most of those above" {
			t.Errorf("docs/architecture.md: `%s/` imports %s, the map has %s", r.folder, row[1], want)
		}
	}
}

func TestTheWallsHold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, folder, source, want string
	}{
		{"a pure room may not import what does input or output", "hooks", `import "os"`, `imports "os"`},
		{"a pure room may not read the clock", "relation", `import "time"; var t = time.Now()`, "calls time.Now"},
		{"a pure room may not read the clock under another name", "relation", `import clock "time"; var t = clock.Now()`, "calls time.Now"},
		{"a pure room may not start a goroutine", "model", `func f() { go f() }`, "starts a goroutine"},
		{"a room may not import a room that its line doesn't have", "relation", `import "github.com/unitd/unitd/tools"`, "imports tools"},
		{"a hook tool's client may import the standard library only", "tools/client", `import "github.com/juju/errors"`, "juju/errors"},
		{"what is allowed is no fault", "relation", `import ("time"; "github.com/unitd/unitd/model"); var d time.Duration; var l model.Life`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, "planted.go", "package p; "+c.source, 0)
			if err != nil {
				t.Fatal(err)
			}
			r, _ := lineOf(c.folder)
			got := strings.Join(r.faults(file{c.folder + "/planted.go", f}), "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if _, ok := lineOf("helpers"); ok {
		t.Error("a package without a line has one")
	}
	if r, ok := lineOf("testcharms/echo/src"); !ok || r.reach != standard {
		t.Error("a charm program has no line, or may import more than the standard library")
	}
}

// lineOf is the line of a folder: its own, else that of the nearest "/...".
func lineOf(folder string) (room, bool) {
	byFolder := map[string]room{}
	for _, r := range rooms {
		byFolder[r.folder] = r
	}
	if r, ok := byFolder[folder]; ok {
		return r, true
	}
	for dir := path.Dir(folder); dir != "."; dir = path.Dir(dir) {
		if r, ok := byFolder[dir+"/..."]; ok {
			return r, true
		}
	}
	return room{}, false
}

// file is one parsed file, with its path below the module's root.
type file struct {
	name string
	*ast.File
}

// parsePackages has the non-test files of every package, on any platform, by
// folder.
func parsePackages(t *testing.T) map[string][]file {
	t.Helper()
	packages := map[string][]file{}
	fset := token.NewFileSet()
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(fset, filepath.FromSlash(name), nil, parser.SkipObjectResolution)
		packages[path.Dir(name)] = append(packages[path.Dir(name)], file{name, f})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 10 {
		t.Fatalf("found only %d packages: is this the module's root?", len(packages))
	}
	return packages
}

// faults are the ways in which a file breaks the walls of its room.
func (r room) faults(f file) []string {
	var faults []string
	names := map[string]string{} // local name of each import from outside
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s: import %s: %v", f.name, spec.Path.Value, err))
			continue
		}
		if inside, ok := strings.CutPrefix(imported, module+"/"); ok {
			if !slices.Contains(r.imports, inside) && (r.reach == standard || !slices.Contains(everywhere, inside)) {
				faults = append(faults, fmt.Sprintf("%s: room %s imports %s", f.name, r.folder, inside))
			}
			continue
		}
		if !r.allows(imported) {
			faults = append(faults, fmt.Sprintf("%s: room %s imports %q", f.name, r.folder, imported))
		}
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
	}
	if r.reach == pure {
		faults = append(faults, impurities(f, names)...)
	}
	return faults
}

func (r room) allows(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	switch r.reach {
	case pure:
		return slices.Contains(outside, imported)
	case standard:
		return !strings.Contains(first, ".")
	}
	return true
}

// impurities are the goroutines that a file starts and the impure functions
// that it names.
func impurities(f file, names map[string]string) []string {
	var faults []string
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			faults = append(faults, f.name+": a pure room starts a goroutine")
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			if called := cmp.Or(names[x.Name], "?") + "." + n.Sel.Name; slices.Contains(impure, called) {
				faults = append(faults, f.name+": a pure room calls "+called)
			}
		}
		return true
	})
	return faults
}
