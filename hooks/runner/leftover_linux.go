package runner

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// leftoverTime bounds how long EndLeftover takes.
const leftoverTime = 5 * time.Second

// EndLeftover ends every process of this user whose environment has all of
// vars ("NAME=value"), and returns how many it found: what a program left
// running when its agent was killed. Whoever it found is gone when it returns,
// but for left of them: a process that waits for a disk that doesn't answer
// can't be ended, and is waited for neither long nor after ctx has ended.
// The environment is what the process was started with, so it finds
// grandchildren too, whatever process group they are in.
func EndLeftover(ctx context.Context, vars ...string) (found, left int) {
	return endLeftover(ctx, leftoverTime, func() []int { return withEnviron(vars) }, func(pid int) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
	})
}

func endLeftover(ctx context.Context, bound time.Duration, look func() []int, kill func(pid int)) (found, left int) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	seen := map[int]bool{}
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		pids := look()
		for _, pid := range pids {
			seen[pid] = true
			kill(pid)
		}
		if len(pids) == 0 {
			return len(seen), 0
		}
		// A killed process stands in /proc until it is reaped, with no
		// environment to read any more; it may also have forked meanwhile.
		select {
		case <-ctx.Done():
			return len(seen), len(pids)
		case <-time.After(wait):
		}
	}
}

func withEnviron(vars []string) []int {
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var pids []int
	for _, path := range paths {
		pid, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		have := bytes.Split(environ, []byte{0})
		if !slices.ContainsFunc(vars, func(v string) bool {
			return !slices.ContainsFunc(have, func(h []byte) bool { return string(h) == v })
		}) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}
