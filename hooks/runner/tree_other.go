//go:build !linux

package runner

import (
	"context"
	"syscall"
	"time"
)

// tree is a program with what it has started, so far as that stays in its
// process group: other systems than Linux don't tell a process how another one
// was started.
type tree struct {
	pid   int
	marks []string
	whole bool
	group *cgroup
}

// killTime bounds how long a process that was killed is waited for.
const killTime = 5 * time.Second

// end ends the process group: TERM, and KILL after the grace. It returns how
// many couldn't be ended, or 1 for some.
func (t *tree) end(grace time.Duration) (left int) {
	for _, step := range []struct {
		signal syscall.Signal
		bound  time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, killTime}} {
		_ = syscall.Kill(-t.pid, step.signal)
		over := time.Now().Add(step.bound)
		for wait := time.Millisecond; time.Now().Before(over); wait = min(2*wait, 50*time.Millisecond) {
			if syscall.Kill(-t.pid, 0) != nil {
				return 0
			}
			time.Sleep(wait)
		}
	}
	return 1
}

// EndLeftover does nothing here: only Linux lets a process see with which
// environment another one was started. A hook left over from a killed agent
// runs on to its end, without its hook tools.
func EndLeftover(context.Context, ...string) (found, left int) { return 0, 0 }

// Leftover finds none, see EndLeftover.
func Leftover(...string) []string { return nil }

// EndRun does nothing here, see EndLeftover.
func EndRun(context.Context, *Cgroups, string, string) (found, left int) { return 0, 0 }
