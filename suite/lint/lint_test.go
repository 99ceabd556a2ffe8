package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// module writes the files of a module.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module here\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	this := runtime.GOOS + "/" + runtime.GOARCH
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string // parts of the lines
	}{
		{
			"what is right has none, with tests inside and outside",
			map[string]string{
				"a.go":           "// Package here is right.\npackage here\n\nfunc f() int { return 1 }\n\n// G is used.\nfunc G() int { return f() }\n",
				"export_test.go": "package here\n\nvar Given = f\n",
				"b_test.go":      "package here_test\n\nimport \"here\"\n\nvar _ = here.Given() + here.G()\n",
			},
			nil,
		},
		{
			"what vet knows, by what it knows of another package",
			map[string]string{
				"a.go":     "// Package here is vetted.\npackage here\n\nimport \"here/say\"\n\n// F says.\nfunc F() { say.Sayf(\"%d\", \"one\") }\n",
				"say/s.go": "// Package say says.\npackage say\n\nimport \"fmt\"\n\n// Sayf says.\nfunc Sayf(format string, args ...any) { fmt.Printf(format, args...) }\n",
			},
			[]string{`a.go:7:22: here/say.Sayf format %d has arg "one" of wrong type string (printf)`},
		},
		{
			"what staticcheck knows",
			map[string]string{"a.go": "package here\n\nvar x = 1\n\nfunc F(a int) bool { return a == a }\n\nfunc f() { var g = func() {}; g() }\n"},
			[]string{
				"a.go:1:1: at least one file in a package should have a package comment (ST1000)", "a.go:3:5: var x is unused (unused)",
				"identical expressions on the left and right side", "a.go:7:6: func f is unused (unused)",
			},
		},
		{
			"what another platform lacks",
			map[string]string{
				"a.go":                      "// Package here differs.\npackage here\n\n// F is there.\nfunc F() int { return onThis }\n",
				"a_" + runtime.GOOS + ".go": "package here\n\nconst onThis = 1\n",
				"b_plan9_test.go":           "package here_test\n\nvar x int\n\nfunc f() { x = x }\n",
			},
			[]string{"a.go:5:23: undefined: onThis"},
		},
		{
			"what vet knows on another platform",
			map[string]string{
				"a.go":       "// Package here differs.\npackage here\n",
				"a_plan9.go": "package here\n\nvar x int\n\n// F does nothing.\nfunc F() { x = x }\n",
			},
			[]string{"a_plan9.go:6:12: self-assignment of x (assign)"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			faults, err := lint(module(t, c.files), []string{"plan9/arm"}, &out)
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			got := slices.DeleteFunc(slices.Collect(strings.Lines(out.String())), func(line string) bool {
				return strings.HasPrefix(line, this) || strings.HasPrefix(line, "plan9/arm: ")
			})
			if faults != len(got) || len(got) != len(c.want) {
				t.Errorf("%d faults:\n%s", faults, out.String())
				return
			}
			for i, line := range got {
				if !strings.Contains(line, c.want[i]) {
					t.Errorf("got  %swant %s", line, c.want[i])
				}
			}
		})
	}
	if _, err := lint(".", []string{"vax"}, &bytes.Buffer{}); err == nil {
		t.Error("a platform that is none is taken")
	}
}

// TestVetIsWhole compares the table with the source of vet in the Go that runs.
func TestVetIsWhole(t *testing.T) {
	t.Parallel()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src", "cmd", "vet", "main.go"))
	if err != nil {
		t.Skipf("skipped: vet's source isn't here: %v", err)
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+)\.Analyzer,`).FindAllStringSubmatch(string(source), -1) {
		want = append(want, m[1])
	}
	own, err := os.ReadFile("analyzers.go")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(own), "// staticchecks are")
	for _, m := range regexp.MustCompile(`(\w+)\.Analyzer,`).FindAllStringSubmatch(table, -1) {
		got = append(got, m[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) < 30 || !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
