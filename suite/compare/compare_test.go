package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// repository is one with a package whose benchmark reports 1 in its only commit,
// and 2 in the tree, which has a package more.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bench := func(n string) string {
		return "package p\n\nimport \"testing\"\n\nfunc BenchmarkIt(b *testing.B) {\n\tfor b.Loop() {\n\t}\n\tb.ReportMetric(" + n + ", \"its\")\n}\n"
	}
	put("go.mod", "module example.com/m\n\ngo 1.26\n")
	put("p/p_test.go", bench("1"))
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "."},
		{"-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", "first"},
	} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	put("p/p_test.go", bench("2"))
	put("q/q_test.go", bench("3"))
	return dir
}

func compared(t *testing.T, out io.Writer) comparison {
	return comparison{
		old: "HEAD", dir: repository(t), temp: t.TempDir(), count: 3, out: out, progress: io.Discard,
		benchmarks: []benchmark{{"./p", "It$", "1x"}, {"./q", "It$", "1x"}},
		// A stand-in for benchstat, which would have to be fetched.
		stat: []string{"sh", "-c", `for side; do echo "${side%%=*}"; cat "${side#*=}"; done`, "sh"},
	}
}

// leavesNothing checks that there is no worktree or temporary file any more.
func leavesNothing(t *testing.T, c comparison) {
	t.Helper()
	out, err := exec.Command("git", "-C", c.dir, "worktree", "list").Output()
	if err != nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("the worktrees are %q, %v", out, err)
	}
	left, err := os.ReadDir(c.temp)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestBothTreesAreMeasuredAndComparedAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := compared(t, &out)
	if err := c.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	old, now, both := strings.Cut(out.String(), "new\n")
	if !both || !strings.HasPrefix(old, "old\n") {
		t.Fatalf("compared was\n%s", &out)
	}
	for text, n := range map[string]int{"1.000 its": 3, "2.000 its": 0, "3.000 its": 0, "pkg: example.com/m/p": 3} {
		if strings.Count(old, text) != n {
			t.Errorf("not %d times %q in the old tree's\n%s", n, text, old)
		}
	}
	for text, n := range map[string]int{"1.000 its": 0, "2.000 its": 3, "3.000 its": 3} {
		if strings.Count(now, text) != n {
			t.Errorf("not %d times %q in the new tree's\n%s", n, text, now)
		}
	}
	leavesNothing(t, c)
}

func TestAFailureLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*comparison){
		"no such revision":        func(c *comparison) { c.old = "elsewhere" },
		"a program that fails":    func(c *comparison) { c.programs = map[string]string{"p": "./nowhere"} },
		"a comparison that fails": func(c *comparison) { c.stat = []string{"sh", "-c", "exit 1"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := compared(t, io.Discard)
			change(&c)
			if err := c.run(t.Context()); err == nil {
				t.Error("there is no error")
			}
			leavesNothing(t, c)
		})
	}
}

// interrupting ends the context with the first that is told.
type interrupting struct{ end context.CancelFunc }

func (i interrupting) Write(b []byte) (int, error) {
	i.end()
	return len(b), nil
}

func TestAnInterruptLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	c := compared(t, io.Discard)
	c.progress = interrupting{end}
	if err := c.run(ctx); err == nil {
		t.Error("there is no error")
	}
	leavesNothing(t, c)
}

// TestEachChosenBenchmarkIsThere finds a function for each pattern, in the package.
func TestEachChosenBenchmarkIsThere(t *testing.T) {
	t.Parallel()
	function := regexp.MustCompile(`(?m)^func Benchmark(\w+)`)
	for _, b := range chosen {
		name, _, _ := strings.Cut(b.name, "/")
		files, err := filepath.Glob(filepath.Join("..", "..", b.pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range function.FindAllStringSubmatch(string(text), -1) {
				found = found || regexp.MustCompile(name).MatchString("Benchmark"+m[1])
			}
		}
		if !found {
			t.Errorf("%s has no benchmark %s", b.pkg, b.name)
		}
	}
}

func TestWrongUsageIsAnError(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"HEAD", "HEAD"}, {"-count", "0", "HEAD"}, {"-only", "(", "HEAD"}, {"-only", "nothing", "HEAD"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%v is no error", args)
		}
	}
}
