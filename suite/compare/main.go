// Compare measures another revision and the tree as it is, by turns:
//
//	compare [-count N] [-only REGEXP] OLD
//
// It is "make bench-compare OLD=REV". OLD is checked out as a worktree of git in a
// directory of temporary files. The benchmarks of both are built once, and then run
// N times each, one after the other, so that what else the machine does falls on
// both; benchstat says what has changed, and how sure that is. A package that OLD
// doesn't have is measured here alone.
//
// Both the directory and the worktree are gone afterwards, also after an interrupt.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

// benchstat is the program that compares; it is no part of the module.
const benchstat = "golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da"

// chosen are benchmarks of docs/performance.md that end soon enough to be run many
// times.
var chosen = []benchmark{
	{"./machine", "NoopHook$", "200x"},
	{"./machine", "JoinPeers/at-once/100$", "1x"},
	{"./tools", "(ToolCall|RoundTrip|ConfigGet)$", "300x"},
	{"./state/store/sqlite", "Store$/Update", "300x"},
	{"./uniter/journal", "Store$", "300x"},
	{"./uniter/journal", "Join$/100$", "1x"},
}

// programs are what these benchmarks start, with the package of each.
var programs = map[string]string{"unitd-hooktool": "./cmd/hooktool"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ERROR", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	count := f.Int("count", 6, "how often each benchmark is run, of each tree; benchstat wants 6 to be sure of anything")
	only := f.String("only", "", "run only those whose package and name match this regular expression")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 || *count < 1 {
		return errors.New("usage: compare [-count N] [-only REGEXP] OLD, of which OLD is a revision of git")
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	c := comparison{
		old: f.Arg(0), count: *count, programs: programs, out: out, progress: os.Stderr,
		benchmarks: matching(chosen, wanted), stat: []string{"go", "run", benchstat},
	}
	if len(c.benchmarks) == 0 {
		return fmt.Errorf("no benchmark matches %q", *only)
	}
	return c.run(ctx)
}

// matching are the benchmarks that match.
func matching(all []benchmark, wanted *regexp.Regexp) (some []benchmark) {
	for _, b := range all {
		if wanted.MatchString(b.pkg + " " + b.name) {
			some = append(some, b)
		}
	}
	return some
}
