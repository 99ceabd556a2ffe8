package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/juju/errors"
)

// A lock file that a killed agent has left names a process that is gone, or by
// now another one: nobody may find it locked while it does.
func TestTheLockFileNamesItsProcessBeforeItIsLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agent.lock")
	if err := os.WriteFile(path, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Whoever shares the lock keeps it from being taken.
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	type result struct {
		lock *Lock
		err  error
	}
	taken := make(chan result, 1)
	go func() {
		l, err := LockAt(path)
		taken <- result{l, err}
	}()
	deadline := time.After(5 * time.Minute)
	for readPid(f) != os.Getpid() {
		select {
		case r := <-taken:
			t.Fatalf("it was taken while somebody else had it, and names process %d: %v", readPid(f), r.err)
		case <-deadline:
			t.Fatalf("it names process %d", readPid(f))
		default:
			runtime.Gosched()
		}
	}
	if pid, err := holder(path); pid != 0 || err != nil {
		t.Errorf("before it is locked process %d has it, %v", pid, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	r := <-taken
	if r.err != nil {
		t.Fatal(r.err)
	}
	if pid, err := holder(path); pid != os.Getpid() || err != nil {
		t.Errorf("process %d has it, %v, want this one", pid, err)
	}
	if _, err := LockAt(path); !errors.Is(err, errors.AlreadyExists) {
		t.Errorf("it was taken twice: %v", err)
	}
	r.lock.Release()
	if pid, err := holder(path); pid != 0 || err != nil {
		t.Errorf("given back it is process %d's, %v", pid, err)
	}
}

func TestALockFileThatNamesNobodyIsAnError(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "agent\n", "0\n", "-1\n"} {
		path := filepath.Join(t.TempDir(), "agent.lock")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		if pid, err := holder(path); err == nil || pid != 0 {
			t.Errorf("%q: process %d has it, %v", content, pid, err)
		}
		f.Close()
	}
}

func TestTheAgentsLogHasErrorsInOneLineAndNoSourceFiles(t *testing.T) {
	t.Parallel()
	err := errors.Annotate(errors.Trace(errors.NotFoundf("charm %q", "shop")), "cannot deploy")
	var b bytes.Buffer
	NewLog(&b).Error("it went wrong", "unit", "shop/0", "err", err)
	got := b.String()
	want := ` level=ERROR msg="it went wrong" unit=shop/0 err="cannot deploy: charm \"shop\" not found"` + "\n"
	if !strings.HasSuffix(got, want) || strings.Count(got, "\n") != 1 {
		t.Errorf("have %s\nwant %s", got, want)
	}
}
