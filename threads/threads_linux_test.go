package threads_test

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/threads"
)

// The first thread is this one until the tests run: then nobody has it.
func init() { runtime.LockOSThread() }

// TestMain keeps the first thread busy with goroutines that want one of their own.
func TestMain(m *testing.M) {
	done := make(chan int)
	go func() { done <- m.Run() }()
	runtime.UnlockOSThread()
	os.Exit(<-done)
}

// TestTheFirstThreadIsNeverLost: whatever is done to a thread, the process keeps its own.
func TestTheFirstThreadIsNeverLost(t *testing.T) {
	t.Parallel()
	for range 1000 {
		if err := threads.Lost(func() error {
			if unix.Gettid() == os.Getpid() {
				return errors.New("it is the first")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	want := errors.New("what it is")
	if err := threads.Lost(func() error { return want }); err != want {
		t.Error(err)
	}
}
