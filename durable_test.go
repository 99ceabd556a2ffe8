package unitd_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// agents are the rooms of which an agent is made: what they do to files goes
// through package durable, so that a test can kill an agent at each step.
var agents = []string{"uniter", "uniter/journal", "hooks/runner", "charmdir", "debuglog", "history", "recording", "machine", "agentlog", "storage"}

// past are the functions by which a step would go past package durable, by the
// package that has them. Nobody can write to a file that was opened for reading.
var past = map[string][]string{
	"os": {
		"Chmod", "Chown", "Chtimes", "CopyFS", "Create", "CreateTemp", "Lchown", "Link", "Mkdir", "MkdirAll", "MkdirTemp", "NewFile",
		"OpenFile", "OpenInRoot", "OpenRoot", "Remove", "RemoveAll", "Rename", "Root", "Symlink", "Truncate", "WriteFile",
	},
	"syscall": {
		"Chmod", "Creat", "Fchmod", "Fdatasync", "Fsync", "Ftruncate", "Link", "Mkdir", "Open", "Pwrite", "Rename", "Rmdir", "Symlink",
		"Sync", "Truncate", "Unlink", "Write",
	},
	// A disk of one's own would have no Around.
	module + "/durable": {"Disk{}"},
	"io/ioutil":         {"*"}, "golang.org/x/sys/unix": {"*"},
}

// exempt are files for those who read what agents write, which no agent uses,
// and those that speak with the kernel of processes: what they make isn't on any
// disk.
var exempt = []string{"debuglog/follow.go", "hooks/runner/cgroup_linux.go", "hooks/runner/reaper_linux.go"}

func TestWhatAgentsWriteGoesThroughPackageDurable(t *testing.T) {
	t.Parallel()
	packages := parsePackages(t)
	for _, folder := range agents {
		if len(packages[folder]) == 0 {
			t.Errorf("there is no %s", folder)
		}
		for _, f := range packages[folder] {
			if slices.Contains(exempt, f.name) {
				continue
			}
			for _, fault := range goesPast(f) {
				t.Error(fault)
			}
		}
	}
}

func TestNoStepGoesPastPackageDurable(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`import "os"; func f() { os.Rename("a", "b") }`:                                                                    "os.Rename",
		`import files "os"; var write = files.WriteFile`:                                                                   "os.WriteFile",
		`import "os"; func f(g *os.File) { g.Sync() }`:                                                                     "Sync",
		`import "golang.org/x/sys/unix"; func f() { unix.Fdatasync(1) }`:                                                   "unix.Fdatasync",
		`import "github.com/unitd/unitd/durable"; var d = durable.Disk{}`:                                                  "durable.Disk{}",
		`import "os"; import "github.com/unitd/unitd/durable"; func f(d durable.Disk) { d.Rename("a","b"); os.Open("a") }`: "",
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "planted.go", "package p; "+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(goesPast(file{"planted.go", f}), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

// goesPast are the ways in which a file does something that lasts by itself.
func goesPast(f file) (faults []string) {
	names := map[string]string{} // the import of each local name
	for _, spec := range f.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
	}
	fault := func(x ast.Expr, name string) {
		id, ok := x.(*ast.Ident)
		if !ok {
			return
		}
		imported := names[id.Name]
		if found := past[imported]; slices.Contains(found, name) || slices.Contains(found, "*") {
			faults = append(faults, fmt.Sprintf("%s: %s.%s goes past package durable", f.name, path.Base(imported), name))
		}
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			fault(n.X, n.Sel.Name)
			if x, ok := n.X.(*ast.Ident); n.Sel.Name == "Sync" && (!ok || names[x.Name] == "") {
				faults = append(faults, fmt.Sprintf("%s: %s.Sync goes past package durable", f.name, cmp.Or(fmt.Sprint(n.X), "it")))
			}
		case *ast.CompositeLit:
			if s, ok := n.Type.(*ast.SelectorExpr); ok {
				fault(s.X, s.Sel.Name+"{}")
			}
		}
		return true
	})
	return faults
}
