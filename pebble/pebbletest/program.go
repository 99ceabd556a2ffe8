// Package pebbletest starts the real Pebble for tests: processes of their own,
// ended by their ids, with their files in directories of the tests.
//
// The program is the one that the module in pebble/testdata/pebble pins as a
// tool. "make test" builds it once for all packages; else the go command does,
// and keeps it in its build cache.
package pebbletest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/juju/errors"
)

// programsVariable names a directory that "make test" has built programs into.
const programsVariable = "UNITD_TEST_PROGRAMS"

// tool is the program, in the module of its own.
const tool = "github.com/canonical/pebble/cmd/pebble"

// TB is what a test and a benchmark have in common.
type TB interface {
	Helper()
	Fatal(args ...any)
	Skipf(format string, args ...any)
	Cleanup(func())
	TempDir() string
	Logf(format string, args ...any)
	Failed() bool
}

// Program is the path of the real Pebble, a static program. Where it can't be
// built the test is skipped; in CI it fails.
func Program(t TB) string {
	t.Helper()
	path, err := program()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("skipped: %v", err)
	}
	return path
}

var program = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(programsVariable); dir != "" {
		path := filepath.Join(dir, "pebble")
		_, err := os.Stat(path)
		return path, errors.Annotatef(err, "%s has no Pebble", programsVariable)
	}
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("cannot find the module that pins Pebble")
	}
	cmd := exec.Command("go", "tool", "-n", tool)
	cmd.Dir = filepath.Join(filepath.Dir(here), "..", "testdata", "pebble")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "", errors.Annotatef(err, "cannot build Pebble: %s", exit.Stderr)
		}
		return "", errors.Annotate(err, "cannot build Pebble")
	}
	return strings.TrimSpace(string(out)), nil
})
