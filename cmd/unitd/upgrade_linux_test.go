package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/testcharms"
)

// upgraded is a data directory whose agent is upgraded: a unit of it has a hook that
// waits, so that it runs through the upgrade.
type upgraded struct {
	t        *testing.T
	dir      string // has the charm, and what its hook waits for
	programs string
	env      []string
}

// waitingCharm counts in the model how often its hook has committed, and in a file how
// often it has begun, which it tells by a named pipe. It waits for a file with the option's
// value, and doesn't if that is there, as when it is run again.
const waitingCharm = `#!/bin/sh
set -e
n=$(config-get n)
[ "$n" != 0 ] || exit 0
committed=$(state-get committed)
echo "$n" >>DIR/begun
state-set committed=$((committed + 1)) "n=$n"
[ -e "DIR/go-$n" ] || echo >DIR/begins
while ! [ -e "DIR/go-$n" ]; do sleep 0.02; done
state-set "after=$n"
`

func newUpgraded(t *testing.T) *upgraded {
	t.Helper()
	programs, err := testcharms.Programs()
	if err != nil {
		t.Fatal(err)
	}
	if programs, err = filepath.Abs(programs); err != nil {
		t.Fatal(err)
	}
	u := &upgraded{t: t, dir: t.TempDir(), programs: programs}
	u.env = append(os.Environ(), "UNITD_DATA="+filepath.Join(u.dir, "data"), "UNITD_ISOLATE=off")
	for name, text := range map[string]string{
		"metadata.yaml":        "name: waits\nsummary: s\ndescription: d\n",
		"config.yaml":          "options: {n: {type: int, default: 0}}\n",
		"hooks/config-changed": strings.ReplaceAll(waitingCharm, "DIR", u.dir),
	} {
		path := filepath.Join(u.dir, "waits", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(u.dir, "begins"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for n := range 1000 { // whatever hook still waits
			u.goOn(n)
		}
		_, _ = u.command("unitd", "shutdown")
	})
	u.must("unitd", "deploy", filepath.Join(u.dir, "waits"))
	u.must("unitd", "wait", "--timeout", "300s")
	return u
}

// command runs a program beside unitd, or one with a path.
func (u *upgraded) command(program string, args ...string) (string, error) {
	if !filepath.IsAbs(program) {
		program = filepath.Join(u.programs, program)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = u.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (u *upgraded) must(program string, args ...string) string {
	u.t.Helper()
	out, err := u.command(program, args...)
	if err != nil {
		u.t.Fatalf("%s %q: %v: %s", filepath.Base(program), args, err, out)
	}
	return out
}

// goOn lets the hook of that number go on.
func (u *upgraded) goOn(n int) {
	if err := os.WriteFile(filepath.Join(u.dir, "go-"+strconv.Itoa(n)), nil, 0o600); err != nil {
		u.t.Error(err)
	}
}

// begun is how often the hook has begun with that number.
func (u *upgraded) begun(n int) int {
	b, err := os.ReadFile(filepath.Join(u.dir, "begun"))
	if err != nil && !os.IsNotExist(err) {
		u.t.Fatal(err)
	}
	return strings.Count("\n"+string(b), fmt.Sprintf("\n%d\n", n))
}

// begins waits until the hook has begun with that number.
func (u *upgraded) begins(n int) {
	u.t.Helper()
	if _, err := os.ReadFile(filepath.Join(u.dir, "begins")); err != nil || u.begun(n) != 1 {
		u.t.Fatalf("the hook of %d began %d times (%v)", n, u.begun(n), err)
	}
}

// agent is the process of the agent.
func (u *upgraded) agent() int {
	u.t.Helper()
	b, err := os.ReadFile(filepath.Join(u.dir, "data", "agent.lock"))
	if err != nil {
		u.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		u.t.Fatal(err)
	}
	return pid
}

// hasEnded waits until the agent has, which the kernel says by its lock.
func (u *upgraded) hasEnded() {
	u.t.Helper()
	f, err := os.Open(filepath.Join(u.dir, "data", "agent.lock"))
	if err != nil {
		u.t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		u.t.Error(err)
	}
}

// state is what the charm has committed.
func (u *upgraded) state() string {
	u.t.Helper()
	return strings.Join(strings.Fields(u.must("unitd", "exec", "--unit", "waits/0", "--", "state-get")), " ")
}

// TestHostAnAgentIsUpgradedToAnotherBuild: a hook runs through an upgrade between two
// builds of this source that say different versions, and back.
func TestHostAnAgentIsUpgradedToAnotherBuild(t *testing.T) {
	t.Parallel()
	u := newUpgraded(t)
	next := filepath.Join(t.TempDir(), "unitd")
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w -X github.com/unitd/unitd/agent.built=99.1.2", "-o", next, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pid := u.agent()
	u.must("unitd", "config", "waits", "n=1")
	u.begins(1)
	for _, program := range []string{next, filepath.Join(u.programs, "unitd"), next} {
		said := u.must(program, "agent", "--upgrade")
		if program == next && !strings.Contains(said, " to 99.1.2\n") {
			t.Errorf("it says %s", said)
		}
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err != nil || exe != program || u.agent() != pid {
			t.Errorf("the agent is process %d, and %d runs %s (%v), not %s", u.agent(), pid, exe, err, program)
		}
	}
	u.goOn(1)
	u.must("unitd", "wait", "--timeout", "300s")
	if got := u.state(); got != `after: "1" committed: "1" "n": "1"` || u.begun(1) != 1 {
		t.Errorf("it began %d times, and wrote %s", u.begun(1), got)
	}
	if out := u.must("unitd", "history", "waits/0"); strings.Contains(out, "interrupted") || strings.Contains(out, "failed") {
		t.Errorf("history: %s", out)
	}
}

// TestHostAnAgentIsKilledWhileItIsUpgraded kills the agent at any time of an upgrade, with a
// hook that runs: whatever the next agent finds, nothing is lost or committed twice.
func TestHostAnAgentIsKilledWhileItIsUpgraded(t *testing.T) {
	t.Parallel()
	u := newUpgraded(t)
	times := 10
	if os.Getenv("UNITD_TEST_LONG") != "" {
		times = 120
	}
	u.must("unitd", "model-config", "automatically-retry-hooks=false")
	var took time.Duration // by the upgrades that nobody has disturbed
	for n := 1; n <= times; n++ {
		u.must("unitd", "config", "waits", "n="+strconv.Itoa(n))
		u.begins(n)
		began, pid := time.Now(), u.agent()
		killed := n%5 != 1
		if !killed {
			u.must("unitd", "agent", "--upgrade")
			took = time.Since(began)
		} else {
			kill := time.AfterFunc(rand.N(took+took/2), func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
			said, err := u.command("unitd", "agent", "--upgrade")
			if err != nil && !strings.HasPrefix(said, "ERROR ") {
				t.Errorf("the upgrade says %s", said)
			}
			if kill.Stop() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			u.hasEnded()
		}
		u.commitsOnce(n, killed)
	}
}

// commitsOnce lets the hook of that number go on, with the next agent if the one before was
// killed: it commits once, and begins again at most then.
func (u *upgraded) commitsOnce(n int, killed bool) {
	u.t.Helper()
	u.goOn(n)
	for {
		out, err := u.command("unitd", "wait", "--timeout", "300s")
		if err == nil {
			break
		}
		if !strings.Contains(out, "hook failed") {
			u.t.Fatalf("wait: %s", out)
		}
		u.must("unitd", "resolved", "waits/0")
	}
	if got, want := u.state(), fmt.Sprintf("after: \"%d\" committed: \"%d\" \"n\": \"%d\"", n, n, n); got != want {
		u.t.Fatalf("the hook wrote %s, not %s", got, want)
	}
	if begun := u.begun(n); begun > 2 || !killed && begun != 1 {
		u.t.Errorf("the hook of %d began %d times", n, begun)
	}
}

// TestHostHooksThatAreBusyGoThroughUpgrades: hooks of many units that call hook tools all the
// time, and end and begin at any moment of one upgrade after the other, all commit, and once.
func TestHostHooksThatAreBusyGoThroughUpgrades(t *testing.T) {
	t.Parallel()
	u := newUpgraded(t)
	hook := `#!/bin/sh
set -e
n=$(config-get n)
i=0
while [ $i -lt 10 ]; do
	i=$((i + 1))
	state-set "i=$i"
	[ "$(state-get i)" = $i ]
done
committed=$(state-get committed)
state-set "committed=$((committed + 1))" "n=$n"
`
	if err := os.WriteFile(filepath.Join(u.dir, "waits", "hooks", "config-changed"), []byte(hook), 0o700); err != nil {
		t.Fatal(err)
	}
	u.must("unitd", "model-config", "automatically-retry-hooks=false")
	u.must("unitd", "deploy", filepath.Join(u.dir, "waits"), "busy", "-n", "4")
	u.must("unitd", "wait", "--timeout", "300s")
	times := 4
	if os.Getenv("UNITD_TEST_LONG") != "" {
		times = 40
	}
	for n := 1; n <= times; n++ {
		u.must("unitd", "config", "busy", "n="+strconv.Itoa(n))
		u.must("unitd", "agent", "--upgrade")
		u.must("unitd", "agent", "--upgrade")
	}
	u.must("unitd", "wait", "--timeout", "300s")
	for unit := range 4 {
		name := fmt.Sprintf("busy/%d", unit)
		out := u.must("unitd", "history", name)
		if strings.Contains(out, "interrupted") || strings.Contains(out, "failed") || strings.Contains(out, "stopped") {
			t.Errorf("history of %s: %s", name, out)
		}
		runs := len(regexp.MustCompile(`(?m)^busy/\d +\d+ +config-changed `).FindAllString(out, -1))
		got := u.must("unitd", "exec", "--unit", name, "--", "state-get committed; state-get n")
		if want := fmt.Sprintf("%d\n%d\n", runs, times); got != want {
			t.Errorf("%s: %d runs wrote %q", name, runs, got)
		}
	}
}
