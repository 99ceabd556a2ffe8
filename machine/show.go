package machine

import (
	"context"
	"runtime/debug"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/tools/wire"
)

// Showing is what answers, in an agent's process, who asks it to show something of its
// models: the agent has its store open, and has read of it before, so it is faster than
// a command that has everything before it. The word is the agent's own, to be asked for
// after the store: what was untold before may be told by then. what says what to show, in
// a form that this package doesn't know. The answer is what a command prints on its two
// streams. An error is for who can't be answered so, whatever the cause: he looks for
// himself.
type Showing func(ctx context.Context, c *state.Controller, word func() Word, what string) (out, notes []byte, err error)

// askShow is what is sent to the agent's socket, with what it is to show.
const askShow = "unitd-agent-show"

// answerShow is the answer to who asks the agent to show something; false: it is asked
// for something else. It lasts until ctx, the agent's, or call, the caller's, ends.
func (a *agent) answerShow(ctx, call context.Context, req wire.Request) (reply wire.Reply, ok bool) {
	if len(req.Args) != 2 || req.Args[0] != askShow {
		return wire.Reply{}, false
	}
	if a.Show == nil {
		return tools.Failed(1, errors.NotSupportedf("showing models")), true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(call, cancel)()
	defer func() {
		if p := recover(); p != nil { // it fails alone, as a tool does
			a.Log.Error("cannot show a model", "panic", p, "stack", string(debug.Stack()))
			reply, ok = tools.Failed(1, errors.Errorf("cannot show a model: %v", p)), true
		}
	}()
	out, notes, err := a.Show(ctx, a.Controller, a.telling.word, req.Args[1])
	if err != nil {
		return tools.Failed(1, err), true
	}
	return wire.Reply{Stdout: out, Stderr: notes}, true
}

// AskToShow asks the agent that works in dir (Config.Dir) to show something. Errors:
// ErrSilent, as Ask has it; else the agent can't, or isn't there.
func AskToShow(ctx context.Context, dir, what string) (out, notes []byte, err error) {
	reply, err := ask(ctx, dir, askShow, what)
	if err == nil && reply.Code != 0 {
		err = errors.Errorf("the agent can't show it: %s", reply.Stderr)
	}
	return reply.Stdout, reply.Stderr, errors.Trace(err)
}
