package machine

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/tools/wire"
)

// alonePatience is how long commands wait for the hooks of the host to end.
// Source: docs/spec/hook-tools.md §8.
const alonePatience = 5 * time.Minute

// alone runs commands of juju-exec --no-context in a directory of the host, when
// no hook of any model runs on it, nor a task. No hook begins meanwhile. They are
// ended with all that they have started when ctx or the caller's context ends.
func (a *agent) alone(ctx, call context.Context, dir string, words []string, from caller) wire.Reply {
	if from.model != nil {
		// Its machine isn't this host, and it has no leave here.
		return tools.Failed(1, errors.New("--no-context can't be used in an isolated unit's machine: run the command itself"))
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(call, end)()
	waiting, giveUp := context.WithCancel(ctx)
	timer := a.Clock.AfterFunc(alonePatience, giveUp)
	err := a.handing.all(waiting)
	if err == nil {
		err = a.turns.Acquire(waiting, allTurns)
	}
	timer.Stop()
	giveUp()
	switch {
	case ctx.Err() != nil:
		return tools.Failed(1, errors.New("command execution aborted"))
	case err != nil:
		return tools.Failed(1, errors.Errorf("hooks have been running on this host for %s", alonePatience))
	}
	defer a.turns.Release(allTurns)
	r := &runner.Runner{Disk: a.Disk, Cgroups: a.cgroups, Reaper: a.Reaper}
	defer r.Close()
	p := &printed{}
	// By the mark it finds what has left the process group, and its parent.
	mark := runner.MarkVariable + "=alone/" + rand.Text()
	out := r.Run(ctx, runner.Cmd{
		Path: "/bin/bash", Args: []string{"-c", model.ShellLine(words)}, Dir: dir,
		Env: append(outsideEnviron(a.present.now().Path, homeDir()), mark), Output: p.add, Linger: (&doing{}).linger(),
	})
	if out.Err != nil {
		return tools.Failed(1, out.Err)
	}
	var o model.TaskOutcome
	p.take(&o)
	reply := wire.Reply{Code: out.Exit, Stdout: lastOf(o.Stdout, o.StdoutLost), Stderr: lastOf(o.Stderr, o.StderrLost)}
	if out.Stopped || out.Signal != 0 {
		reply.Code = 1
		reply.Stderr = append(reply.Stderr, "ERROR command terminated\n"...)
	}
	return reply
}

// lastOf is the end of what was printed, with what is missing before it.
func lastOf(text string, lost int) []byte {
	if lost == 0 {
		return []byte(text)
	}
	return fmt.Appendf(nil, "[the first %d bytes are left out]\n%s", lost, text)
}
