package unitd_test

import (
	"go/ast"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNothingIsCompiledBeforeItIsUsed keeps what costs every start of the program out
// of the variables of packages, and compiles the patterns that are there instead.
func TestNothingIsCompiledBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	packages, patterns := parsePackages(t), 0
	for folder, files := range packages {
		if r, ok := lineOf(folder); folder == "pattern" || !ok || r.reach == standard {
			continue
		}
		for _, f := range files {
			for _, fault := range compiledAtStart(f.File) {
				t.Errorf("%s: %s in a variable of the package: use pattern.New", f.name, fault)
			}
			ast.Inspect(f.File, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || nameOf(call.Fun) != "pattern.New" {
					return true
				}
				patterns++
				if expression, ok := constant(call.Args[0]); ok {
					if _, err := regexp.Compile(expression); err != nil {
						t.Errorf("%s: %v", f.name, err)
					}
				}
				return true
			})
		}
	}
	if patterns < 40 {
		t.Errorf("found only %d patterns", patterns)
	}
}

// TestTheProgramDoesNotLinkWhatKeepsEachMethod: html/template calls methods by names
// that it learns at run time, so a program that links it has all exported methods of
// all types, and takes an eighth longer to start. The Makefile's tags keep it out.
func TestTheProgramDoesNotLinkWhatKeepsEachMethod(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	tags := regexp.MustCompile(`(?m)^export GOFLAGS := .*-tags=(\S+?)\)?$`).FindSubmatch(makefile)
	if tags == nil {
		t.Fatal("the Makefile sets no tags")
	}
	out, err := exec.Command("go", "list", "-deps", "-tags="+string(tags[1]), "./cmd/unitd").Output()
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(strings.Fields(string(out)), "html/template") {
		t.Error("unitd links html/template")
	}
}

// compiledAtStart are the calls of regexp.MustCompile that run whenever a program
// starts that has the file.
func compiledAtStart(f *ast.File) []string {
	var found []string
	for _, decl := range f.Decls {
		if _, ok := decl.(*ast.GenDecl); !ok {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if _, ok := n.(*ast.FuncLit); ok {
				return false
			}
			if call, ok := n.(*ast.CallExpr); ok && nameOf(call.Fun) == "regexp.MustCompile" {
				found = append(found, "regexp.MustCompile")
			}
			return true
		})
	}
	return found
}

// nameOf is the name of what is called, with its package.
func nameOf(fun ast.Expr) string {
	if sel, ok := fun.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok {
			return x.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

// constant is the value of literals of strings and their sums; of names it has none.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		left, ok := constant(e.X)
		right, also := constant(e.Y)
		return left + right, ok && also
	}
	return "", false
}
