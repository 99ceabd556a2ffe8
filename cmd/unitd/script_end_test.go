package main_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/unitd/unitd/audit"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
)

// takeDown shuts down the agents that a script has started, and fails the
// test if that leaves a process behind; such a process is ended.
func takeDown(t testing.TB, e *testscript.Env) {
	for _, dir := range dataDirs(t, e.WorkDir) {
		cmd := exec.Command(filepath.Join(e.Getenv("BIN"), "unitd"), "shutdown")
		cmd.Env = append(e.Vars, "UNITD_DATA="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("unitd shutdown: %v: %s", err, out)
		}
	}
	// A failed script may have had commands in the background; testscript ends
	// those itself.
	failed := t.Failed()
	for pid, command := range leftBehind(e.WorkDir) {
		if !failed {
			t.Errorf("process %d was left behind: %s", pid, command)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have just ended
	}
	for _, dir := range dataDirs(t, e.WorkDir) {
		removeCells(t, dir, failed)
		runner.OpenCgroups(dir).Close()
		b, err := os.ReadFile(filepath.Join(dir, "agent.log"))
		if err == nil && (bytes.Contains(b, []byte("panic:")) || bytes.Contains(b, []byte("DATA RACE"))) {
			t.Errorf("the agent has panicked, or has a race")
		}
	}
	for pid := range machinesOf(e.WorkDir) {
		t.Errorf("the machine of an isolated unit was left behind, process %d", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, dir := range dataDirs(t, e.WorkDir) {
		if err := audit.Dir(dir); err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		showLogs(t, e.WorkDir)
	}
	if dir, err := os.ReadFile(filepath.Join(e.WorkDir, smallDisks)); err == nil {
		if err := unmount(string(dir)); err != nil {
			t.Errorf("cannot unmount %s: %v", dir, err)
		}
	}
}

// smallDisks is the file in a script's directory that names the disk that it has
// mounted.
const smallDisks = "small-disk"

// removeCells removes the machines of isolated units, which a script that hasn't
// failed has removed itself.
func removeCells(t testing.TB, dir string, failed bool) {
	cells := machine.NewCells(dir, "")
	keys, err := cells.Keys()
	if err != nil {
		t.Error(err)
	}
	for _, key := range keys {
		if !failed {
			t.Errorf("the machine of %s was left behind", key)
		}
		if err := cells.Remove(key); err != nil {
			t.Error(err)
		}
	}
}

// dataDirs are the data directories below dir that had an agent.
func dataDirs(t testing.TB, dir string) []string {
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "agent.lock" {
			found = append(found, filepath.Dir(path))
		}
		return nil // what vanishes meanwhile is no error
	})
	if err != nil {
		t.Error(err)
	}
	return found
}

// leftBehind are the processes that don't end by themselves: an agent gives
// back its lock, for which "shutdown" waits, a moment before it is gone.
func leftBehind(work string) map[int]string {
	left := processesOf(work)
	for end := time.Now().Add(3 * time.Minute); len(left) > 0 && time.Now().Before(end); left = processesOf(work) {
		time.Sleep(5 * time.Millisecond)
	}
	return left
}

// processesOf are the processes in whose environment the script's directory
// occurs, by id; known on Linux only.
func processesOf(work string) map[int]string {
	found := map[int]string{}
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return found
	}
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte(work+"/")) {
			continue
		}
		dir := filepath.Dir(path)
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		command, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err == nil && len(command) > 0 {
			found[pid] = string(bytes.ReplaceAll(command, []byte{0}, []byte{' '}))
		}
	}
	return found
}

// machinesOf are the first processes of the machines of isolated units whose
// changes are below a directory, by id.
func machinesOf(dir string) map[int]bool {
	found := map[int]bool{}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return found
	}
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(line, []byte(isolate.InitCommand)) {
			continue
		}
		mounts, err := os.ReadFile(filepath.Join(filepath.Dir(path), "mountinfo"))
		if pid, no := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && no == nil && bytes.Contains(mounts, []byte(dir+"/")) {
			found[pid] = true
		}
	}
	return found
}

// showLogs puts what the agents have logged into the test's output.
func showLogs(t testing.TB, work string) {
	err := filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "debug.log" && d.Name() != "agent.log" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err == nil && len(b) > 0 {
			t.Logf("%s:\n%s", path, b[max(0, len(b)-8000):])
		}
		return nil
	})
	if err != nil {
		t.Log(err)
	}
}
