package runner_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/hooks/runner"
)

// TestMain makes the test's binary a parent of orphans, as agents are, where
// UNITD_TEST_REAP says so.
func TestMain(m *testing.M) {
	if os.Getenv("UNITD_TEST_REAP") == "" {
		os.Exit(m.Run())
	}
	os.Exit(reapOrphans())
}

// stubborn double-forks into sessions of their own, ignores TERM, clears an
// environment, and holds stdout. Each of its four processes says its number.
const stubborn = `
(setsid sh -c 'trap "echo ended in order; exit 0" TERM; echo $$; while :; do sleep 60 & wait $!; done' &)
trap '' TERM
echo $$
(setsid sh -c 'echo $$; while :; do sleep 60 & wait $!; done' &)
env -i PATH=/bin:/usr/bin setsid sh -c 'echo $$; while :; do sleep 60 & wait $!; done' &
while :; do sleep 60; done
`

// TestAProgramThatIsEndedAtOnceHasNoGrace, however long others have.
func TestAProgramThatIsEndedAtOnceHasNoGrace(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	var out sink
	o := newRunner(t).Run(ctx, runner.Cmd{
		Path: script(t, stubborn), Env: []string{"PATH=/bin:/usr/bin", "UNITD_RUN=" + t.TempDir()}, Grace: 24 * time.Hour,
		Output: func(s runner.Stream, line string) {
			if out.add(s, line); len(out.get(s)) == 4 {
				end(runner.AtOnce)
			}
		},
	})
	if !o.Stopped || o.Signal != syscall.SIGKILL || o.Left != 0 {
		t.Errorf("got %+v", o)
	}
	for _, line := range out.get(runner.Stdout) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatalf("%q was said, as after TERM", line)
		}
		wantGone(t, pid)
	}
}

// TestAllThatAProgramHasStartedEndsWithIt, with a cgroup and without, whatever
// it does against that, and all that it has printed is passed on.
func TestAllThatAProgramHasStartedEndsWithIt(t *testing.T) {
	t.Parallel()
	for name, groups := range map[string]*runner.Cgroups{"by a cgroup": cgroups(t), "without one": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "by a cgroup" && groups == nil {
				t.Skip("no right to make cgroups")
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var out sink
			said := make(chan string, 10)
			r := newRunner(t)
			r.Cgroups = groups
			go func() {
				for range 4 {
					<-said
				}
				cancel()
			}()
			o := r.Run(ctx, runner.Cmd{
				Path: script(t, stubborn), Env: []string{"PATH=/bin:/usr/bin", "UNITD_RUN=" + t.TempDir()},
				Grace: 200 * time.Millisecond,
				Output: func(s runner.Stream, line string) {
					out.add(s, line)
					said <- line
				},
			})
			if !o.Stopped || o.Signal != syscall.SIGKILL || o.Left != 0 {
				t.Errorf("got %+v", o)
			}
			last := false
			for _, line := range out.get(runner.Stdout) {
				last = last || line == "ended in order"
				if pid, err := strconv.Atoi(line); err == nil {
					wantGone(t, pid)
				}
			}
			if !last {
				t.Errorf("the last words aren't in %q", out.get(runner.Stdout))
			}
		})
	}
}

// cgroups are those of a directory of the test's; nil: there may be none.
func cgroups(t *testing.T) *runner.Cgroups {
	c := runner.OpenCgroups(t.TempDir())
	t.Cleanup(c.Close)
	return c
}

// alive says whether the process is there, and no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func wantGone(t *testing.T, pid int) {
	t.Helper()
	if alive(pid) {
		t.Errorf("process %d lives", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// TestACgroupEndsWhoHasHiddenFromAllElse: an orphan in a session of its own with
// an empty environment can't be told from a former daemon but by its cgroup.
func TestACgroupEndsWhoHasHiddenFromAllElse(t *testing.T) {
	t.Parallel()
	groups := cgroups(t)
	if groups == nil {
		t.Skip("no right to make cgroups")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pids := make(chan int, 1)
	r := newRunner(t)
	r.Cgroups = groups
	r.Run(ctx, runner.Cmd{
		Path: script(t, `(env -i PATH=/bin:/usr/bin setsid sh -c 'echo $$; exec sleep 600' &); while :; do sleep 60; done`),
		Env:  []string{"PATH=/bin:/usr/bin"}, Grace: time.Millisecond,
		Output: func(_ runner.Stream, line string) {
			pid, _ := strconv.Atoi(line)
			pids <- pid
			cancel()
		},
	})
	wantGone(t, <-pids)
}

// TestADaemonKeepsItsCgroup until it ends, also beyond the agent's end; then
// the group goes.
func TestADaemonKeepsItsCgroup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	groups := runner.OpenCgroups(dir)
	if groups == nil {
		t.Skip("no right to make cgroups")
	}
	var out sink
	r := newRunner(t)
	r.Cgroups = groups
	const mark = "UNITD_RUN=daemon"
	o := r.Run(context.Background(), runner.Cmd{
		Path: script(t, `setsid sleep 600 >/dev/null 2>&1 & echo $!; cat /proc/self/cgroup`),
		Env:  []string{"PATH=/bin:/usr/bin", mark}, Output: out.add,
	})
	lines := out.get(runner.Stdout)
	pid, err := strconv.Atoi(lines[0])
	if !ok(o) || err != nil {
		t.Fatalf("got %+v, %q", o, lines)
	}
	path := ""
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, "0::"); ok && strings.Contains(rest, "/unitd-") {
			path = rest
		}
	}
	if path == "" {
		t.Fatalf("it isn't in a cgroup of its own: %q", lines)
	}
	if o := r.Run(context.Background(), runner.Cmd{Path: script(t, "exit 0")}); !ok(o) {
		t.Errorf("got %+v", o)
	}
	groups.Close()
	again := runner.OpenCgroups(dir)
	if !alive(pid) {
		t.Error("the daemon was ended")
	}
	// It is a killed agent's left-over now, which can be found by its group.
	if n, left := runner.EndRun(context.Background(), again, mark, ""); n == 0 || left != 0 {
		t.Errorf("ended %d, %d are left", n, left)
	}
	again.Close()
	found, err := filepath.Glob("/sys/fs/cgroup" + filepath.Dir(path))
	unified, _ := filepath.Glob("/sys/fs/cgroup/unified" + filepath.Dir(path))
	if err != nil || len(found)+len(unified) > 0 {
		t.Errorf("left %v %v, %v", found, unified, err)
	}
}

// TestKilledAgentsLeaveNoCgroups: the next agent of any directory removes those in
// which nobody is, and none that an agent has.
func TestKilledAgentsLeaveNoCgroups(t *testing.T) {
	t.Parallel()
	alive := runner.OpenCgroups(t.TempDir())
	if alive == nil {
		t.Skip("no right to make cgroups")
	}
	defer alive.Close()
	left := filepath.Join(filepath.Dir(alive.Dir()), fmt.Sprintf("unitd-%016x", time.Now().UnixNano()))
	if err := os.Mkdir(left, 0o755); err != nil {
		t.Fatal(err)
	}
	runner.OpenCgroups(t.TempDir()).Close()
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what a killed one has left: %v", err)
	}
	if _, err := os.Stat(alive.Dir()); err != nil {
		t.Errorf("what an agent has: %v", err)
	}
}

// TestOrphansAreReaped, and nobody else's children, by a process that has
// adopted them.
func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "UNITD_TEST_REAP="+t.TempDir())
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, b)
	}
}

// reapOrphans is the process that TestOrphansAreReaped starts.
func reapOrphans() int {
	fail := func(args ...string) int {
		os.Stderr.WriteString(strings.Join(args, " ") + "\n")
		return 1
	}
	reaper := runner.Adopt()
	if reaper == nil {
		return fail("cannot adopt")
	}
	defer reaper.Close()
	r := runner.Runner{Reaper: reaper}
	defer r.Close()
	hook := filepath.Join(os.Getenv("UNITD_TEST_REAP"), "hook")
	body := "#!/bin/sh\n(setsid sh -c 'echo $$ $PPID; exec sleep 0.01' &)\n"
	if err := os.WriteFile(hook, []byte(body), 0o755); err != nil {
		return fail(err.Error())
	}
	// A child that somebody else has started waits as a zombie, as long as that
	// one likes.
	other := exec.Command("true")
	if err := other.Start(); err != nil {
		return fail(err.Error())
	}
	var pids []int
	for range 20 {
		line := make(chan string, 1)
		o := r.Run(context.Background(), runner.Cmd{
			Path: hook, Env: []string{"PATH=/bin:/usr/bin"},
			Output: func(_ runner.Stream, l string) { line <- l },
		})
		if !ok(o) {
			return fail("a program's end was stolen")
		}
		pid, err := strconv.Atoi(strings.Fields(<-line)[0])
		if err != nil {
			return fail(err.Error())
		}
		pids = append(pids, pid)
	}
	for _, pid := range pids {
		for syscall.Kill(pid, 0) == nil { // also of a zombie
			if over := time.Now(); over.Sub(started) > 5*time.Minute {
				return fail("not reaped:", strconv.Itoa(pid))
			}
			time.Sleep(time.Millisecond)
		}
	}
	if err := other.Wait(); err != nil {
		return fail("another's child was reaped:", err.Error())
	}
	return 0
}

var started = time.Now()
