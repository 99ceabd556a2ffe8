package check

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func sum(text string) string {
	of := sha256.Sum256([]byte(text))
	return hex.EncodeToString(of[:])
}

// tree writes files into a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheReportSaysWhichLinesHaveNotRun(t *testing.T) {
	t.Parallel()
	var many FileLines
	for n := range 2*maxRanges + 4 {
		many.Code = append(many.Code, n+1)
		if n%2 == 0 {
			many.Ran = append(many.Ran, n+1)
		}
	}
	many.File = "src/many.py"
	for _, test := range []struct {
		name string
		r    Report
		want string
	}{
		{"a charm without Python", Report{}, ""},
		{"an older Python", Report{LinesUnknown: "the charm's Python is older than 3.8"}, "Lines: not known: the charm's Python is older than 3.8\n"},
		{"lines without code don't part a range", Report{Lines: []FileLines{
			{"src/a.py", []int{1, 2, 5, 7, 9, 12}, []int{1, 9}}, {"src/b.py", []int{3}, []int{3}},
		}}, "Lines of the charm that ran: 3 of 7\n    not src/a.py: 2-7, 12\n"},
		{"ranges are bounded", Report{Lines: []FileLines{many}}, fmt.Sprintf("Lines of the charm that ran: %d of %d\n"+
			"    not src/many.py: 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24 and 2 more\n", maxRanges+2, 2*maxRanges+4)},
	} {
		var b strings.Builder
		if test.r.writeLines(&b); b.String() != test.want {
			t.Errorf("%s: it says %q, want %q", test.name, b.String(), test.want)
		}
	}
	var r Report
	for n := range maxMissing + 2 {
		r.Lines = append(r.Lines, FileLines{File: fmt.Sprint(n), Code: []int{1}})
	}
	var b strings.Builder
	if r.writeLines(&b); strings.Count(b.String(), "\n") != maxMissing+2 || !strings.HasSuffix(b.String(), "    and not all of 2 more files\n") {
		t.Errorf("files aren't bounded: %s", b.String())
	}
}

func TestALineThatHasNotRunBeforeIsANewWay(t *testing.T) {
	t.Parallel()
	all, some := newLooks(), func(lines ...int) *looks {
		l := newLooks()
		for _, n := range lines {
			l.lines.ran[codeLine{"src/charm.py", n}] = true
		}
		l.lines.code["src/charm.py"] = []int{1, 2, 3}
		return &l
	}
	for i, test := range []struct {
		lines []int
		fresh bool
	}{{[]int{1}, true}, {[]int{1}, false}, {nil, false}, {[]int{1, 3}, true}} {
		if got := all.take(some(test.lines...)); got != test.fresh {
			t.Errorf("%d: it is new: %v", i, got)
		}
	}
	if got := fmt.Sprint(all.lines.files()); got != "[{src/charm.py [1 2 3] [1 3]}]" {
		t.Error(got)
	}
	again := newCodeLines()
	again.recall(all.lines.files())
	if again.take(all.lines) || fmt.Sprint(again.files()) != fmt.Sprint(all.lines.files()) {
		t.Errorf("of a former report it recalls %v", again.files())
	}
}

func TestWhyLinesAreNotKnown(t *testing.T) {
	t.Parallel()
	python, ran := map[string]string{"src/charm.py": "x"}, map[string]bool{"install": true}
	for _, test := range []struct {
		name  string
		code  map[string]string
		hooks map[string]bool
		lines codeLines
		want  string
	}{
		{"no Python", nil, ran, codeLines{}, ""},
		{"no hook", python, nil, codeLines{}, ""},
		{"nothing is said", python, ran, codeLines{}, "the charm's hooks run no Python, or that of a virtual environment"},
		{"an older one", python, ran, codeLines{old: true}, "the charm's Python is older than 3.8"},
		{"an older one beside the charm's", python, ran, codeLines{old: true, code: map[string][]int{"src/charm.py": {1}}}, ""},
	} {
		c := search{world: World{Subject: Subject{code: test.code}}, looks: looks{hooks: test.hooks, lines: test.lines}}
		if got := c.linesUnknown(); got != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

func TestWhichCodeIsTheCharmsOwn(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"src/charm.py": "a", "src/more/b.py": "b", "hooks/install": "#!/usr/bin/env python3\n", "hooks/start": "#!/bin/sh\n", "lib/own.py": "c",
		"lib/charms/x/v0/y.py": "d", "venv/ops.py": "e", "tests/t.py": "f", "setup.py": "g", "src/page.html": "h", "dispatch": "#!/bin/sh\n# python\n",
	}
	dir := tree(t, files)
	if err := os.Symlink("../src/charm.py", filepath.Join(dir, "hooks", "stop.py")); err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(t.TempDir(), "x.charm")
	f, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	if err := errors.Join(z.AddFS(os.DirFS(tree(t, files))), z.Close()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, name := range []string{"src/charm.py", "src/more/b.py", "hooks/install", "lib/own.py"} {
		want[name] = sum(files[name])
	}
	for _, charm := range []string{dir, packed} {
		if own, err := ownCode(charm); err != nil || !maps.Equal(own, want) {
			t.Errorf("%s: %v %v", charm, own, err)
		}
	}
}

func TestNotesOfOthersAreNoneOfTheCharms(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"code/1.json": `{"file": "src/charm.py", "of": "x", "code": [1, 2]}`, "code/2.json": `{"file": "src/charm.py", "of": "former", "code": [7]}`,
		"code/3.json": `{"file": "src/other.py", "of": "x", "code": [8]}`, "code/4.json": `not whole`, "code/5.json.new": `{}`,
		"ran/1.json": `{"unit": "shop/1", "files": {"src/charm.py": {"of": "x", "lines": [2]}, "src/other.py": {"of": "x", "lines": [1]}}}`,
		"ran/2.json": `{"unit": "shopping/0", "files": {"src/charm.py": {"of": "x", "lines": [1]}}}`,
		"ran/3.json": `{"unit": "shop/0", "files": {"src/charm.py": {"of": "former", "lines": [1]}}}`, "ran/4.json": `{`,
	})
	n := lineNotes{dir: dir, application: "shop", code: map[string]string{"src/charm.py": "x"}, read: map[string]bool{}}
	for _, want := range []string{"[{src/charm.py [1 2] [2]}]", "[]"} { // what was taken isn't taken again
		lines := newCodeLines()
		if n.take(&lines); fmt.Sprint(lines.files()) != want || lines.old {
			t.Errorf("it is %v, want %s", lines, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "ran", "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lines := newCodeLines()
	if n.take(&lines); !lines.old {
		t.Error("an older Python isn't noticed")
	}
}

// pythonWithLines is the host's Python, if it can say which lines it runs.
func pythonWithLines(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	out, err := exec.Command(python, "-c", "import sys, site; print(sys.version_info >= (3, 8), site.ENABLE_USER_SITE)").Output()
	if err != nil || strings.TrimSpace(string(out)) != "True True" {
		t.Skipf("the python3 on the PATH is older than 3.8, or is that of a virtual environment: %s %v", out, err)
	}
	return python
}

const (
	linesCharm = `"""Its own code."""
import os, subprocess, sys
from typing import TYPE_CHECKING
import package
if TYPE_CHECKING:
    import json


def outer(n):
    def inner(m):
        if m > 1:
            return m
        raise ValueError(m)

    try:
        return inner(n)
    except ValueError:
        return 0


class Charm:
    two = [n for n in range(2)]

    def called(self):
        yield 1

    def never(self):
        return 2


outer(1)
list(Charm().called())
subprocess.call([sys.executable, "src/worker.py"])
if os.fork() == 0:
    os.execv(sys.executable, [sys.executable, "-c", ""])
os.wait()
sys.exit(3)
`
	linesWorker = "def fails():\n    1 / 0\n\n\nfails()\nfails()\n"
	linesNever  = "x = 1\n"
)

// TestPythonNotesLines: in functions within functions, up to exceptions, in programs that the hook
// starts or becomes, and by whatever name it is called; and what a hook prints, and how it ends, is as
// without it.
func TestPythonNotesLines(t *testing.T) {
	t.Parallel()
	python := pythonWithLines(t)
	charm := tree(t, map[string]string{
		"src/charm.py": linesCharm, "src/worker.py": linesWorker, "src/never.py": linesNever, "src/broken.py": "x =", "venv/package.py": "x = 1\n", "hooks/other": "",
	})
	if err := os.Symlink("../src/charm.py", filepath.Join(charm, "hooks", "install")); err != nil {
		t.Fatal(err)
	}
	code, err := ownCode(charm)
	if err != nil {
		t.Fatal(err)
	}
	run := func(base, program string) (int, string) {
		cmd := exec.Command(python, program)
		cmd.Dir = charm
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "JUJU_UNIT_NAME=shop/0", "JUJU_CHARM_DIR=" + charm, "PYTHONPATH=lib:venv", "PYTHONUSERBASE=" + base, "PYTHONDONTWRITEBYTECODE=1"}
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	for _, program := range []string{"src/charm.py", "hooks/install"} {
		base := filepath.Join(t.TempDir(), "lines")
		if err := layLines(base); err != nil {
			t.Fatal(err)
		}
		exit, out := run(base, program)
		if without, plain := run(filepath.Join(base, "nothing"), program); exit != 3 || without != exit || out != plain {
			t.Errorf("%s ends with %d, and says %s; without it %d and %s", program, exit, out, without, plain)
		}
		n, lines := lineNotes{dir: base, application: "shop", code: code, read: map[string]bool{}}, newCodeLines()
		n.take(&lines)
		var got []string
		for _, f := range lines.files() {
			got = append(got, fmt.Sprintf("%s %d %s", f.File, len(f.Code), strings.Join(f.missing(), ",")))
		}
		if want := []string{"src/charm.py 27 12,28", "src/never.py 1 1", "src/worker.py 4 6"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
}

// TestAHookRunsWhateverBecomesOfLines: where there is no place to write to.
func TestAHookRunsWhateverBecomesOfLines(t *testing.T) {
	t.Parallel()
	python := pythonWithLines(t)
	charm := tree(t, map[string]string{"src/charm.py": "print(1)\n"})
	for _, gone := range []string{"ran", "code", "packages/unitd_lines.py"} {
		base := filepath.Join(t.TempDir(), "lines")
		if err := errors.Join(layLines(base), os.RemoveAll(filepath.Join(base, gone))); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(python, "src/charm.py")
		cmd.Dir = charm
		cmd.Env = []string{"JUJU_UNIT_NAME=shop/0", "JUJU_CHARM_DIR=" + charm, "PYTHONUSERBASE=" + base}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "1\n" {
			t.Errorf("without %s: %s %v", gone, out, err)
		}
	}
}
