package unitd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	lifecycleRow = regexp.MustCompile(`(?m)^\| (.+) \| (.+) \| (.+) \| (.+) \|$`)
	quoted       = regexp.MustCompile("`([^`]+)`")
)

// TestEachRuleOfTheLifecyclesIsKeptAndShown compares docs/lifecycles.md with the
// functions and tests that it names, and says all that is amiss at once.
func TestEachRuleOfTheLifecyclesIsKeptAndShown(t *testing.T) {
	t.Parallel()
	c := code{t: t, packages: map[string]*parsed{}}
	rows := 0
	for _, row := range lifecycleRow.FindAllStringSubmatch(read(t, "docs/lifecycles.md"), -1) {
		rule, kept, shown := row[1], quoted.FindAllStringSubmatch(row[3], -1), quoted.FindAllStringSubmatch(row[4], -1)
		if rule == "rule" {
			continue
		}
		rows++
		if len(kept) == 0 || len(shown) == 0 {
			t.Errorf("%s: no function, or no test", rule)
		}
		for _, name := range kept {
			if !c.hasFunction(name[1]) {
				t.Errorf("%s: there is no function %s", rule, name[1])
			}
		}
		for _, name := range shown {
			if !c.hasTest(name[1]) {
				t.Errorf("%s: there is no test %s", rule, name[1])
			}
		}
	}
	if rows == 0 {
		t.Fatal("docs/lifecycles.md has no table")
	}
}

// code finds functions and tests by name, in packages that it has parsed once.
type code struct {
	t        *testing.T
	packages map[string]*parsed
}

// parsed is a package: its functions, those of its tests, as "Type.Method" or
// "Function", and the strings that its tests have in them.
type parsed struct{ functions, tests, strings []string }

// hasFunction finds "folder.Function" and "folder.Type.Method".
func (c code) hasFunction(name string) bool {
	folder, function, _ := strings.Cut(name, ".")
	return slices.Contains(c.parse(folder).functions, function)
}

// hasTest finds "folder.TestName", "folder.TestName/case", and scripts.
func (c code) hasTest(name string) bool {
	if strings.HasSuffix(name, ".txtar") {
		for _, dir := range []string{"script", "cmd/unitd"} {
			if _, err := os.Stat(filepath.Join(dir, "testdata", "script", name)); err == nil {
				return true
			}
		}
		return false
	}
	dot := strings.IndexByte(name, '.')
	if dot < 0 {
		return false
	}
	p := c.parse(name[:dot])
	test, part, parts := strings.Cut(name[dot+1:], "/")
	return slices.Contains(p.tests, test) && (!parts || slices.Contains(p.strings, part))
}

func (c code) parse(folder string) *parsed {
	if p, ok := c.packages[folder]; ok {
		return p
	}
	p := &parsed{}
	c.packages[folder] = p
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			c.t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			p.functions = append(p.functions, functionsOf(f)...)
			continue
		}
		p.tests = append(p.tests, functionsOf(f)...)
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				p.strings = append(p.strings, strings.Trim(lit.Value, "\"`"))
			}
			return true
		})
	}
	return p
}

func functionsOf(f *ast.File) []string {
	var names []string
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := fn.Name.Name
		if fn.Recv != nil {
			typ := fn.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			if id, ok := typ.(*ast.Ident); ok {
				name = id.Name + "." + name
			}
		}
		names = append(names, name)
	}
	return names
}
