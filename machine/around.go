package machine

import (
	"context"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/tools/wire"
	"github.com/unitd/unitd/uniter"
)

// Program is the program of a hook that is about to run; see Config.Around. Its functions
// are of use until that has returned.
type Program struct {
	Unit model.UnitName
	Run  int64
	Hook hooks.Info
	// Charm is the SHA-256 of the charm's archive; Dir has its files, and those that hooks
	// have made.
	Charm, Dir string
	// Path is the program, Env its environment, Context the run's id in that.
	Path    string
	Env     []string
	Context string
	// Alone says that the hook's business is in Dir and goes by hook tools, so far as the
	// agent can tell: its unit shares the host, is no subordinate, and has neither
	// containers nor storage nor resources.
	Alone bool
	// Print takes a line that the program prints.
	Print func(runner.Stream, string)
	// Call makes a call of a hook tool in the program's place.
	Call func(wire.Request) wire.Reply
	// Listen has known asked about each call of the program whether its reply is known
	// already, in which case it isn't made, and heard told of each one that was made, which
	// waits for that. Both may be called many times at once.
	Listen func(known func(wire.Request) (wire.Reply, bool), heard func(tools.Call))
}

// RunProgram runs the program, has print called with its lines, and returns when it has
// ended.
type RunProgram func(print func(runner.Stream, string)) runner.Outcome

// around runs a program, or has it be run.
func (u *unit) around(ctx context.Context, run uniter.Run, charm state.CharmDoc, contextID string, cmd runner.Cmd) runner.Outcome {
	if u.runAround == nil || run.Hook.IsTask() || u.calls == nil {
		return u.runCmd(ctx, cmd)
	}
	defer u.overhear(nil, nil)
	return u.runAround(ctx, Program{
		Unit: u.name, Run: run.Number, Hook: run.Hook, Charm: charm.SHA256, Dir: u.charm.Path(),
		Path: cmd.Path, Env: cmd.Env, Context: contextID, Alone: u.alone(charm.Charm), Print: cmd.Output,
		Call: u.server.Call, Listen: u.overhear,
	}, func(print func(runner.Stream, string)) runner.Outcome {
		cmd.Output = print
		return u.runCmd(ctx, cmd)
	})
}

// alone is Program.Alone.
func (u *unit) alone(c model.Charm) bool {
	return u.cell.Load() == nil && !u.pod && u.principal == "" && len(u.seen.Storage) == 0 &&
		len(c.Containers) == 0 && len(c.Storage) == 0 && len(c.Resources) == 0
}

// overhear is Program.Listen.
func (u *unit) overhear(known func(wire.Request) (wire.Reply, bool), heard func(tools.Call)) {
	u.listening.Store(nil)
	if heard != nil {
		u.listening.Store(&heard)
	}
	u.server.Foreknow(known) // whoever calls from now on sees both
}

// heard tells of a call of the program that runs whoever listens.
func (u *unit) heard(c tools.Call) {
	if listening := u.listening.Load(); listening != nil {
		(*listening)(c)
	}
}
