package machine

import (
	"context"
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debugger"
	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/uniter"
)

// debug has a person run the hook, if one waits for it, in exactly the way in
// which the agent would; see package debugger. It is false where nobody does.
// outer is the agent's context, ctx that of the run, which ends with it; tail has
// what the hook logs.
func (u *unit) debug(outer, ctx context.Context, run uniter.Run, path string, env []string, tail *outputTail) (uniter.Result, bool) {
	if run.Hook.Kind == hooks.Exec {
		return uniter.Result{}, false // somebody waits for what they print
	}
	offer := debugger.Offer{
		Unit: string(u.name), Hook: run.Hook.Name(), Run: run.Number, About: run.Hook.String(),
		Env: env, Dir: u.charm.Path(), Path: path,
	}
	if c := u.cell.Load(); c != nil {
		offer.Dir, offer.Path = c.inside(offer.Dir), c.inside(offer.Path)
		offer.Cell, offer.Tmp = c.Dir(), c.Tmp()
	}
	taken := func() {
		if !run.Hook.IsTask() {
			u.unlimited() // people take their time
		}
	}
	exit, debugged, err := debugger.Run(ctx, u.dir, offer, taken)
	if !debugged {
		return uniter.Result{}, false
	}
	u.logLine(debuglog.Entry{
		Level: "INFO", Module: "unitd.hooks", Message: fmt.Sprintf("hook %q was run in a debug session", run.Hook.Name()),
	})
	switch {
	case errors.Is(err, debugger.ErrEnded):
		u.taking.exit(runner.Outcome{Exit: -1})
		return u.failure(outer, err), true
	case err != nil:
		return uniter.Result{Stopped: true}, true
	}
	o := runner.Outcome{Exit: exit}
	u.taking.exit(o)
	return u.result(outer, path, o, tail), true
}
