package pebbletest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// opsHTTP is where Ops' tests ask for the health over TCP.
const opsHTTP = "http://localhost:4000/"

// Ops says on what OpsTests runs.
type Ops struct {
	// Socket is Pebble's, as this process sees it.
	Socket string
	// HTTP is where the same Pebble listens to TCP, as "127.0.0.1:38813".
	HTTP string
	// Temp is where the tests make the files that they have Pebble read and write: a
	// directory that has the same path for Pebble.
	Temp string
}

// OpsTests runs Ops' own tests with a real Pebble, test/test_real_pebble.py of its
// source distribution, which "make venv" fetches from PyPI. Where it didn't the
// test is skipped; in CI it fails. The tests are as they came but for the address
// of HTTP. Source: docs/spec/containers.md §9.11 (K-130).
func OpsTests(ctx context.Context, t TB, o Ops) {
	t.Helper()
	venv := os.Getenv("UNITD_TEST_VENV")
	if _, here, _, ok := runtime.Caller(0); venv == "" && ok {
		venv = filepath.Join(filepath.Dir(here), "..", "..", ".venv")
	}
	found, _ := filepath.Glob(filepath.Join(venv, "sdist", "ops-*", "test", "test_real_pebble.py"))
	if len(found) != 1 {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI has to run Ops' tests with Pebble: \"make venv\" fetches them")
		}
		t.Skipf("skipped: there are no tests of Ops'; \"make venv\" fetches them")
	}
	tree := t.TempDir()
	if err := os.CopyFS(filepath.Join(tree, "test"), os.DirFS(filepath.Dir(found[0]))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(tree, "test", "test_real_pebble.py")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(source, []byte(opsHTTP)) {
		t.Fatal("Ops' tests ask elsewhere than at " + opsHTTP)
	}
	source = bytes.ReplaceAll(source, []byte(opsHTTP), []byte("http://"+o.HTTP+"/"))
	if err := os.WriteFile(file, source, 0o644); err != nil {
		t.Fatal(err)
	}
	python, err := filepath.Abs(filepath.Join(venv, "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.DevNull, "--rootdir", tree, file)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "RUN_REAL_PEBBLE_TESTS=1", "PEBBLE_SOCKET="+o.Socket, "PEBBLE="+o.Temp, "TMPDIR="+o.Temp,
		"PYTHONPATH="+filepath.Join(filepath.Dir(filepath.Dir(python)), "pytest"), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal("Ops' tests with Pebble: " + err.Error() + "\n" + string(out))
	}
	last := strings.TrimSpace(string(out))
	last = last[strings.LastIndex(last, "\n")+1:]
	t.Logf("Ops' tests with Pebble: %s", last)
	// A test that is skipped shows nothing.
	if !strings.Contains(last, "passed") || strings.Contains(last, "skipped") {
		t.Fatal("not all of Ops' tests were run: " + string(out))
	}
}
