package bench_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/bench"
)

// options measure little, with an agent that is a script.
func options(script string) bench.Options {
	return bench.Options{
		Store: "store.db", Units: 1, Count: 3, Rounds: 1,
		Agent: func(string) *exec.Cmd { return exec.Command("sh", "-c", script) },
	}
}

// What is measured with a real agent is tested with the program: see cmd/unitd.
func TestACommitIsMeasuredBesideAWrite(t *testing.T) {
	t.Parallel()
	o := options("exit 1")
	o.Only = []string{"commit"}
	var told []int
	o.Progress = func(name string, done, of int) { told = append(told, done) }
	r := run(t, o, nil)
	if len(r.Figures) != 1 {
		t.Fatalf("have %+v", r.Figures)
	}
	if f := r.Figures[0]; f.Name != "commit" || f.Took <= 0 || f.Least <= 0 || f.Ratio() <= 0 || f.Count != 3 {
		t.Errorf("have %+v", f)
	}
	if len(told) != 3 || r.Processors < 1 || r.System == "" {
		t.Errorf("told %v, have %+v", told, r)
	}
}

func TestAnAgentThatEndsIsTheErrorWithItsLastWord(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"echo one >&2; echo no room here >&2; exit 3":                        "no room here",
		"exec 1>&-; read -r line; echo gone >&2; exit 1":                     "gone",
		`echo '{"Used":1}'; read -r line; exit 0`:                            "isn't ready",
		`echo '{"Ready":true}'; read -r line; exit 0`:                        "the agent has ended",
		`printf '{"Ready":true}\n{"Run":{"Failed":"x: y"}}\n'; read -r line`: "x: y",
	} {
		o := options(script)
		o.Only = []string{"crowd"}
		run(t, o, func(err error) bool { return strings.Contains(err.Error(), want) })
	}
}

func TestItEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	o := options("")
	o.Only = []string{"hook"}
	o.Agent = func(string) *exec.Cmd {
		time.AfterFunc(0, cancel) // at any time from then on
		return exec.Command("sh", "-c", `echo '{"Ready":true}'; exec cat >/dev/null`)
	}
	o.Temp = t.TempDir()
	if _, err := bench.Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("have %v", err)
	}
	isEmpty(t, o.Temp)
}

func TestWhatCannotBeMeasuredIsNotValid(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*bench.Options){
		"no such figure": func(o *bench.Options) { o.Only = []string{"commit", "speed"} },
		"no units":       func(o *bench.Options) { o.Units = 0 },
		"no count":       func(o *bench.Options) { o.Count = -1 },
		"no rounds":      func(o *bench.Options) { o.Rounds = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options("exit 1")
			change(&o)
			run(t, o, func(err error) bool { return errors.Is(err, errors.NotValid) })
		})
	}
}

// run measures in a directory that must be empty afterwards. failed says whether
// an error is the right one; nil: there must be none.
func run(t *testing.T, o bench.Options, failed func(error) bool) bench.Report {
	t.Helper()
	o.Temp = t.TempDir()
	r, err := bench.Run(t.Context(), o)
	if failed == nil && err != nil || failed != nil && (err == nil || !failed(err)) {
		t.Errorf("have error %v", err)
	}
	isEmpty(t, o.Temp)
	return r
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
