package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cost is what a stage has taken: of the clock, and of the processor with all
// processes that it has started.
type cost struct {
	stage          string
	wall, cpu, sys time.Duration
}

// stages runs the stages one after the other, all of them or until one fails, and
// prints the account. It returns the exit code of the first one that fails.
func stages(program string, names []string, all bool, out io.Writer) (int, error) {
	dir, err := os.MkdirTemp("", "unitd-suite-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "account")
	adopt()
	var costs []cost
	var failed []string
	code := 0
	for _, name := range names {
		fmt.Fprintf(out, "== %s\n", name)
		begun := time.Now()
		c := command{args: []string{program, "--no-print-directory", name}, env: append(os.Environ(), accountVariable+"="+file), stdout: os.Stdout}
		p, err := c.start()
		if err != nil {
			return 1, err
		}
		got, used := p.wait()
		costs = append(costs, cost{name, time.Since(begun), used.user + used.sys, used.sys})
		if got == 0 {
			continue
		}
		failed = append(failed, fmt.Sprintf("FAIL: the stage %q has failed\n", name))
		fmt.Fprint(out, failed[len(failed)-1])
		if code = cmp.Or(code, got); !all {
			break
		}
	}
	tests, err := readAccount(file)
	if err != nil {
		return 1, err
	}
	printSlowest(out, tests)
	printCosts(out, costs)
	if all { // it has scrolled away
		fmt.Fprint(out, strings.Join(failed, ""))
	}
	return code, nil
}

// printCosts prints the sum of what the stages have taken, and each.
func printCosts(out io.Writer, costs []cost) {
	var all cost
	for _, c := range costs {
		all.wall, all.cpu, all.sys = all.wall+c.wall, all.cpu+c.cpu, all.sys+c.sys
	}
	fmt.Fprintf(out, "processor time: %.0f s (%.0f s of it in the system), in %.0f s\n", all.cpu.Seconds(), all.sys.Seconds(), all.wall.Seconds())
	for _, c := range costs {
		fmt.Fprintf(out, "  %7.1f s  %s, in %.0f s\n", c.cpu.Seconds(), c.stage, c.wall.Seconds())
	}
}

// test is one that has ended, with the time that it took by the clock, without
// that in which it waited for its turn.
type test struct {
	pkg, name string
	took      time.Duration
}

// slowest is how many tests are named at the end.
const slowest = 10

// printSlowest prints the slowest tests. One with subtests is left to those.
func printSlowest(out io.Writer, tests []test) {
	parents := map[test]bool{}
	for _, t := range tests {
		if i := strings.LastIndexByte(t.name, '/'); i > 0 {
			parents[test{pkg: t.pkg, name: t.name[:i]}] = true
		}
	}
	tests = slices.DeleteFunc(slices.Clone(tests), func(t test) bool { return parents[test{pkg: t.pkg, name: t.name}] })
	slices.SortStableFunc(tests, func(a, b test) int { return cmp.Compare(b.took, a.took) })
	if len(tests) == 0 {
		return
	}
	fmt.Fprintln(out, "the slowest tests:")
	for _, t := range tests[:min(slowest, len(tests))] {
		fmt.Fprintf(out, "  %7.1f s  %s %s\n", t.took.Seconds(), short(t.pkg), t.name)
	}
}

// short is a package without its module's name.
func short(pkg string) string {
	const module = "github.com/unitd/unitd"
	if pkg == module {
		return "."
	}
	return strings.TrimPrefix(pkg, module+"/")
}

// putDown adds tests to the account, a line for each.
func putDown(file string, tests []test) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, t := range tests {
		if _, err := fmt.Fprintf(f, "%d %s %s\n", t.took, t.pkg, t.name); err != nil {
			return err
		}
	}
	return f.Close()
}

// readAccount reads what stages have put down; no file is no tests.
func readAccount(file string) ([]test, error) {
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var tests []test
	for line := range strings.Lines(string(data)) {
		var t test
		if _, err := fmt.Sscanf(line, "%d %s %s", &t.took, &t.pkg, &t.name); err != nil {
			return nil, fmt.Errorf("cannot read the account of the tests: %q: %w", line, err)
		}
		tests = append(tests, t)
	}
	return tests, nil
}
