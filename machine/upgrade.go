package machine

import (
	"context"
	stderrors "errors"
	"io"
	"strings"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/tools/wire"
)

// askUpgrade is what is sent to the agent's socket, with the program that it is to become.
const askUpgrade = "unitd-agent-upgrade"

// answerUpgrade is the answer to who has the agent become another program; false: it is
// asked for something else. One that does so has no answer.
func (a *agent) answerUpgrade(ctx, call context.Context, req wire.Request) (reply wire.Reply, ok bool) {
	if len(req.Args) != 2 || req.Args[0] != askUpgrade {
		return wire.Reply{}, false
	}
	if a.Upgrade == nil {
		return tools.Failed(upgradeRefused, errors.New("the agent isn't one of its own process, or this system can't hand over")), true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(call, cancel)()
	err := a.Upgrade(ctx, a.handOver, req.Args[1])
	if err == nil {
		return wire.Reply{}, true
	}
	return tools.Failed(upgradeRefused, err), true
}

// askTakenOver is what is sent to the agent's socket to hear when it has taken over.
const askTakenOver = "unitd-agent-taken-over"

// answerTakenOver answers once the hooks that were handed over go on; false: it is asked for
// something else.
func (a *agent) answerTakenOver(call context.Context, req wire.Request) (reply wire.Reply, ok bool) {
	if len(req.Args) != 1 || req.Args[0] != askTakenOver {
		return wire.Reply{}, false
	}
	if err := a.handing.all(call); err != nil {
		return tools.Failed(1, err), true
	}
	return wire.Reply{}, true
}

// AskTakenOver waits until the agent that works in dir (Config.Dir) has taken over what was
// handed over to it. The error is NotFound while no agent listens.
func AskTakenOver(ctx context.Context, dir string) error {
	reply, err := exchange(ctx, dir, []string{askTakenOver})
	if err == nil && reply.Code != 0 {
		err = errors.Errorf("the agent hasn't taken over: %s", reply.Stderr)
	}
	return errors.Trace(err)
}

// upgradeRefused is the code of the answer of an agent that knows the question, and doesn't
// become another program.
const upgradeRefused = 3

// OtherForm is what an agent says, between that program and the forms, of one that takes over
// what is of another form than it hands over. All that know the question have said so in these words.
const OtherForm = "takes over what is of form"

// ErrNoUpgrade marks the error for an agent that can't become another program, as it is
// older than that, or hands over in another form.
const ErrNoUpgrade = errors.ConstError("the agent can't hand over to another program")

// AskToUpgrade asks the agent that works in dir (Config.Dir) to become a program. It returns
// once it does so, which isn't yet when that is ready. Errors: NotFound, if no agent listens;
// ErrNoUpgrade; else why the agent goes on as it was.
func AskToUpgrade(ctx context.Context, dir, program string) error {
	reply, err := exchange(ctx, dir, []string{askUpgrade, program})
	switch {
	case ctx.Err() != nil:
		return errors.Trace(ErrSilent)
	case stderrors.Is(err, io.EOF), stderrors.Is(err, io.ErrUnexpectedEOF), stderrors.Is(err, syscall.ECONNRESET):
		return nil // who would have answered is another program
	case err != nil:
		return errors.Trace(err)
	case reply.Code != upgradeRefused:
		return errors.Trace(ErrNoUpgrade)
	}
	why := errors.New(strings.TrimPrefix(strings.TrimSpace(string(reply.Stderr)), "ERROR "))
	if strings.Contains(why.Error(), OtherForm) {
		return errors.WithType(why, ErrNoUpgrade)
	}
	return why
}
