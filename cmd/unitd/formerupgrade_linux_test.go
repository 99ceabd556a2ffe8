package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The commits whose agents are upgraded to this program.
const (
	// firstHandingOver is the first one that hands over, in a form that only the next few had.
	firstHandingOver = "6442b9875206278522b0a49a142241f927a6063b"
	// firstOfTodaysForm is the first one that hands over in the form of today.
	firstOfTodaysForm = "fbaa2384c69172c19940a642db6fecaa9cc49cd6"
	// lastWithout is the last one that doesn't know --upgrade.
	lastWithout = "a58c63d8f7e68e2d146693adb4078e29d96b1efe"
)

// builtAt builds the two programs as they were at a commit. Where the history isn't there, as
// in a clone of the newest commit alone, the test is skipped.
func builtAt(t *testing.T, commit string) (dir string) { return builtWith(t, commit, "") }

// builtWith is builtAt after a change, which is a command of sh.
func builtWith(t *testing.T, commit, change string) (dir string) {
	t.Helper()
	if os.Getenv("UNITD_TEST_LONG") == "" {
		t.Skip("only with UNITD_TEST_LONG=1: it builds an earlier unitd")
	}
	if err := exec.Command("git", "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		t.Skipf("the history of the repository isn't here: commit %s", commit)
	}
	dir = t.TempDir()
	script := `set -e; git -C "$(git rev-parse --show-toplevel)" archive "$1" | tar -x -C "$2"; cd "$2"; eval "$3"
for p in unitd hooktool; do CGO_ENABLED=0 go build -buildvcs=false -ldflags='-s -w' -o "bin/$p" ./cmd/$p; done
mv bin/hooktool bin/unitd-hooktool`
	if out, err := exec.Command("sh", "-c", script, "sh", commit, dir, change).CombinedOutput(); err != nil {
		t.Fatalf("building commit %s: %v: %s", commit, err, out)
	}
	return filepath.Join(dir, "bin")
}

// TestHostAgentsOfTheFirstCommitsThatHandOverAreUpgraded: their hook runs on, in the same
// process, and commits once.
func TestHostAgentsOfTheFirstCommitsThatHandOverAreUpgraded(t *testing.T) {
	t.Parallel()
	for what, commit := range map[string]string{"the first of all": firstHandingOver, "the first of today's form": firstOfTodaysForm} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			isUpgraded(t, builtAt(t, commit))
		})
	}
}

func isUpgraded(t *testing.T, former string) {
	u, pid := withFormerAgent(t, former)
	u.must("unitd", "agent", "--upgrade")
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || exe != filepath.Join(u.programs, "unitd") || u.agent() != pid {
		t.Errorf("the agent is process %d, and %d runs %s (%v)", u.agent(), pid, exe, err)
	}
	u.goOn(1)
	u.must("unitd", "wait", "--timeout", "300s")
	if got := u.state(); got != `after: "1" committed: "1" "n": "1"` || u.begun(1) != 1 {
		t.Errorf("it began %d times, and wrote %s", u.begun(1), got)
	}
	if out := u.must("unitd", "history", "waits/0"); strings.Contains(out, "interrupted") {
		t.Errorf("history: %s", out)
	}
}

// TestHostAnAgentThatCannotHandOverIsDrained: the upgrade waits for its hook, as long as it
// may, and then another agent takes its place.
func TestHostAnAgentThatCannotHandOverIsDrained(t *testing.T) {
	t.Parallel()
	t.Run("it doesn't know how", func(t *testing.T) {
		t.Parallel()
		isDrained(t, builtAt(t, lastWithout))
	})
	t.Run("it does so in another form", func(t *testing.T) {
		t.Parallel()
		isDrained(t, builtWith(t, "HEAD", `sed -i "s/^const HandoverFormat = .*/const HandoverFormat = 999/" machine/handover.go`))
	})
}

func isDrained(t *testing.T, former string) {
	u, pid := withFormerAgent(t, former)
	if out, err := u.command("unitd", "agent", "--upgrade", "--timeout", "2s"); err == nil || u.agent() != pid {
		t.Fatalf("it didn't wait for the hook: process %d is now %d: %s", pid, u.agent(), out)
	}
	u.goOn(1)
	u.must("unitd", "agent", "--upgrade")
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", u.agent()))
	if err != nil || exe != filepath.Join(u.programs, "unitd") {
		t.Errorf("the agent runs %s (%v)", exe, err)
	}
	u.must("unitd", "wait", "--timeout", "300s")
	if got := u.state(); got != `after: "1" committed: "1" "n": "1"` || u.begun(1) != 1 {
		t.Errorf("it began %d times, and wrote %s", u.begun(1), got)
	}
	if out := u.must("unitd", "history", "waits/0"); strings.Contains(out, "interrupted") {
		t.Errorf("history: %s", out)
	}
}

// withFormerAgent has the unitd in a folder be the agent, whose process runs the hook of 1.
// The store is this program's: one that can't read its format is no use here.
func withFormerAgent(t *testing.T, dir string) (u *upgraded, pid int) {
	t.Helper()
	former := filepath.Join(dir, "unitd")
	u = newUpgraded(t)
	u.must("unitd", "shutdown")
	// Any command that gives the agent work begins one.
	u.must(former, "config", "waits", "n=0")
	u.must("unitd", "wait", "--timeout", "300s")
	pid = u.agent()
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || exe != former {
		t.Fatalf("the agent runs %s (%v), not %s", exe, err, former)
	}
	u.must("unitd", "config", "waits", "n=1")
	u.begins(1)
	return u, pid
}
