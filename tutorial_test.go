package unitd_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// The tutorial's conventions: a line that begins with a file's name in bold
// code (several: several files of the same text) stands before the block with
// its text. A block of the language "console" has commands after "$ ", each with
// what it prints; the words after "console" say what is not as usual: "exit 1",
// and "any order" of the lines. In what is printed "…" stands for anything in
// a line, and alone in a line for any lines; times of day and durations are
// not compared.
const tutorial = "docs/testing-charms.md"

// TestTheTutorialIsTrue does what the tutorial says, from top to bottom,
// beginning with an empty directory, and compares what is printed.
func TestTheTutorialIsTrue(t *testing.T) {
	t.Parallel()
	steps, err := readTutorial(read(t, tutorial))
	if err != nil {
		t.Fatal(err)
	}
	r, jobs := newReader(t), 0
	for _, s := range steps {
		r.follow(s)
		if strings.HasPrefix(s.file, ".github/") {
			jobs++
			r.workflow(s)
		}
	}
	if jobs == 0 {
		t.Errorf("%s has no CI job", tutorial)
	}
	r.leavesNothing()
}

// tutorialStep is one thing that the reader does: writes a file, or runs a
// command.
type tutorialStep struct {
	line             int // in the document, from 1
	file, text       string
	command, printed string
	exit             int
	anyOrder         bool
}

var boldFile = regexp.MustCompile("\\*\\*`([^`]+)`\\*\\*")

// readTutorial has the steps of a document. A block that is neither a session
// nor the text of a named file is an error, so that nothing goes untried.
func readTutorial(text string) ([]tutorialStep, error) {
	var steps []tutorialStep
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		info, ok := strings.CutPrefix(lines[i], "```")
		if !ok {
			continue
		}
		first := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the block has no end", first)
		}
		block := lines[first:i]
		if what, ok := strings.CutPrefix(info, "console"); ok {
			steps = append(steps, session(block, first+1, strings.TrimSpace(what))...)
			continue
		}
		names := []string(nil)
		if first >= 2 && strings.HasPrefix(lines[first-2], "**`") {
			for _, m := range boldFile.FindAllStringSubmatch(lines[first-2], -1) {
				names = append(names, m[1])
			}
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("line %d: the block is no session, and no file is named before it", first)
		}
		for _, name := range names {
			steps = append(steps, tutorialStep{line: first, file: name, text: strings.Join(block, "\n") + "\n"})
		}
	}
	return steps, nil
}

// session has the commands of a block that begins in the given line.
func session(block []string, line int, what string) []tutorialStep {
	var steps []tutorialStep
	for i, text := range block {
		if command, ok := strings.CutPrefix(text, "$ "); ok {
			s := tutorialStep{line: line + i, command: command, anyOrder: what == "any order"}
			if what == "exit 1" {
				s.exit = 1
			}
			// Commands before the last one of a block prepare it.
			if n := len(steps); n > 0 {
				steps[n-1].exit = 0
			}
			steps = append(steps, s)
		} else if n := len(steps); n > 0 {
			steps[n-1].printed += text + "\n"
		}
	}
	return steps
}

// reader is who follows a tutorial.
type reader struct {
	t         *testing.T
	page      string // the tutorial
	dir       string
	home, bin string // bin is the first place of PATH
	temp      string // TMPDIR
	env       []string
}

// emptyHanded has an empty directory, a home, and what this host has.
func emptyHanded(t *testing.T, page string) *reader {
	// The sockets of agents are in it, and their paths have to be short.
	temp, err := os.MkdirTemp("", "u")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	r := &reader{t: t, page: page, dir: t.TempDir(), home: t.TempDir(), bin: t.TempDir(), temp: temp}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if name == "CI" || name == "BUILD_NUMBER" {
			continue // pytest shortens nothing there, and a reader's terminal is none
		}
		if !strings.HasPrefix(name, "UNITD_") && !strings.HasPrefix(name, "XDG_") && !strings.HasPrefix(name, "JUJU_") {
			r.env = append(r.env, v)
		}
	}
	r.env = append(r.env, "HOME="+r.home, "TMPDIR="+temp, "TZ=UTC", "UNITD_ISOLATE=off", "PWD="+r.dir,
		"PATH="+r.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return r
}

// newReader has also a "go" that gets this module from here instead of the network.
func newReader(t *testing.T) *reader {
	r := emptyHanded(t, tutorial)
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	// The reader's "go" is not to say what it fetches: all there is comes first.
	if out, err := exec.Command(program, "mod", "download").CombinedOutput(); err != nil {
		t.Fatalf("go mod download: %v: %s", err, out)
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS"} {
		out, err := exec.Command(program, "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		value := strings.TrimSpace(string(out))
		if name == "GOFLAGS" { // else "go test" would have all packages vetted
			value = strings.TrimSpace(value + " -vet=off")
		}
		r.env = append(r.env, name+"="+value)
	}
	programs := os.Getenv("UNITD_TEST_PROGRAMS")
	if programs != "" { // looked at, it is part of what a kept result is valid for
		if _, err := os.Stat(filepath.Join(programs, "unitd")); err != nil {
			t.Fatal(err)
		}
	}
	r.env = append(r.env, "GOPROXY=off", "GOWORK=")
	standIn := strings.NewReplacer("$GO", program, "$ROOT", root, "$BIN", r.bin, "$HOME", r.home, "$PROGRAMS", programs).Replace(goStandIn)
	if err := os.WriteFile(filepath.Join(r.bin, "go"), []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	return r
}

// goStandIn is the "go" of the reader: where the real one would take this
// module from the network, it takes the one that is tested, by a workspace. What
// is installed is built, unless the tests have been given it.
const goStandIn = `#!/bin/sh
set -eu
work='$HOME/go.work'
if [ -e "$work" ]; then export GOWORK="$work"; fi
case "$*" in
"install github.com/unitd/unitd/"*@latest)
	package=${2#github.com/unitd/unitd/}
	given='$PROGRAMS'/"$(basename "${package%@latest}")"
	if [ -n '$PROGRAMS' ] && [ -e "$given" ]; then exec cp "$given" '$BIN/'; fi
	cd '$ROOT'
	exec '$GO' build -o '$BIN/' "./${package%@latest}"
	;;
"get github.com/unitd/unitd/"*@latest)
	package=${2#github.com/unitd/unitd/}
	test -d '$ROOT'/"${package%@latest}"
	GOWORK="$work" exec '$GO' work init "$PWD" '$ROOT'
	;;
*)
	exec '$GO' "$@"
	;;
esac
`

// follow does what a step says.
func (r *reader) follow(s tutorialStep) {
	r.t.Helper()
	switch {
	case s.command == "":
		r.write(s)
	case strings.HasPrefix(s.command, "cd "):
		r.dir = filepath.Join(r.dir, strings.TrimPrefix(s.command, "cd "))
	default:
		r.run(s)
	}
}

// leavesNothing: what the tutorial has had started is gone, with its files.
func (r *reader) leavesNothing() {
	r.t.Helper()
	if left, err := os.ReadDir(r.temp); err != nil || len(left) > 0 {
		r.t.Errorf("%s leaves temporary files behind: %v, %v", r.page, left, err)
	}
}

func (r *reader) write(s tutorialStep) {
	path := filepath.Join(r.dir, s.file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(s.text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *reader) run(s tutorialStep) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", s.command)
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.dir, r.env, 10*time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // the exit code says it
	if got := cmd.ProcessState.ExitCode(); got != s.exit || !printedAs(out.String(), s.printed, s.anyOrder) {
		r.t.Fatalf("%s:%d: $ %s\nexit code %d, want %d\nprints:\n%s\nwanted:\n%s", r.page, s.line, s.command, got, s.exit, out.String(), s.printed)
	}
}

// workflow runs the commands of the CI job.
func (r *reader) workflow(s tutorialStep) {
	r.t.Helper()
	var w struct {
		Jobs map[string]struct {
			Steps []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal([]byte(s.text), &w); err != nil {
		r.t.Fatalf("%s:%d: %v", r.page, s.line, err)
	}
	for _, job := range w.Jobs {
		for _, step := range job.Steps {
			if step.Run != "" {
				r.run(tutorialStep{line: s.line, command: step.Run, printed: "…\n"})
			}
		}
	}
	b, err := os.ReadFile(filepath.Join(r.dir, "report.xml"))
	if err != nil || !bytes.Contains(b, []byte(`tests="3" failures="0"`)) {
		r.t.Errorf("%s:%d: the CI job's report is %q, %v", r.page, s.line, b, err)
	}
}

// aWait is what is said of scripts that take long, as on a busy machine.
var aWait = regexp.MustCompile(`(?m)^\d+ of \d+ done; running: .*\n`)

var aTime = regexp.MustCompile(`\d\d:\d\d:\d\dZ?|\s*\b\d+(\.\d+)?(ms|s|µs)\b`)

// printedAs says whether what was printed is what is wanted; see tutorial.
func printedAs(got, want string, anyOrder bool) bool {
	split := func(text string) []string {
		text = aWait.ReplaceAllString(text, "")
		var lines []string
		for _, line := range strings.Split(strings.Trim(text, "\n"), "\n") {
			lines = append(lines, aTime.ReplaceAllString(strings.TrimRight(line, " \t"), "TIME"))
		}
		if anyOrder {
			slices.Sort(lines)
		}
		return lines
	}
	return sameLines(split(got), split(want))
}

// sameLines: what stands between two "…" comes in its place as soon as it can.
func sameLines(got, want []string) bool {
	next := slices.Index(want, "…")
	if next < 0 {
		return len(got) == len(want) && begins(got, want)
	}
	if !begins(got, want[:next]) {
		return false
	}
	got, want = got[next:], want[next+1:]
	if next = slices.Index(want, "…"); next < 0 { // the rest is the end
		return len(got) >= len(want) && begins(got[len(got)-len(want):], want)
	}
	for i := range len(got) + 1 {
		if begins(got[i:], want[:next]) {
			return sameLines(got[i:], want)
		}
	}
	return false
}

// begins says whether the first lines are those that are wanted.
func begins(got, want []string) bool {
	for i, line := range want {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*")
		if i == len(got) || !regexp.MustCompile("^"+pattern+"$").MatchString(got[i]) {
			return false
		}
	}
	return true
}

func TestTheTutorialIsComparedWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, got, want string
		anyOrder, same  bool
	}{
		{"the same", "a\nb\n", "a\nb\n", false, true},
		{"another line", "a\nb\n", "a\nc\n", false, false},
		{"a line less", "a\nb\n", "a\n", false, false},
		{"a line more", "a\n", "a\nb\n", false, false},
		{"something where nothing is wanted", "a\n", "", false, false},
		{"anything in a line", "a 1 b\n", "a … b\n", false, true},
		{"anything in a line, and another end", "a 1 c\n", "a … b\n", false, false},
		{"any lines", "a\nb\nc\nd\n", "a\n…\nd\n", false, true},
		{"any lines twice", "a\nb\nc\nb\nd\n", "…\nb\n…\nd\n", false, true},
		{"any lines twice, and none of those between", "a\nc\nd\n", "…\nb\n…\nd\n", false, false},
		{"any lines at the beginning, and too few at the end", "d\n", "…\nd\nd\n", false, false},
		{"any lines, and another last one", "a\nb\nc\n", "a\n…\nd\n", false, false},
		{"another time of day", "08:56:13 ran in 9ms\n", "18:00:00 ran in  12.5s\n", false, true},
		{"a slow machine", "0 of 1 done; running: orders 30s\na\n", "a\n", false, true},
		{"another order", "a\nb\n", "b\na\n", false, false},
		{"any order", "a\nb\n", "b\na\n", true, true},
		{"other signs are themselves", "axb\n", "a.b\n", false, false},
	} {
		if printedAs(c.got, c.want, c.anyOrder) != c.same {
			t.Errorf("%s: %q for %q", c.name, c.got, c.want)
		}
	}
	for _, wrong := range []string{"```sh\nnobody names this\n```\n", "```console\n$ no end\n"} {
		if _, err := readTutorial(wrong); err == nil {
			t.Errorf("%q is read without an error", wrong)
		}
	}
}
