package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// loader has the module's packages as they are on one platform.
type loader struct {
	dir    string
	fset   *token.FileSet
	sizes  types.Sizes
	done   map[string]*packages.Package // by ImportPath
	wanted map[string]bool              // what our packages import, of which analyzers have to know the functions
	roots  []*packages.Package          // what is to be looked at: each file of ours once
	faults []string                     // in files and types of ours
}

// listed is a package as "go list" tells of it.
type listed struct {
	ImportPath, Dir, Name, ForTest    string
	GoFiles, SFiles                   []string
	IgnoredGoFiles, IgnoredOtherFiles []string
	Imports, TestGoFiles              []string
	ImportMap                         map[string]string
	Module                            *packages.Module
	Error                             *struct{ Err string }
}

// ours says whether it is a package of the module.
func (p *listed) ours() bool { return p.Module != nil && p.Module.Main }

// load reads the packages of the module in a directory and finds their types.
func load(dir, platform string) (*loader, error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	sizes := types.SizesFor("gc", goarch)
	if !ok || sizes == nil {
		return nil, fmt.Errorf("%q is no GOOS/GOARCH", platform)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	l := &loader{
		dir: dir, fset: token.NewFileSet(), sizes: sizes, wanted: map[string]bool{},
		done: map[string]*packages.Package{"unsafe": {PkgPath: "unsafe", Name: "unsafe", Types: types.Unsafe}},
	}
	list, err := l.list(append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch))
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		for _, path := range p.Imports {
			l.wanted[path] = l.wanted[path] || p.ours()
		}
	}
	for _, p := range list { // each stands after those that it imports
		l.check(p)
	}
	return l, nil
}

// list are the packages of the module and all that they import, with their tests.
func (l *loader) list(env []string) ([]*listed, error) {
	cmd := exec.Command("go", "list", "-deps", "-test",
		"-json=ImportPath,Dir,Name,ForTest,GoFiles,SFiles,IgnoredGoFiles,IgnoredOtherFiles,Imports,TestGoFiles,ImportMap,Module,Error", "./...")
	cmd.Dir, cmd.Env, cmd.Stderr = l.dir, env, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var list []*listed
	for d := json.NewDecoder(out); err == nil; {
		p := new(listed)
		if err = d.Decode(p); err == nil && p.ImportPath != "unsafe" && !strings.HasSuffix(p.ImportPath, ".test") {
			list = append(list, p)
		}
	}
	if !errors.Is(err, io.EOF) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	return list, cmd.Wait()
}

// check finds the types of one package.
func (l *loader) check(p *listed) {
	path, _, _ := strings.Cut(p.ImportPath, " ")
	pkg := &packages.Package{
		ID: p.ImportPath, Name: p.Name, PkgPath: path, Fset: l.fset, TypesSizes: l.sizes, Module: p.Module, Imports: map[string]*packages.Package{},
		GoFiles: in(p.Dir, p.GoFiles), OtherFiles: in(p.Dir, p.SFiles), IgnoredFiles: append(in(p.Dir, p.IgnoredGoFiles), in(p.Dir, p.IgnoredOtherFiles)...),
	}
	l.done[p.ImportPath] = pkg
	whole := p.ours() || l.wanted[p.ImportPath] || p.ForTest != ""
	if p.ours() && p.Error != nil {
		l.faults = append(l.faults, p.Error.Err)
	}
	fault := func(err error) {
		if pkg.IllTyped = true; p.ours() {
			l.faults = append(l.faults, strings.TrimPrefix(err.Error(), l.dir+"/"))
		}
	}
	mode := parser.SkipObjectResolution
	if whole {
		mode = parser.ParseComments | parser.SkipObjectResolution
		pkg.TypesInfo = &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
			Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
			Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{},
		}
	}
	for _, name := range pkg.GoFiles {
		f, err := parser.ParseFile(l.fset, name, nil, mode)
		if err != nil {
			fault(err)
		}
		if f != nil {
			pkg.Syntax = append(pkg.Syntax, f)
		}
	}
	config := types.Config{Importer: importer{l, p}, IgnoreFuncBodies: !whole, FakeImportC: true, Sizes: l.sizes, Error: fault}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	pkg.Types, _ = config.Check(path, l.fset, pkg.Syntax, pkg.TypesInfo)
	if !whole {
		pkg.Syntax = nil
		return
	}
	for _, path := range p.Imports { // what analyzers shall go on to
		if dep := l.done[path]; dep.TypesInfo != nil {
			pkg.Imports[dep.PkgPath] = dep
		}
	}
	// A package that has tests inside is looked at with those, once.
	if p.ours() && (p.ForTest == "" && len(p.TestGoFiles) == 0 || p.ForTest == strings.TrimSuffix(path, "_test") || p.ForTest == path) {
		l.roots = append(l.roots, pkg)
	}
}

func in(dir string, names []string) []string {
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

// importer finds what a package imports among what was loaded before it.
type importer struct {
	l *loader
	p *listed
}

// Import is part of types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if to := i.p.ImportMap[path]; to != "" {
		path = to
	}
	if found := i.l.done[path]; found != nil && found.Types != nil {
		return found.Types, nil
	}
	return nil, fmt.Errorf("cannot find %q", path)
}
