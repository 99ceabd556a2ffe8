package script

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/juju/errors"
	"github.com/rogpeppe/go-internal/testscript"
)

// Suite runs scripts outside of "go test", as "unitd test" does.
type Suite struct {
	Params
	// Match is what the name of a script must match to be run; nil: any.
	Match *regexp.Regexp
	// Parallel is how many run at once; 0: as many as there are processors.
	Parallel int
	// Verbose shows what scripts do that don't fail as well.
	Verbose bool
	// Out gets a line for each script and the log of those that failed; JSON
	// makes that one object for each.
	Out  io.Writer
	JSON bool
	// Progress, where it is set, is told how far the run has come, about once a second, and
	// of an empty one before Out gets something.
	Progress func(Progress)
}

// Outcome is what became of one script.
type Outcome struct {
	Name    string  `json:"name"`
	File    string  `json:"file"`
	Outcome string  `json:"outcome"` // "pass", "fail" or "skip"
	Seconds float64 `json:"seconds"`
	Output  string  `json:"output,omitempty"`
}

// The outcomes of a script.
const (
	Passed  = "pass"
	Failed  = "fail"
	Skipped = "skip"
)

// Run runs the scripts and returns what became of each, in the order in which
// they ended. The error says why none could be run.
func (s *Suite) Run(ctx context.Context) ([]Outcome, error) {
	var files []string
	for name, file := range named(s.Files) {
		if s.Match == nil || s.Match.MatchString(name) {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, errors.NewNotFound(nil, "no script has such a name")
	}
	p := s.Params
	p.Files = files
	width := s.Parallel
	if width <= 0 {
		width = runtime.NumCPU()
	}
	readyTesting()
	r := &suiteRun{suite: s, turns: make(chan struct{}, width), names: named(files), running: map[string]time.Time{}}
	defer r.tell()()
	top := &suiteTest{of: r}
	if !top.protect(func() { RunT(ctx, top, p) }) {
		return nil, errors.New(strings.TrimSpace(top.log.String()))
	}
	r.wait.Wait()
	return r.outcomes, nil
}

// readyTesting has package testing say whether tests are to be short, as testscript asks it for
// the conditions "short" and "net": outside of "go test" nobody has its flags.
var readyTesting = sync.OnceFunc(func() {
	if !flag.Parsed() {
		testing.Init()
		_ = flag.CommandLine.Parse(nil) // without arguments nothing is wrong with them
	}
})

// suiteRun is one run of a Suite.
type suiteRun struct {
	suite *Suite
	turns chan struct{}
	names map[string]string
	wait  sync.WaitGroup

	mu       sync.Mutex
	outcomes []Outcome
	running  map[string]time.Time // since when, by their names
}

// suiteTest is a testscript.T.
type suiteTest struct {
	of   *suiteRun
	name string

	mu      sync.Mutex
	log     strings.Builder
	started time.Time
	failed  bool
	skipped bool
	turn    bool
}

var _ testscript.T = (*suiteTest)(nil)

// Run is part of testscript.T: the tests run beside each other.
func (t *suiteTest) Run(name string, f func(testscript.T)) {
	inner := &suiteTest{of: t.of, name: name}
	t.of.wait.Add(1)
	go func() {
		defer t.of.wait.Done()
		inner.protect(func() { f(inner) })
		if inner.turn {
			<-t.of.turns
		}
		t.of.done(inner)
	}()
}

// protect calls f on a goroutine of its own, which FailNow can end, and says
// whether it came to its end.
func (t *suiteTest) protect(f func()) bool {
	ended, whole := make(chan struct{}), false
	go func() {
		defer close(ended)
		f()
		whole = true
	}()
	<-ended
	return whole
}

// Parallel is part of testscript.T.
func (t *suiteTest) Parallel() {
	t.of.turns <- struct{}{}
	t.turn, t.started = true, time.Now()
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.running[t.name] = t.started
}

// Log is part of testscript.T.
func (t *suiteTest) Log(args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintln(&t.log, args...)
}

// Skip is part of testscript.T.
func (t *suiteTest) Skip(args ...any) {
	t.Log(args...)
	t.skipped = true
	runtime.Goexit()
}

// Fatal is part of testscript.T.
func (t *suiteTest) Fatal(args ...any) {
	t.Log(args...)
	t.FailNow()
}

// FailNow is part of testscript.T.
func (t *suiteTest) FailNow() {
	t.failed = true
	runtime.Goexit()
}

// Verbose is part of testscript.T.
func (t *suiteTest) Verbose() bool { return t.of.suite.Verbose }

// done notes and prints what became of a script.
func (r *suiteRun) done(t *suiteTest) {
	o := Outcome{Name: t.name, File: r.names[t.name], Outcome: Passed, Seconds: time.Since(t.started).Seconds()}
	switch {
	case t.failed:
		o.Outcome = Failed
	case t.skipped:
		o.Outcome = Skipped
	}
	if t.failed || t.skipped || r.suite.Verbose {
		o.Output = strings.TrimSpace(t.log.String())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes = append(r.outcomes, o)
	delete(r.running, t.name)
	r.quiet()
	if r.suite.JSON {
		_ = json.NewEncoder(r.suite.Out).Encode(o) // who doesn't listen doesn't want to know
		return
	}
	fmt.Fprintf(r.suite.Out, "%-4s  %-48s %6.2fs\n", o.Outcome, o.Name, o.Seconds)
	if o.Output != "" {
		fmt.Fprintf(r.suite.Out, "\n    %s\n\n", strings.ReplaceAll(o.Output, "\n", "\n    "))
	}
}

// WriteJUnit writes the outcomes in the form that CI systems read.
func WriteJUnit(path string, outcomes []Outcome) error {
	type message struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type testcase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		File    string   `xml:"file,attr"`
		Time    string   `xml:"time,attr"`
		Failure *message `xml:"failure,omitempty"`
		Skipped *message `xml:"skipped,omitempty"`
	}
	suite := struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skips    int        `xml:"skipped,attr"`
		Time     string     `xml:"time,attr"`
		Cases    []testcase `xml:"testcase"`
	}{Name: "unitd test", Tests: len(outcomes)}
	total := 0.0
	for _, o := range outcomes {
		c := testcase{Class: "unitd", Name: o.Name, File: o.File, Time: fmt.Sprintf("%.3f", o.Seconds)}
		switch o.Outcome {
		case Failed:
			suite.Failures++
			c.Failure = &message{Message: "the script failed", Text: o.Output}
		case Skipped:
			suite.Skips++
			c.Skipped = &message{Message: o.Output}
		}
		total += o.Seconds
		suite.Cases = append(suite.Cases, c)
	}
	suite.Time = fmt.Sprintf("%.3f", total)
	b, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Annotate(os.WriteFile(path, append([]byte(xml.Header), append(b, '\n')...), 0o644), "cannot write the JUnit file")
}
