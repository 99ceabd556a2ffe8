package main

import "syscall"

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of linux/prctl.h.
const prSetChildSubreaper = 36

// adopt makes this process the parent of what its children leave behind, such as
// the agents that commands start, so that their time is counted.
func adopt() { _, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0) }
