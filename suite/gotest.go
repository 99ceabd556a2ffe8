package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// silence is how long a run of tests may have nothing to say before it is ended:
// far longer than any test takes on a busy host.
const silence = 15 * time.Minute

// goTest runs "go test" with the arguments, and ends it where there is silence for
// that long. In CI what has failed is run again, alone: see again.
func goTest(args []string, silence time.Duration, out io.Writer) (int, error) {
	file := os.Getenv(accountVariable)
	if file == "" {
		adopt()
	}
	rep := newReport(out)
	code, used, err := rep.run(args, silence)
	if err != nil {
		return 1, err
	}
	rep.end(code)
	if code != 0 && os.Getenv("CI") == "true" {
		if code, err = again(args, rep, silence, out, code); err != nil {
			return 1, err
		}
	}
	if file == "" {
		printSlowest(out, rep.tests)
		fmt.Fprintf(out, "processor time: %.0f s\n", (used.user + used.sys).Seconds())
		return code, nil
	}
	return code, putDown(file, rep.tests)
}

// run runs "go test" and puts down what it says. It returns its exit code, and what
// it has had of the processor.
func (r *report) run(args []string, silence time.Duration) (int, usage, error) {
	in, w, err := os.Pipe()
	if err != nil {
		return 1, usage{}, err
	}
	defer in.Close()
	c := command{args: append([]string{"go", "test", "-json", "-timeout=0"}, args...), env: os.Environ(), stdout: w, group: true}
	p, err := c.start()
	w.Close()
	if err != nil {
		return 1, usage{}, err
	}
	watch := watchFor(silence, func() {
		r.hangs(silence)
		p.send(syscall.SIGQUIT)
		time.AfterFunc(time.Minute, func() { p.send(syscall.SIGKILL) })
	})
	defer watch.stop()
	// It waits from the beginning: tests may wait for the end of what they have left
	// behind, and this process is its parent.
	ended := make(chan struct{})
	var code int
	var used usage
	go func() {
		defer close(ended)
		code, used = p.wait()
	}()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			watch.heard()
			r.line(line)
		}
		if err != nil {
			break
		}
	}
	<-ended
	return code, used, nil
}

// watchdog calls its function once nothing has been heard for some time.
type watchdog struct {
	timer *time.Timer
	after time.Duration
}

func watchFor(after time.Duration, bark func()) *watchdog {
	return &watchdog{timer: time.AfterFunc(after, bark), after: after}
}

func (w *watchdog) heard() { w.timer.Reset(w.after) }

func (w *watchdog) stop() { w.timer.Stop() }

// report makes text for people of what "go test -json" says.
type report struct {
	mu       sync.Mutex
	out      io.Writer
	said     map[key]*strings.Builder // what tests that haven't ended have said
	running  map[key]bool
	failed   []key
	skipped  map[string]int // by reason
	hung     bool           // it was ended, so that not all has run
	panicked bool           // a program was, and some of its tests with it
	raced    bool           // there was a data race, for which all that ran at its time is blamed
	// racing are the packages that are in the middle of telling of one.
	racing map[string]bool
	tests  []test
}

// key names a test of a package; without a name it is the package.
type key struct{ pkg, test string }

func newReport(out io.Writer) *report {
	return &report{out: out, said: map[key]*strings.Builder{}, running: map[key]bool{}, skipped: map[string]int{}, racing: map[string]bool{}}
}

// line takes one line of the output. What is no event is handed on as it is.
func (r *report) line(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := parseEvent(line)
	if !ok {
		_, _ = r.out.Write(line)
		return
	}
	k := key{e.Package, e.Test}
	switch e.Action {
	case "run", "cont":
		r.running[k] = true
	case "pause":
		delete(r.running, k)
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		r.output(k, e.Output)
	case "pass", "skip", "fail":
		r.ended(k, e)
	}
}

// output keeps what a test says until it has ended. What a package says goes out
// at once, but for what every package says.
func (r *report) output(k key, text string) {
	if strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ") {
		r.panicked = true
	}
	if strings.Contains(text, "race detected during execution of test") {
		r.raced = true
	}
	if r.tellsRace(k.pkg, text) {
		fmt.Fprint(r.out, text)
		return
	}
	if k.test == "" {
		if text != "PASS\n" && text != "FAIL\n" {
			fmt.Fprint(r.out, text)
		}
		return
	}
	for _, noise := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "} {
		if strings.HasPrefix(text, noise) {
			text = ""
		}
	}
	if r.said[k] == nil {
		r.said[k] = &strings.Builder{}
	}
	r.said[k].WriteString(text)
}

// tellsRace says whether a line is of what the race detector has found. That may seem to
// be said by any test, which needn't fail.
func (r *report) tellsRace(pkg, text string) bool {
	was := r.racing[pkg]
	if strings.HasPrefix(text, "WARNING: DATA RACE") {
		r.racing[pkg] = true
	} else if was && strings.HasPrefix(text, "==================") {
		r.racing[pkg] = false
	}
	return was || r.racing[pkg]
}

func (r *report) ended(k key, e event) {
	if k.test == "" {
		r.packageEnded(k.pkg, e.Action)
		return
	}
	said := r.said[k]
	delete(r.said, k)
	delete(r.running, k)
	r.tests = append(r.tests, test{k.pkg, k.test, time.Duration(e.Elapsed * float64(time.Second))})
	switch {
	case e.Action == "skip" && said != nil:
		r.skipped[reason(said.String())]++
	case e.Action == "fail":
		r.failed = append(r.failed, k)
		if said != nil {
			fmt.Fprint(r.out, verdictFirst(said.String()))
		}
	}
}

// verdictFirst puts the line that names the test before what it has said, as "go
// test" has it.
func verdictFirst(said string) string {
	var verdict, rest strings.Builder
	for line := range strings.Lines(said) {
		if strings.HasPrefix(strings.TrimSpace(line), "--- FAIL: ") {
			verdict.WriteString(line)
		} else {
			rest.WriteString(line)
		}
	}
	return verdict.String() + rest.String()
}

// packageEnded prints what tests have said that can't be blamed by name: they
// never ended, as their process did, by a panic mostly.
func (r *report) packageEnded(pkg, action string) {
	var left []key
	for k := range r.said {
		if k.pkg == pkg {
			left = append(left, k)
		}
	}
	slices.SortFunc(left, func(a, b key) int { return strings.Compare(a.test, b.test) })
	for _, k := range left {
		if action == "fail" && r.said[k].Len() > 0 {
			fmt.Fprintf(r.out, "--- %s %s has not ended; it has said:\n%s", short(pkg), k.test, r.said[k])
			r.failed, r.panicked = append(r.failed, k), true
		}
		delete(r.said, k)
	}
	if action == "fail" && !slices.ContainsFunc(r.failed, func(k key) bool { return k.pkg == pkg }) {
		r.failed = append(r.failed, key{pkg, ""})
	}
}

// hangs says which tests were running when nothing was heard any more.
func (r *report) hangs(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hung = true
	var names []string
	for k := range r.running {
		names = append(names, short(k.pkg)+" "+k.test)
	}
	slices.Sort(names)
	fmt.Fprintf(r.out, "FAIL: no test has had anything to say for %v; these have not ended:\n  %s\n", d, strings.Join(names, "\n  "))
}

// end says what was skipped and, once more, what has failed.
func (r *report) end(code int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var reasons []string
	for why, n := range r.skipped {
		reasons = append(reasons, fmt.Sprintf("  %d: %s", n, why))
	}
	slices.Sort(reasons)
	if len(reasons) > 0 {
		fmt.Fprintln(r.out, "skipped tests, by reason:\n"+strings.Join(reasons, "\n"))
	}
	for _, k := range r.failed {
		fmt.Fprintln(r.out, strings.TrimSpace("FAIL: "+short(k.pkg)+" "+k.test))
	}
	if code != 0 {
		fmt.Fprintln(r.out, "FAIL")
	}
}

// reason is why a test was skipped: the last line that it said of itself.
func reason(said string) string {
	why := "no reason given"
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--- SKIP") {
			why = line
		}
	}
	if file, rest, ok := strings.Cut(why, ": "); ok && strings.Contains(file, ".go:") {
		why = rest
	}
	return why
}
