package charmbuild

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/unitd/unitd/charmdir"
)

// TestTheKeyChangesWithAllThatPackagesAreMadeFrom, and with nothing else.
func TestTheKeyChangesWithAllThatPackagesAreMadeFrom(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		line, file string
		want       bool
	}{
		{"-r inner.txt", "inner.txt", true},
		{"-rinner.txt", "inner.txt", true},
		{"--requirement=sub/inner.txt", "sub/inner.txt", true},
		{"-c c.txt", "c.txt", true},
		{"-r inner.txt  # and what that one has", "deep/inner.txt", true},
		{"./own", "own/pkg/a.py", true},
		{"-e own", "own/pkg/a.py", true},
		{"--editable=./own", "own/pkg/a.py", true},
		{"own @ file:own", "own/pkg/a.py", true},
		{"own @ ./own", "own/pkg/a.py", true},
		{"./own", "own/pkg/__pycache__/a.pyc", false},
		{"./own", "own/build/lib/a.py", false},
		{"./own", "own/own.egg-info/PKG-INFO", false},
		{"./own", "own/src/own.egg-info/SOURCES.txt", false},
		{"./own", "own/pkg/build/a.py", true},
		{"./own", "own/pkg/a.egg-info", true},
		{"ops", "src/charm.py", false},
		{"ops", "inner.txt", false},
	} {
		t.Run(row.line+" "+row.file, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(name, text string) {
				t.Helper()
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			p := &charmdir.Project{Plugin: "charm", Dir: dir, Requirements: []string{"requirements.txt"}}
			key := func() string {
				t.Helper()
				s, err := sources(p)
				if err != nil {
					t.Fatal(err)
				}
				return s.key(p, interpreter{id: "x"})
			}
			write("requirements.txt", row.line+"\n\n# -r none.txt\n")
			write("own/setup.py", "")
			write("inner.txt", "-r deep/inner.txt\n-r inner.txt\n")
			write(row.file, "one")
			if row.file != "inner.txt" {
				write("inner.txt", "-r deep/inner.txt\n-r inner.txt\n")
			}
			before := key()
			write(row.file, "two")
			if after := key(); (after != before) != row.want {
				t.Errorf("changed: %v, want %v", after != before, row.want)
			}
			p.Packages = []string{"six"}
			if key() == before {
				t.Error("the same with a package more")
			}
		})
	}
}
