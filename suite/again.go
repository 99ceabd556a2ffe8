package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mostAgain is how many tests may have failed for them to be run again. If more
// have, it isn't chance.
const mostAgain = 5

// again runs the tests that have failed once more, with nothing beside them. Those
// that pass now are named as flaky, and the run hasn't failed for them: a change
// isn't to blame for what fails by chance, and who reads the log learns what to mend.
// Where it can't be said which tests have failed, as the run was ended for its
// silence, or a program by a panic, or as there was a data race, all is run again;
// what had passed comes out of go test's cache. It returns the exit code.
func again(args []string, first *report, silence time.Duration, out io.Writer, code int) (int, error) {
	runs := [][]string{args}
	failed, named := first.leaves()
	if named {
		if len(failed) > mostAgain {
			return code, nil
		}
		runs = nil
		for _, k := range failed {
			runs = append(runs, onlyTest(args, k))
		}
	}
	for i, run := range runs {
		fmt.Fprintln(out, "once more, alone: go test "+strings.Join(run, " "))
		rep := newReport(out)
		again, _, err := rep.run(run, silence)
		if err != nil {
			return 1, err
		}
		if rep.end(again); again != 0 {
			return again, nil
		}
		if named && !slices.ContainsFunc(rep.tests, func(t test) bool { return t.pkg == failed[i].pkg && t.name == failed[i].test }) {
			fmt.Fprintln(out, "FAIL: "+short(failed[i].pkg)+" "+failed[i].test+" wasn't there to be run again")
			return code, nil
		}
	}
	for _, k := range first.failed {
		fmt.Fprintln(out, strings.TrimSpace("FLAKY: "+short(k.pkg)+" "+k.test)+" has failed, and passed when it was run again")
	}
	return 0, nil
}

// leaves are the tests that have failed, without those that failed as a part of
// them did. False: that isn't all that has failed.
func (r *report) leaves() ([]key, bool) {
	var leaves []key
	for _, k := range r.failed {
		if k.test == "" {
			return nil, false
		}
		if !slices.ContainsFunc(r.failed, func(o key) bool { return o.pkg == k.pkg && strings.HasPrefix(o.test, k.test+"/") }) {
			leaves = append(leaves, k)
		}
	}
	return leaves, !r.hung && !r.panicked && !r.raced && len(leaves) > 0
}

// valued are the flags of runs whose values may be arguments of their own; dropped are those that
// say which tests are run, and how often.
var (
	valued  = []string{"-run", "-skip", "-bench", "-benchtime", "-parallel", "-count", "-timeout", "-tags"}
	dropped = []string{"-run", "-skip", "-bench", "-benchtime"}
)

// onlyTest has the flags of a run, and the one test in place of all that it ran.
func onlyTest(args []string, k key) []string {
	var only []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case slices.Contains(valued, a):
			if i++; !slices.Contains(dropped, a) && i < len(args) {
				only = append(only, a, args[i])
			}
		case strings.HasPrefix(a, "-"):
			only = append(only, a)
		}
	}
	parts := strings.Split(k.test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return append(only, "-run", strings.Join(parts, "/"), k.pkg)
}
