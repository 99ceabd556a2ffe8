package main

import (
	"os/exec"
	"syscall"
)

// inRoot has a program run with another root.
func inRoot(cmd *exec.Cmd, root string) {
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
}
