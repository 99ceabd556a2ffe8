package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// said is what "go test -json" prints of tests, abridged: a word for the action,
// the test, and its output.
func said(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		action, rest, _ := strings.Cut(line, " ")
		name, output, _ := strings.Cut(rest, " ")
		if name == "-" {
			name = ""
		}
		fmt.Fprintf(&b, `{"Action":%q,"Package":"github.com/unitd/unitd/p","Test":%q,"Elapsed":1.5,"Output":%q}`+"\n", action, name, output)
	}
	return b.String()
}

func TestAReportIsWhatGoTestSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, said, want string }{
		{
			"a package that passes is one line, whatever its tests say",
			said("run TestA ", "output TestA === RUN   TestA\n", "output TestA talk\n", "pass TestA ", "output - PASS\n", "output - ok  \tp\t1.5s\n", "pass - "),
			"ok  \tp\t1.5s\n",
		},
		{
			"a test that fails is told in full, once its verdict, and named again at the end",
			said("output TestA 1st\n", "output TestB other\n", "output TestA 2nd\n", "output TestA --- FAIL: TestA (1.50s)\n", "fail TestA ", "pass TestB ", "output - FAIL\n", "output - FAIL\tp\t1.5s\n", "fail - "),
			"--- FAIL: TestA (1.50s)\n1st\n2nd\nFAIL\tp\t1.5s\nFAIL: p TestA\nFAIL\n",
		},
		{
			"what has said something and never ended is told when its package fails",
			said("output TestA deep in\n", "output - panic: elsewhere\n", "output - FAIL\tp\t1.5s\n", "fail - "),
			"panic: elsewhere\nFAIL\tp\t1.5s\n--- p TestA has not ended; it has said:\ndeep in\nFAIL: p TestA\nFAIL\n",
		},
		{
			"a data race is told of, whichever test it seems to be said by",
			said("output TestA ==================\n", "output TestA WARNING: DATA RACE\n", "output TestB Write by\n", "output TestA ==================\n", "output TestA talk\n", "pass TestA ", "pass TestB ", "output - ok  \tp\t1.5s\n", "pass - "),
			"WARNING: DATA RACE\nWrite by\n==================\nok  \tp\t1.5s\n",
		},
		{
			"a package that fails without a test is named",
			said("output - FAIL\tp [build failed]\n", "fail - "),
			"FAIL\tp [build failed]\nFAIL: p\nFAIL\n",
		},
		{
			"skipped tests are counted by their reasons",
			said("output TestA     a_test.go:7: only as root\n", "output TestA --- SKIP: TestA (0.00s)\n", "skip TestA ", "output TestB     b_test.go:9: only as root\n", "skip TestB ", "skip TestC "),
			"skipped tests, by reason:\n  2: only as root\n",
		},
		{"what is no event is handed on", "# p\nno Go files\n{}\n", "# p\nno Go files\n{}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			r := newReport(&out)
			for line := range strings.Lines(c.said) {
				r.line([]byte(line))
			}
			code := 0
			if strings.Contains(c.said, `"fail","Package":"github.com/unitd/unitd/p","Test":""`) {
				code = 1
			}
			r.end(code)
			if got := out.String(); got != c.want {
				t.Errorf("got:\n%swant:\n%s", got, c.want)
			}
		})
	}
}

func TestTheSlowestTestsAreTenWithoutThoseThatHaveParts(t *testing.T) {
	t.Parallel()
	tests := []test{{"github.com/unitd/unitd", "TestWhole", time.Hour}, {"github.com/unitd/unitd", "TestWhole/part", time.Minute}}
	for i := range 20 {
		tests = append(tests, test{"github.com/unitd/unitd/p", fmt.Sprint("Test", i), time.Duration(i) * time.Second})
	}
	var out bytes.Buffer
	printSlowest(&out, tests)
	got := out.String()
	if strings.Count(got, "\n") != 1+slowest || !strings.Contains(got, ":\n     60.0 s  . TestWhole/part\n     19.0 s  p Test19\n") || strings.Contains(got, "3600") {
		t.Error(got)
	}
}

// fake puts a shell script in the place of a program.
func fake(t *testing.T, name, script string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(accountVariable, "")
	t.Setenv("CI", "")
	return path
}

// TestStagesEndWithTheFirstThatFails: the account comes all the same, with the
// tests that stages have put down, and with the time of what they have left behind.
func TestStagesEndWithTheFirstThatFails(t *testing.T) {
	program := fake(t, "make", `
cd "$(dirname "$0")"
case "$2" in
tests) echo "2000000000 github.com/unitd/unitd/p TestA" >>"$UNITD_SUITE_ACCOUNT";;
leaves) sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done' & echo $! >left;;
waits) while kill -0 $(cat left); do sleep 0.01; done 2>/dev/null;;
fails) exit 7;;
*) echo wrong;;
esac
`)
	var out bytes.Buffer
	if code := run([]string{"stages", program, "tests", "leaves", "waits", "fails", "never"}, &out); code != 7 {
		t.Errorf("exit code %d", code)
	}
	want := `^== tests\n== leaves\n== waits\n== fails\nFAIL: the stage "fails" has failed\nthe slowest tests:\n +2\.0 s  p TestA\n` +
		`processor time: ([0-9]+) s .*\n +[0-9.]+ s  tests, in \d+ s\n +[0-9.]+ s  leaves, in \d+ s\n +([0-9.]+) s  waits, in \d+ s\n +[0-9.]+ s  fails, in \d+ s\n$`
	found := regexp.MustCompile(want).FindStringSubmatch(out.String())
	if found == nil {
		t.Fatalf("got:\n%s", out.String())
	}
	if runtime.GOOS == "linux" && (found[2] == "0.0" || found[2] == "0.1" && found[1] == "0") {
		t.Errorf("what was left behind isn't counted:\n%s", out.String())
	}
}

// TestAllStagesRunWhicheverFails: those that have failed are named once more at the end.
func TestAllStagesRunWhicheverFails(t *testing.T) {
	program := fake(t, "make", "case $2 in fails) exit 7;; too) exit 8;; esac\n")
	var out bytes.Buffer
	if code := run([]string{"all", program, "fails", "passes", "too"}, &out); code != 7 {
		t.Errorf("exit code %d", code)
	}
	if got := out.String(); !strings.Contains(got, "\n== passes\n== too\n") || !strings.HasSuffix(got, "FAIL: the stage \"fails\" has failed\nFAIL: the stage \"too\" has failed\n") {
		t.Errorf("got:\n%s", got)
	}
}

func TestTestsKeepTheExitCodeAndEndWhereThereIsSilence(t *testing.T) {
	fake(t, "go", `
[ "$*" = "test -json -timeout=0 ./p" ] || { echo "wrong: $*"; exit 9; }
printf '%s\n' '{"Action":"run","Package":"github.com/unitd/unitd/p","Test":"TestA"}' \
	'{"Action":"run","Package":"github.com/unitd/unitd/p","Test":"TestB"}' '{"Action":"pause","Package":"github.com/unitd/unitd/p","Test":"TestB"}'
trap 'echo "goroutine dump"; kill $!; exit 3' QUIT
sleep 1000 >/dev/null & wait
`)
	var out bytes.Buffer
	code, err := goTest([]string{"./p"}, time.Second, &out)
	if err != nil || code != 3 {
		t.Errorf("exit code %d, %v", code, err)
	}
	want := "FAIL: no test has had anything to say for 1s; these have not ended:\n  p TestA\ngoroutine dump\nFAIL\nprocessor time:"
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("got:\n%s", out.String())
	}
}

// TestTestsCanWaitForTheEndOfWhatTheyHaveLeft: this program has it then.
func TestTestsCanWaitForTheEndOfWhatTheyHaveLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what is left behind has another parent here")
	}
	fake(t, "go", `
cd "$(dirname "$0")"
sh -c 'sleep 0.01 >/dev/null & echo $! >left'
while kill -0 $(cat left); do sleep 0.01; done 2>/dev/null
`)
	if code, err := goTest([]string{"./p"}, time.Minute, &bytes.Buffer{}); err != nil || code != 0 {
		t.Errorf("exit code %d, %v", code, err)
	}
}

// TestInCIAFewTestsThatFailAreRunOnceMoreAlone: each leaf of them by its name, with
// the flags of the run; all of it where a program has ended before its tests have.
func TestInCIAFewTestsThatFailAreRunOnceMoreAlone(t *testing.T) {
	const p = "github.com/unitd/unitd/p"
	fail := func(tests ...string) string {
		var b strings.Builder
		for _, test := range tests {
			fmt.Fprintf(&b, "printf '%%s\\n' '"+`{"Action":"fail","Package":%q,"Test":%q}`+"'\n", p, test)
		}
		return b.String() + fmt.Sprintf("printf '%%s\\n' '"+`{"Action":"fail","Package":%q}`+"'\n", p)
	}
	panics := "printf '%s\\n' '" + `{"Action":"output","Package":"` + p + `","Test":"TestA","Output":"panic: no\\n"}` + "'\n"
	races := strings.ReplaceAll(strings.ReplaceAll(panics, "panic: no", "    testing.go:1: race detected during execution of test"), "TestA", "TestF")
	all := []string{"-race", "-count=1", "-parallel", "4", "-run", "^Test", "./p", "./q"}
	for _, c := range []struct {
		name, ci, first, then string
		code                  int
		runs, flaky           []string
	}{
		{"what passes then is flaky", "true", fail("TestA/a_b.c", "TestA", "TestB"), strings.ReplaceAll(fail("TestA/a_b.c", "TestB"), "fail", "pass") + "exit 0", 0,
			[]string{`-race -count=1 -parallel 4 -run ^TestA$/^a_b\.c$ ` + p, "-race -count=1 -parallel 4 -run ^TestB$ " + p}, []string{"TestA/a_b.c", "TestA", "TestB"}},
		{"what fails again has failed", "true", fail("TestA", "TestB"), fail("TestA") + "exit 1", 1, []string{"-race -count=1 -parallel 4 -run ^TestA$ " + p}, nil},
		{"what isn't there to be run again has failed", "true", fail("TestA"), "exit 0", 1, []string{"-race -count=1 -parallel 4 -run ^TestA$ " + p}, nil},
		{"all is run again after a panic", "true", panics + fail("TestA"), "exit 0", 0, []string{strings.Join(all, " ")}, []string{"TestA"}},
		{"and after a data race, for which many are blamed", "true", races + fail("TestA", "TestB", "TestC", "TestD", "TestE", "TestF"), "exit 0", 0,
			[]string{strings.Join(all, " ")}, []string{"TestA", "TestF"}},
		{"and where no test is named", "true", fail(), "exit 0", 0, []string{strings.Join(all, " ")}, []string{""}},
		{"many that fail are no chance", "true", fail("TestA", "TestB", "TestC", "TestD", "TestE", "TestF"), "exit 0", 1, nil, nil},
		{"elsewhere nothing is run again", "", fail("TestA"), "exit 0", 1, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := fake(t, "go", `shift 3; runs="${0%/*}/runs"
[ -e "$runs" ] || { : >"$runs"; `+c.first+`exit 1; }
echo "$*" >>"$runs"
`+c.then)
			t.Setenv("CI", c.ci)
			var out bytes.Buffer
			code, err := goTest(all, time.Minute, &out)
			if err != nil || code != c.code {
				t.Errorf("exit code %d, %v\n%s", code, err, &out)
			}
			runs, err := os.ReadFile(filepath.Join(filepath.Dir(program), "runs"))
			if want := strings.Join(append(c.runs, ""), "\n"); err != nil || string(runs) != want {
				t.Errorf("run again were, %v:\n%swant:\n%s", err, runs, want)
			}
			for _, name := range c.flaky {
				if !strings.Contains(out.String(), strings.TrimSpace("FLAKY: p "+name)+" has failed") {
					t.Errorf("%q isn't called flaky:\n%s", name, &out)
				}
			}
			if strings.Contains(out.String(), "FLAKY") != (c.flaky != nil) {
				t.Errorf("got:\n%s", &out)
			}
		})
	}
}

func TestWrongUsageIsSaid(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"stages", "make"}, {"test"}, {"lint"}} {
		if code := run(args, &bytes.Buffer{}); code != 2 {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
}
