package etcdtest

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd"
	"github.com/unitd/unitd/state/store/sqlite"
)

// Variable is the environment variable that says on which engine a package's
// tests run: "etcd" with one member, "etcd3" with three, or else SQLite.
const Variable = "UNITD_TEST_STORE"

// OnEtcd says whether these tests are to run on etcd.
func OnEtcd() bool { return strings.HasPrefix(os.Getenv(Variable), "etcd") }

// members is how many members a cluster for a test has.
func members() int {
	if os.Getenv(Variable) == "etcd3" {
		return 3
	}
	return 1
}

// Open opens an empty store on the engine that tests are to run on: a new
// SQLite file at path, or a cluster that the test has alone. The caller closes
// it.
func Open(t TB, path string) store.Store {
	t.Helper()
	if !OnEtcd() {
		s, err := sqlite.Open(path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	url := Alone(t)
	if err := os.WriteFile(path+".url", []byte(url), 0o600); err != nil {
		t.Fatal(err)
	}
	return OpenURL(t, url)
}

// Reopen opens a store that Open has made, for another process. The caller
// closes it.
func Reopen(path string) (store.Store, error) {
	url, err := os.ReadFile(path + ".url")
	if os.IsNotExist(err) {
		s, err := sqlite.Open(path, sqlite.Options{})
		if err != nil {
			return nil, errors.Trace(err)
		}
		return s, nil
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	o, err := etcd.ParseURL(string(url), nil)
	if err != nil {
		return nil, errors.Trace(err)
	}
	s, err := etcd.Open(context.Background(), o)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return s, nil
}

// OpenURL opens the store that a URL names. The caller closes it.
func OpenURL(t TB, url string) *etcd.Store {
	t.Helper()
	o, err := etcd.ParseURL(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := etcd.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checks is the variable that says how often a property is tried, and mostChecks how
// often on etcd at most, where each try takes ten times as long.
const (
	checks     = "RAPID_CHECKS"
	mostChecks = 25
)

// Again runs the tests of this package once more, on the engine that is named as
// in Variable, in a process of their own, without the race detector: the
// package's own code has been watched by then. The test that calls it isn't run
// there.
func Again(t *testing.T, engine string) {
	t.Helper()
	if OnEtcd() {
		t.Skip("these tests run on etcd already")
	}
	args := []string{"test", "-count=1", "-vet=off", "-timeout=0", "-v"}
	if testing.Short() {
		args = append(args, "-short")
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), Variable+"="+engine)
	if n, err := strconv.Atoi(os.Getenv(checks)); err == nil {
		cmd.Env = append(cmd.Env, checks+"="+strconv.Itoa(min(n, mostChecks)))
	}
	var out bytes.Buffer
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	told := make(chan struct{})
	go func() {
		defer close(told)
		// What has ended is said at once, and now and then which part of a test begins:
		// who watches this run for a hang hears that it goes on.
		var said time.Time
		for lines := bufio.NewReader(io.TeeReader(r, &out)); ; {
			line, err := lines.ReadString('\n')
			begins := strings.HasPrefix(line, "=== RUN ") && time.Since(said) > time.Minute
			if begins || strings.HasPrefix(line, "--- ") {
				t.Logf("on %s: %s", engine, strings.TrimSpace(line))
				said = time.Now()
			}
			if err != nil {
				return
			}
		}
	}()
	err := cmd.Run()
	_ = w.Close()
	<-told
	if err != nil {
		t.Errorf("on %s: %v\n%s", engine, err, &out)
	}
}
