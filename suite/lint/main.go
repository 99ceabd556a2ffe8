// Lint looks for faults in all packages of the module with their tests: for this
// platform by all that "go vet" and staticcheck know, for the others that it is
// told, as GOOS/GOARCH, by what "go vet" knows. Nothing is compiled: types come from
// source, of which the functions of what we don't import ourselves are left out.
// So it takes a fraction of what these two programs do, which look at all that is
// imported by anything.
//
//	go run ./suite/lint [GOOS/GOARCH...]
//
// It prints a line for each fault, and ends with exit code 1 if there is any.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
)

func main() {
	debug.SetGCPercent(400) // it lives for seconds
	faults, err := lint(".", os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
	}
	if err != nil || faults > 0 {
		os.Exit(1)
	}
}

// lint looks at the module in a directory, and prints and counts its faults.
func lint(dir string, others []string, out io.Writer) (int, error) {
	this := runtime.GOOS + "/" + runtime.GOARCH
	all := map[string]bool{}
	others = slices.DeleteFunc(slices.Clone(others), func(other string) bool { return other == this })
	for _, platform := range append([]string{this}, others...) {
		analyzers := vet
		if platform == this {
			analyzers = slices.Concat(vet, staticchecks())
		}
		l, err := load(dir, platform)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", platform, err)
		}
		faults := l.faults
		if len(faults) == 0 {
			if faults, err = l.analyze(analyzers); err != nil {
				return 0, fmt.Errorf("%s: %w", platform, err)
			}
		}
		slices.Sort(faults)
		for _, fault := range faults {
			if !all[fault] {
				fmt.Fprintln(out, fault)
			}
			all[fault] = true
		}
		fmt.Fprintf(out, "%s: %d packages, %d faults\n", platform, len(l.roots), len(faults))
	}
	return len(all), nil
}

// analyze has each of the module's packages looked at by the analyzers.
func (l *loader) analyze(analyzers []*analysis.Analyzer) ([]string, error) {
	graph, err := checker.Analyze(analyzers, l.roots, nil)
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, act := range graph.Roots {
		if act.Err != nil {
			return nil, fmt.Errorf("%v: %w", act, act.Err)
		}
		for _, d := range act.Diagnostics {
			faults = append(faults, fmt.Sprintf("%s: %s (%s)", l.position(l.fset.Position(d.Pos)), d.Message, act.Analyzer.Name))
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults), nil
}

// position is a place in a file, by the file's path in the module.
func (l *loader) position(p fmt.Stringer) string {
	return strings.TrimPrefix(p.String(), l.dir+"/")
}
