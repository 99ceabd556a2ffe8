//go:build !windows

package browser

import (
	"os/exec"
	"syscall"
)

// own puts the browser and all that it starts into a process group.
func own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// endAll ends what is left of the group.
func endAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
