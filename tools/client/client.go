package client

import (
	"syscall"

	"github.com/unitd/unitd/tools/wire"
)

// isOwn says whether the client was called by its own name, as it is built or as it
// is installed: then its first argument names the tool.
func isOwn(name string) bool {
	return name == "hooktool" || name == "unitd-hooktool" || name == "unitd-hooktool-c"
}

// Exit codes of the client itself; others are the tools'.
const (
	failed  = 1
	misused = 2
	crashed = 3
)

// Main runs the tool that args name, args[0] being the path it was called by,
// and returns the exit code: the tool's, or 1 where there was no talking to
// the agent. Errors are said on standard error as "ERROR text".
func Main(args []string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			complain("hook tool client crashed")
			code = crashed
		}
	}()
	if len(args) > 0 && isPython(base(args[0])) {
		return python(args)
	}
	if len(args) > 0 && isOutside(base(args[0])) {
		return outside(args[0], args[1:])
	}
	req, address, err := request(args)
	if err != "" {
		return complain(err)
	}
	if readsStdin(req.Args) {
		if err := addStdin(&req); err != "" {
			return complain(err)
		}
	}
	reply, err := call(address, req)
	if err == "" && reply.Code == wire.NeedStdin {
		if err := addStdin(&req); err != "" {
			return complain(err)
		}
		reply, err = call(address, req)
	}
	if err != "" {
		return complain(err)
	}
	// A caller that doesn't read its tool's output has had its answer.
	_ = writeAll(1, reply.Stdout)
	_ = writeAll(2, reply.Stderr)
	return reply.Code
}

// request is made of the environment and the arguments. What is missing is
// found in the order of docs/spec/hook-tools.md §1.1.
func request(args []string) (req wire.Request, address, problem string) {
	tool, rest := "", args
	if len(args) > 0 {
		tool, rest = base(args[0]), args[1:]
	}
	if isOwn(tool) && len(rest) > 0 {
		tool, rest = rest[0], rest[1:]
	}
	id, _ := syscall.Getenv("JUJU_CONTEXT_ID")
	if id == "" {
		return req, "", "JUJU_CONTEXT_ID not set"
	}
	dir, err := syscall.Getwd()
	if err != nil {
		return req, "", "getwd: " + err.Error()
	}
	address, _ = syscall.Getenv("JUJU_AGENT_SOCKET_ADDRESS")
	if address == "" {
		return req, "", "JUJU_AGENT_SOCKET_ADDRESS not set"
	}
	switch network, _ := syscall.Getenv("JUJU_AGENT_SOCKET_NETWORK"); network {
	case "unix":
	case "":
		return req, "", "JUJU_AGENT_SOCKET_NETWORK not set"
	default:
		return req, "", "dial " + network + " " + address + ": unknown network " + network
	}
	req = wire.Request{Context: id, Dir: dir, Args: append([]string{tool}, rest...)}
	return req, address, ""
}

// readsStdin guesses whether the tool will want standard input: the value "-"
// for --file. A wrong no costs a second round trip; a tool that isn't asked to
// read a file never touches its caller's standard input.
func readsStdin(args []string) bool {
	for i, a := range args {
		switch a {
		case "--":
			return false
		case "--file=-":
			return true
		case "--file":
			if i+1 < len(args) && args[i+1] == "-" {
				return true
			}
		}
	}
	return false
}

func addStdin(req *wire.Request) (problem string) {
	stdin, err := readAll(0, wire.MaxStdin+1)
	if err != nil {
		return "cannot read standard input: " + err.Error()
	}
	req.StdinSet, req.Stdin = true, stdin
	return ""
}

// call sends the request to the agent and reads its reply.
func call(address string, req wire.Request) (reply wire.Reply, problem string) {
	if err := req.Check(); err != nil {
		return reply, err.Error()
	}
	fd, err := dial(address)
	if err != nil {
		return reply, "dial unix " + address + ": connect: " + err.Error()
	}
	defer closeFD(fd)
	// An agent that refuses a call may answer before it has read all of it:
	// the reply is worth more than the failure to write.
	sent := writeAll(fd, wire.AppendRequest(nil, req))
	reply, err = wire.ReadReply(reader(fd))
	switch {
	case err != nil && sent != nil:
		return reply, "cannot call the agent: " + sent.Error()
	case err != nil:
		return reply, "cannot call the agent: " + err.Error()
	}
	return reply, ""
}

func base(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}

func complain(problem string) int {
	_ = writeAll(2, []byte("ERROR "+problem+"\n"))
	return failed
}
