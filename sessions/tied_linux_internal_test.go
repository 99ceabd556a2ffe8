package sessions

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// TestAProgramDoesNotEndWithAThread: threads of the agent end while a program runs, and the kernel
// would take the one that has started it for the agent.
func TestAProgramDoesNotEndWithAThread(t *testing.T) {
	t.Parallel()
	for range 20 {
		cmd := exec.Command("sh", "-c", "read x; exit 7")
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		tie(cmd.SysProcAttr)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		await, err := startTied(cmd)
		if err != nil {
			t.Fatal(err)
		}
		var ending sync.WaitGroup
		for range 50 {
			ending.Go(runtime.LockOSThread) // the thread ends with the goroutine
		}
		ending.Wait()
		if _, err := in.Write([]byte("\n")); err != nil {
			t.Error(err)
		}
		if _ = await(); cmd.ProcessState.ExitCode() != 7 {
			t.Fatalf("it has ended so: %v", cmd.ProcessState)
		}
	}
}

func TestAProgramThatIsNotThereIsNotStarted(t *testing.T) {
	t.Parallel()
	if _, err := startTied(exec.Command("/nowhere/at-all")); err == nil {
		t.Error("it has started")
	}
}
