package main_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/unitd/unitd/testcharms"
)

// TestAnAgentServesMetricsAndHealth: the real program, from its start to its end.
func TestAnAgentServesMetricsAndHealth(t *testing.T) {
	t.Parallel()
	programs, err := testcharms.Programs()
	if err != nil {
		t.Fatal(err)
	}
	unitd, err := filepath.Abs(filepath.Join(programs, "unitd"))
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "UNITD_DATA="+filepath.Join(t.TempDir(), "data"))
	command := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command(unitd, args...)
		cmd.Env = env
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Fatalf("unitd %q ends with %d: %s", args, code, out)
		}
		return string(out)
	}
	if out := command(2, "agent", "--listen", "0.0.0.0:0"); !strings.Contains(out, "can be reached by others") {
		t.Errorf("it says %s", out)
	}

	cmd := exec.Command(unitd, "agent", "--listen", "127.0.0.1:0")
	cmd.Env = env
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	t.Cleanup(func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	address, lines := "", bufio.NewScanner(said)
	for address == "" && lines.Scan() {
		if found := regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(lines.Text()); found != nil {
			address = "http://" + found[1]
		}
	}
	go func() { // what it says later is nobody's
		for lines.Scan() {
		}
	}()
	get := func(path string) (int, string) {
		t.Helper()
		answer, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(b)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		code, body := get("/readyz")
		if code == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it isn't ready: %d %s", code, body)
		}
	}
	if code, body := get("/healthz"); code != http.StatusOK || body != "ok\n" {
		t.Errorf("its health is %d %s", code, body)
	}
	command(0, "deploy", testcharms.Dir("noop"))
	command(0, "wait", "--timeout", "600s")
	var body string
	for end := time.Now().Add(time.Minute); !strings.Contains(body, `unitd_units{application="noop",model="default",status="`) && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		_, body = get("/metrics") // what it has seen it tells again for some seconds
	}
	for _, want := range []string{
		`unitd_hook_duration_seconds_count{application="noop",hook="install",model="default",outcome="committed"} 1`,
		`unitd_units{application="noop",model="default",status="`, `unitd_machines{agent="present",model="default"} 1`,
		`unitd_store_transaction_duration_seconds_count{kind="update"}`, `unitd_disk_free_bytes `, `unitd_build_info{commit="`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("there is no %s in\n%s", want, body)
		}
	}
	if problems, err := promlint.New(strings.NewReader(body)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("the linter of Prometheus says %v, %v", problems, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended = true
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if answer, err := http.Get(address + "/healthz"); err == nil {
		answer.Body.Close()
		t.Error("it is served after the agent's end")
	}
}
