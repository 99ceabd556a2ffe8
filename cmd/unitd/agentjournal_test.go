package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAnAgentOfAServiceLogsToTheJournal: its standard error is the file that JOURNAL_STREAM
// names, and the journal is a socket of the test's.
func TestAnAgentOfAServiceLogsToTheJournal(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	path, journal := s.socket("journal")
	out, err := os.Create(filepath.Join(s.dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var st syscall.Stat_t
	if err := syscall.Fstat(int(out.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	stream := "JOURNAL_STREAM=" + strconv.FormatUint(uint64(st.Dev), 10) + ":" + strconv.FormatUint(st.Ino, 10) //nolint:unconvert // of other types elsewhere
	run := func(args ...string) *exec.Cmd {
		cmd := exec.Command(s.unitd, args...)
		cmd.Env = append(append([]string(nil), s.env...), stream, "UNITD_TEST_JOURNAL="+path)
		cmd.Stderr = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if cmd.ProcessState == nil {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
		})
		return cmd
	}
	cmd := run("agent")
	record := s.next(journal)
	for _, want := range []string{"MESSAGE=the agent runs version=", "\nPRIORITY=6\n", "\nSYSLOG_IDENTIFIER=unitd\n", "\nUNITD_VERSION="} {
		if !strings.Contains(record, want) {
			t.Errorf("there is no %q in %q", want, record)
		}
	}
	s.end(cmd, &bytes.Buffer{})
	if record := s.next(journal); !strings.HasPrefix(record, "MESSAGE=the agent has stopped\n") {
		t.Errorf("it says %q at its end", record)
	}
	if b, err := os.ReadFile(out.Name()); err != nil || len(b) > 0 {
		t.Errorf("beside that it prints %s, %v", b, err)
	}

	// Who wants lines has their levels too, as systemd takes them.
	cmd = run("agent", "--log-format", "json")
	var line []byte
	for end := time.Now().Add(2 * time.Minute); !bytes.HasSuffix(line, []byte("\n")); {
		if line, err = os.ReadFile(out.Name()); err != nil || time.Now().After(end) {
			t.Fatalf("%q, %v", line, err)
		}
	}
	var said map[string]any
	rest, ok := bytes.CutPrefix(line, []byte("<6>"))
	if err := json.Unmarshal(rest, &said); err != nil || !ok || said["msg"] != "the agent runs" || said["level"] != "INFO" {
		t.Errorf("it prints %s: %v", line, err)
	}
	s.end(cmd, &bytes.Buffer{})
}
