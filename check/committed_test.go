package check_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/check"
)

// TestTheVersionOfTheLastCommit: what a charm is upgraded from is what git has of its directory, and
// the repository stays as it is.
func TestTheVersionOfTheLastCommit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		steps string
		want  string // what its metadata was; empty: there is no such version
	}{
		{"no repository", "write one", ""},
		{"nothing was committed", "init;write one", ""},
		{"one commit, and no change since", "init;write one;commit", ""},
		{"a change since the first commit", "init;write one;commit;write two", "one"},
		{"a change that is to be committed", "init;write one;commit;write two;git add -A", "one"},
		{"two commits", "init;write one;commit;write two;commit", "one"},
		{"a change since the second commit", "init;write one;commit;write two;commit;write three", "two"},
		{"commits that are about something else", "init;write one;commit;other;commit;other;commit", ""},
		{"a file that git doesn't know", "init;write one;commit;write two;commit;new", "one"},
		{"a merge", "init;write one;commit;git checkout -q -b side;write two;commit;git checkout -q -;other;commit;git merge -q --no-ff -m merge side", "one"},
		{"it was elsewhere", "init;write one;mv charms was;commit;mv was charms;commit", ""},
		{"it wasn't there", "init;write one;commit;rm -r charms;commit;write two;commit", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			charm := filepath.Join(top, "charms", "app")
			run := func(name string, args ...string) string {
				cmd := exec.Command(name, args...)
				cmd.Dir = top
				cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_CEILING_DIRECTORIES="+filepath.Dir(top),
					"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
				}
				return string(out)
			}
			write := func(path, text string) {
				t.Helper()
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			repository := false
			for step := range strings.SplitSeq(c.steps, ";") {
				switch words := strings.Fields(step); words[0] {
				case "init":
					run("git", "init", "-q")
					repository = true
				case "commit":
					run("git", "add", "-A")
					run("git", "commit", "-q", "-m", "next")
				case "write":
					write(filepath.Join(charm, "metadata.yaml"), words[1])
					write(filepath.Join(charm, "hooks", "install"), "#!/bin/sh\n")
				case "other":
					write(filepath.Join(top, "elsewhere"), t.Name()+run("date", "+%N"))
				case "new":
					write(filepath.Join(charm, "new"), "new")
				default:
					run(words[0], words[1:]...)
				}
			}
			before := ""
			if repository {
				before = run("git", "status", "--porcelain") + run("git", "ls-files", "--stage")
			}
			to := filepath.Join(t.TempDir(), "former")
			commit, err := check.Committed(t.Context(), charm, to)
			if err != nil || (commit == "") != (c.want == "") {
				t.Fatalf("it is commit %q (%v)", commit, err)
			}
			if repository && before != run("git", "status", "--porcelain")+run("git", "ls-files", "--stage") {
				t.Error("the repository has changed")
			}
			if c.want == "" {
				return
			}
			text, err := os.ReadFile(filepath.Join(to, "metadata.yaml"))
			if err != nil || string(text) != c.want {
				t.Errorf("it is %q (%v), want %q", text, err, c.want)
			}
			if info, err := os.Stat(filepath.Join(to, "hooks", "install")); err != nil || info.Mode()&0o100 == 0 {
				t.Errorf("its hook is %v (%v)", info, err)
			}
			if left, err := filepath.Glob(to + ".*"); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v (%v)", left, err)
			}
		})
	}
}
