package sessions

import "syscall"

// tie has a program end with the agent, also if that is killed. One with a terminal loses that,
// and ends so.
func tie(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGTERM }
