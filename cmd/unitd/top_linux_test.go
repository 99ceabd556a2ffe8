package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/testcharms"
)

// TestTopShowsAModelInATerminal: what comes, without a key being pressed, and that it ends
// by one.
func TestTopShowsAModelInATerminal(t *testing.T) {
	t.Parallel()
	programs, err := testcharms.Programs()
	if err != nil {
		t.Fatal(err)
	}
	unitd, err := filepath.Abs(filepath.Join(programs, "unitd"))
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "UNITD_DATA="+filepath.Join(t.TempDir(), "data"), "TERM=xterm-256color")
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(unitd, args...)
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("unitd %q: %v: %s", args, err, out)
		}
	}
	run("add-model", "staging")
	master, slave := openTerminal(t)
	cmd := exec.Command(unitd, "top")
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, slave, slave, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	seen := ""
	until := func(text string) {
		t.Helper()
		for b := make([]byte, 4096); !strings.Contains(seen, text); {
			n, err := master.Read(b)
			if err != nil {
				t.Fatalf("no %q, but %q: %v", text, seen, err)
			}
			seen += string(b[:n])
		}
	}
	until("staging")
	run("deploy", "--model", "staging", testcharms.Dir("noop"))
	until("noop/0")
	if _, err := master.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v after %q", err, seen)
	}
	run("shutdown")

	cmd = exec.Command(unitd, "top")
	cmd.Env = env
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), `"unitd top" needs a terminal`) {
		t.Errorf("without a terminal it ends with %d: %s", cmd.ProcessState.ExitCode(), out)
	}
}
