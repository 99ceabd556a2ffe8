package main_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// quick is a script that is over soon, with a unit, a relation, a stub and a
// process that its hook leaves running.
const quick = `# a life
stub db server:kv
deploy ./app
integrate app db
settle
-- app/metadata.yaml --
name: app
requires: {client: kv}
-- app/hooks/start --
#!/bin/sh
setsid sleep 600 > /dev/null 2>&1 &
`

// slow are scripts that don't end by themselves: in a hook, in a hook with a
// child, in a unit that stands still, and in a program of the script's.
var slow = []string{
	"deploy ./app\nsettle\n-- app/metadata.yaml --\nname: app\n-- app/hooks/start --\n#!/bin/sh\nexec sleep 600\n",
	"deploy ./app\nsettle\n-- app/metadata.yaml --\nname: app\n-- app/hooks/start --\n#!/bin/sh\ntrap '' TERM INT\nsleep 600\nsleep 600\n",
	"deploy ./app\nhang app/0 start\n! settle\nexec sleep 600\n-- app/metadata.yaml --\nname: app\n",
	"exec sleep 600 &\nexec sh -c 'sleep 600; true'\n",
}

// TestScriptsLeaveNothingBehind: twenty at once, also when they are
// interrupted in the middle.
func TestScriptsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("skipped: what is left is read from /proc")
	}
	t.Run("in the end", func(t *testing.T) {
		t.Parallel()
		r := newScriptsRun(t, 20, 0, "off")
		if out, err := r.cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("20 passed, 0 failed")) {
			t.Errorf("%v:\n%s", err, out)
		}
		r.wantNothingLeft()
	})
	t.Run("when interrupted", func(t *testing.T) {
		t.Parallel()
		interrupt(t, newScriptsRun(t, 12, 8, "off"))
	})
}

// TestHostScriptsOfIsolatedUnitsLeaveNothingBehind when they are interrupted.
func TestHostScriptsOfIsolatedUnitsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	if ok, err := mayIsolate(); err != nil || !ok {
		t.Skipf("skipped: units cannot be isolated here: %v", err)
	}
	interrupt(t, newScriptsRun(t, 2, 4, "on"))
}

// interrupt interrupts a run once its first script has passed.
func interrupt(t *testing.T, r *scriptsRun) {
	t.Helper()
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said, complained bytes.Buffer
	r.cmd.Stderr = &complained
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	if err != nil || !strings.HasPrefix(first, "pass ") {
		t.Errorf("the first line is %q, %v", first, err)
	}
	if len(processesOf(r.temp)) == 0 {
		t.Error("nothing was running")
	}
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = r.cmd.Process.Kill() })
	rest, _ := lines.WriteTo(&said)
	err = r.cmd.Wait()
	var exit *exec.ExitError
	if !late.Stop() || !errors.As(err, &exit) || exit.ExitCode() < 1 {
		t.Errorf("it ended by %v after %d bytes:\n%s%s", err, rest, said.String(), complained.String())
	}
	r.wantNothingLeft()
}

// scriptsRun is a "unitd test" with a temporary directory of its own.
type scriptsRun struct {
	*testing.T
	cmd  *exec.Cmd
	temp string
	data string
	// group is the cgroup that the run is in; "": it may have none.
	group string
}

// newScriptsRun is one of so many scripts of each kind, all at once.
func newScriptsRun(t *testing.T, quickOnes, slowOnes int, isolate string) *scriptsRun {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range quickOnes + slowOnes {
		text := quick
		if i >= quickOnes {
			text = slow[i%len(slow)]
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("script-%02d.txtar", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The sockets of agents are in it, and their paths have to be short.
	temp, err := os.MkdirTemp("", "u")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(temp); err != nil {
			t.Error(err)
		}
	})
	cmd := exec.Command(filepath.Join(bin, "unitd"), "test", "--parallel", "20", dir)
	r := &scriptsRun{T: t, cmd: cmd, temp: temp, data: filepath.Join(dir, "data")}
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "UNITD_DATA="+r.data, "UNITD_ISOLATE="+isolate)
	r.joinGroup()
	return r
}

// joinGroup has the run begin in a cgroup of its own, where this host lets us,
// so that groups that it leaves can be told from those of other tests.
func (r *scriptsRun) joinGroup() {
	r.Helper()
	for _, root := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
			continue
		}
		group := filepath.Join(root, filepath.Base(r.temp))
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		r.Cleanup(func() {
			if err := os.Remove(group); err != nil {
				r.Error(err)
			}
		})
		f, err := os.Open(group)
		if err != nil {
			r.Fatal(err)
		}
		r.Cleanup(func() { _ = f.Close() })
		inGroup(r.cmd, f)
		r.group = group
		return
	}
	r.Log("no cgroup may be made here: none can be left behind")
}

// wantNothingLeft looks for processes, sockets, mounts and files.
func (r *scriptsRun) wantNothingLeft() {
	r.Helper()
	for pid, command := range leftBehind(r.temp) {
		r.Errorf("process %d was left behind: %s", pid, command)
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have just ended
	}
	for pid := range machinesOf(r.temp) {
		r.Errorf("the machine of an isolated unit was left behind, process %d", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, table := range []string{"/proc/net/unix", "/proc/self/mountinfo"} {
		b, err := os.ReadFile(table)
		if err != nil {
			r.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, r.temp) {
				r.Errorf("%s has %s", table, line)
			}
		}
	}
	entries, err := os.ReadDir(r.temp)
	if err != nil || len(entries) > 0 {
		r.Errorf("the temporary directory has %v, %v", entries, err)
	}
	if _, err := os.Stat(r.data); !os.IsNotExist(err) {
		r.Errorf("the data directory is there: %v", err)
	}
	if r.group == "" {
		return
	}
	groups, err := filepath.Glob(filepath.Join(r.group, "*", "cgroup.procs"))
	if err != nil || len(groups) > 0 {
		r.Errorf("the cgroup has %v, %v", groups, err)
	}
}
