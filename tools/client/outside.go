package client

import (
	"syscall"

	"github.com/unitd/unitd/tools/wire"
)

// The socket for callers outside of hooks, beside the directory of the tools.
const outsideSocket = "../run.socket"

// isOutside says whether it is a program for people and scripts of the machine,
// outside of hooks.
func isOutside(tool string) bool { return tool == "juju-exec" || tool == "juju-run" }

// outside has the agent run commands in a unit's context. Source:
// docs/spec/hook-tools.md §8.
func outside(path string, args []string) (code int) {
	tool := base(path)
	if id, _ := syscall.Getenv("JUJU_CONTEXT_ID"); id != "" {
		complain(tool + " cannot be called from within a hook, have context \"" + id + "\"")
		return misused
	}
	dir, err := syscall.Getwd()
	if err != nil {
		return complain("getwd: " + err.Error())
	}
	// The path may be too long for a socket's: it is named from where it is.
	if !enterTools(path) {
		return complain("cannot find the agent's socket: call " + tool + " by its path in the directory of the hook tools")
	}
	reply, problem := call(outsideSocket, wire.Request{Dir: dir, Args: append([]string{tool}, args...)})
	if problem != "" {
		return complain(problem)
	}
	_ = writeAll(1, reply.Stdout)
	_ = writeAll(2, reply.Stderr)
	return reply.Code
}

// enterTools goes to the directory of the hook tools: that of the link by which
// this program was called, or of one that it leads to.
func enterTools(path string) bool {
	if base(path) == path {
		path = onPath(path)
	}
	for range 10 {
		end := len(path) - len(base(path))
		if end == 0 || syscall.Chdir(path[:end]) != nil {
			return false
		}
		var st syscall.Stat_t
		if syscall.Stat(outsideSocket, &st) == nil {
			return true
		}
		target := make([]byte, 4096)
		n, err := syscall.Readlink(base(path), target)
		if err != nil || n <= 0 {
			return false
		}
		path = string(target[:n])
		if base(path) == path {
			path = "./" + path
		}
	}
	return false
}

// onPath is where a program is that was called by its name alone.
func onPath(name string) string {
	dirs, _ := syscall.Getenv("PATH")
	for start, i := 0, 0; i <= len(dirs); i++ {
		if i < len(dirs) && dirs[i] != ':' {
			continue
		}
		path := dirs[start:i] + "/" + name
		start = i + 1
		var st syscall.Stat_t
		if syscall.Stat(path, &st) == nil {
			return path
		}
	}
	return name
}
