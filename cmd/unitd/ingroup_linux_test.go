package main_test

import (
	"os"
	"os/exec"
	"syscall"
)

// inGroup has the program begin in the cgroup whose directory is open.
func inGroup(cmd *exec.Cmd, group *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
}
