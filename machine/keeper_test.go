package machine_test

import (
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/unitd/unitd/testcharms"
)

// keeper keeps an agent alive in a process of its own: where it was killed it
// is started again, as by a service.
type keeper struct {
	w        *world
	mu       sync.Mutex
	cmd      *exec.Cmd
	stopping bool
	ended    chan struct{}
	// kills counts how often it was killed; unruly says that it was while it was
	// to end.
	kills  int
	unruly bool
}

// keep starts an agent with one more variable, which those that come after it
// don't have.
func (w *world) keep(variable string) *keeper {
	w.t.Helper()
	k := &keeper{w: w, ended: make(chan struct{})}
	if err := k.start(variable); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(k.stop)
	go k.watch()
	return k
}

func (k *keeper) start(variable string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	client, err := testcharms.Client()
	if err != nil {
		return err
	}
	k.cmd = exec.Command(self)
	k.cmd.Env = append(os.Environ(), agentVariable+"="+k.w.dir, clientVariable+"="+client, variable)
	k.cmd.Stderr = os.Stderr
	return k.cmd.Start()
}

func (k *keeper) watch() {
	defer close(k.ended)
	for {
		_ = k.cmd.Wait() // ProcessState says it
		k.mu.Lock()
		status, _ := k.cmd.ProcessState.Sys().(syscall.WaitStatus)
		killed := status.Signaled() && status.Signal() == syscall.SIGKILL
		if killed {
			k.kills++
		}
		if k.stopping || !killed {
			k.unruly = killed
			k.mu.Unlock()
			return
		}
		err := k.start("")
		k.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// stop ends the agent in good order, and waits.
func (k *keeper) stop() {
	k.mu.Lock()
	if !k.stopping {
		k.stopping = true
		_ = k.cmd.Process.Signal(syscall.SIGTERM) // it may have ended, which watch sees
	}
	k.mu.Unlock()
	<-k.ended
}
