package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// EndLeftover ends every process of this user whose environment has all of
// vars ("NAME=value"), and returns how many it found: what a program left
// running when its agent was killed. Whoever it found is gone when it returns.
// The environment is what the process was started with, so it finds
// grandchildren too, whatever process group they are in.
func EndLeftover(vars ...string) int {
	found := map[int]bool{}
	for {
		pids := withEnviron(vars)
		if len(pids) == 0 {
			return len(found)
		}
		for _, pid := range pids {
			found[pid] = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		// A killed process stands in /proc until it is reaped, with no
		// environment to read any more; it may also have forked meanwhile.
		time.Sleep(time.Millisecond)
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
	return pids
}
