package tools

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/tools/wire"
)

// The exit codes of tools; charms tell them apart (docs/spec/hook-tools.md §1.3).
const (
	exitOK     = 0
	exitFailed = 1 // the tool ran and failed
	exitUsage  = 2 // the tool was called wrongly and didn't run
)

// errNeedStdin is returned by a tool that wants the standard input of its
// caller and hasn't been sent it. The tool has changed nothing so far.
const errNeedStdin = errors.ConstError("hook tool requires stdin, none supplied")

// errMisuse marks what is wrong with a call and only seen while it runs, before
// anything was changed.
const errMisuse = errors.ConstError("wrong usage")

// errNotThere marks what is wrong with no call but with what it is about, and is
// known before the tool runs.
const errNotThere = errors.ConstError("not there")

// call is what a running tool has of its caller.
type call struct {
	open     Opener
	dir      string
	stdin    []byte
	stdinSet bool
	out, err bytes.Buffer
	// file is what it has read from the file that --file names; nil: nothing.
	file []byte
	// one makes one of the calls that a batch is made of; nil: it is one itself.
	one func(wire.Request) wire.Reply
	// code is the exit code where run has no error.
	code int
}

// path is a path as the caller means it.
func (c *call) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.dir, p)
}

// Run runs one tool for the hook of c and returns all that its caller will see
// of it. Whose request it is has been checked; Request.Context isn't looked at.
// The reply's code is wire.NeedStdin for a request to be made again.
func Run(c *hookcontext.Context, req wire.Request) wire.Reply {
	reply, _ := runTool(c, req, os.OpenFile, func(one wire.Request) wire.Reply {
		reply, _ := runTool(c, one, os.OpenFile, nil)
		return reply
	})
	return reply
}

// Opener opens the files that callers name, as os.OpenFile does.
type Opener func(path string, flag int, perm os.FileMode) (*os.File, error)

// runTool is Run, and has what the tool has read from a file. one makes the calls
// of a batch; nil: there can be none.
func runTool(c *hookcontext.Context, req wire.Request, open Opener, one func(wire.Request) wire.Reply) (_ wire.Reply, file []byte) {
	switch {
	case len(req.Args) == 0 || req.Args[0] == "":
		return badRequest("command not specified"), nil
	case !filepath.IsAbs(req.Dir):
		return badRequest("Dir is not absolute"), nil
	}
	tool, ok := find(req.Args[0])
	if !ok {
		return badRequest("unknown command: " + req.Args[0]), nil
	}
	cmd := tool.make(c)
	f := newFlags(tool.Name, c)
	cmd.declare(f)
	help := f.help(tool) // before parsing: it shows defaults, not values
	args, err := f.parse(req.Args[1:])
	if f.wantHelp {
		return wire.Reply{Stdout: []byte(help)}, nil
	}
	if err == nil {
		err = cmd.parse(args)
	}
	if err != nil {
		hideRefused(c, tool.Name, req.Args[1:])
		if errors.Is(err, errNotThere) {
			return failure(exitFailed, err), nil
		}
		return failure(exitUsage, err), nil
	}
	in := &call{open: open, dir: req.Dir, stdin: req.Stdin, stdinSet: req.StdinSet, one: one}
	if f.deadFormat != "" {
		fmt.Fprintf(&in.err, "--format flag deprecated for command %q", tool.Name)
	}
	err = cmd.run(in)
	switch {
	case errors.Is(err, errMisuse):
		return failure(exitUsage, err), nil
	case errors.Is(err, errNeedStdin):
		return wire.Reply{Code: wire.NeedStdin}, nil
	case err != nil:
		reply := failure(exitFailed, err)
		reply.Stderr = append(in.err.Bytes(), reply.Stderr...)
		if writesSecrets(tool.Name) {
			return reply, nil // what was refused may not have been read as secrets
		}
		return reply, in.file
	}
	return wire.Reply{Code: in.code, Stdout: in.out.Bytes(), Stderr: in.err.Bytes()}, in.file
}

func failure(code int, err error) wire.Reply {
	return wire.Reply{Code: code, Stderr: fmt.Appendf(nil, "ERROR %v\n", err)}
}

func badRequest(text string) wire.Reply {
	return failure(exitFailed, errors.New("bad request: "+text))
}
