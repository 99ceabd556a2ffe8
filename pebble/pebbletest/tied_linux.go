package pebbletest

import (
	"os/exec"
	"runtime"
	"syscall"
)

// runTied starts the process so that it ends when this one does, even if that is
// killed. gone is closed when it has ended.
func runTied(cmd *exec.Cmd, asInit bool, gone chan<- struct{}) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if asInit {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID
	}
	started := make(chan error, 1)
	go func() {
		defer close(gone)
		// The signal is sent when the thread ends that started the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	return <-started
}
