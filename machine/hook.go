package machine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/kube"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/uniter"
	"github.com/unitd/unitd/uniter/resolver"
)

// runHook is the RunHook door: a context, the hook tools opened for it, and
// the charm's executable run to its end.
func (u *unit) runHook(ctx context.Context, run uniter.Run) uniter.Result {
	entry := history.Entry{Unit: u.name, Run: run.Number, Hook: run.Hook, Charm: run.Local.Charm, Started: u.clock.Now(), Seen: u.seenRev}
	u.trace(ctx, run, entry.Started, "")
	entry.SetChanged(u.whatChanged(ctx, run))
	calls := &calls{began: time.Now(), entry: &entry, mask: &u.mask}
	u.taking, u.calls = u.take(run), calls
	return u.runEntry(ctx, run, time.Time{}, calls, func(limited context.Context) (*hookcontext.Context, uniter.Result) {
		return u.executeAt(limited, run, &entry)
	})
}

// runEntry has a hook executed, which is one of the history's entries.
func (u *unit) runEntry(ctx context.Context, run uniter.Run, until time.Time, calls *calls, execute func(context.Context) (*hookcontext.Context, uniter.Result)) uniter.Result {
	taking, entry := u.taking, calls.entry
	limited, verdict := u.limit(ctx, run.Limit, until)
	u.server.OnCall(func(c tools.Call) {
		calls.add(c)
		taking.call(c)
		u.heard(c)
		_ = u.at(limited, PointTool, run.Number, run.Hook, c.Tool)
	})
	hctx, res := execute(limited)
	u.slotBack()
	res = verdict(res)
	u.taking, u.taken, u.calls = nil, taking.end(), nil
	calls.end()
	u.server.OnCall(nil)
	entry.Duration = u.clock.Now().Sub(entry.Started)
	if u.clock != clock.WallClock {
		entry.Took = time.Since(calls.began)
	}
	if hctx != nil && !res.Stopped {
		res.Changes = hctx.Changes()
		if r := res.Changes.Requeue; r != nil {
			res.Changes.Requeue = &model.Requeue{At: r.At, Reason: u.mask.text(r.Reason)}
		}
		entry.Written = history.WrittenBy(res.Changes)
	}
	u.running = entry
	return res
}

// executeAt is execute with the points before and after it.
func (u *unit) executeAt(ctx context.Context, run uniter.Run, entry *history.Entry) (*hookcontext.Context, uniter.Result) {
	if err := u.at(ctx, PointHook, run.Number, run.Hook, ""); err != nil {
		return nil, u.failure(ctx, err)
	}
	hctx, res := u.execute(ctx, run, entry)
	return u.executed(ctx, run, hctx, res)
}

// executed is how a hook has ended that has been executed.
func (u *unit) executed(ctx context.Context, run uniter.Run, hctx *hookcontext.Context, res uniter.Result) (*hookcontext.Context, uniter.Result) {
	res = u.failedByReboot(ctx, run, hctx, u.failedByWish(ctx, hctx, res))
	err := u.at(ctx, PointEnded, run.Number, run.Hook, "")
	if err != nil && !res.Stopped && res.Failure == nil {
		res = u.failure(ctx, err)
	}
	return hctx, res
}

// failedByWish is how a run has ended that unitd-fail has ended, if it has: it
// has failed, whatever it exited with. That the agent was to stop comes first.
func (u *unit) failedByWish(ctx context.Context, hctx *hookcontext.Context, res uniter.Result) uniter.Result {
	if hctx == nil || ctx.Err() != nil {
		return res
	}
	reason, failed := hctx.Failed()
	if !failed {
		return res
	}
	f := resolver.Failure{Message: oneLine(u.mask.text(reason)), Exit: -1}
	if res.Failure != nil {
		f.Output = res.Failure.Output
	}
	return uniter.Result{Failure: &f}
}

// calls puts the tool calls of a run into its entry. Those that come after the
// run has ended are no part of it.
type calls struct {
	mu    sync.Mutex
	began time.Time
	entry *history.Entry
	mask  *mask
}

func (c *calls) add(call tools.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entry != nil {
		args := slices.Clone(call.Args)
		for i, arg := range args {
			args[i] = c.mask.text(arg)
		}
		c.entry.AddCall(history.Call{Tool: call.Tool, Args: args, Code: call.Code, At: call.Began.Sub(c.began), Took: call.Duration})
	}
}

func (c *calls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entry = nil
}

func (u *unit) execute(ctx context.Context, run uniter.Run, entry *history.Entry) (*hookcontext.Context, uniter.Result) {
	charm, err := u.model.Charm(ctx, run.Local.Charm)
	if err != nil {
		return nil, u.trouble(ctx, errors.Annotate(err, "cannot read the charm"))
	}
	runCtx, callCtx, end, over := u.during(ctx)
	defer over()
	tail := &outputTail{relation: run.Hook.RelationRef()}
	params := u.params(callCtx, run, charm.Charm, tail, end)
	hctx := hookcontext.New(params)
	if err := u.server.Restore(); err != nil {
		return hctx, u.trouble(ctx, err)
	}
	if err := u.mendTools(); err != nil {
		return hctx, u.trouble(ctx, err)
	}
	if err := u.mendWarm(); err != nil {
		return hctx, u.trouble(ctx, err)
	}
	id := u.server.Begin(hctx)
	if u.doing != nil && u.doing.In != nil {
		_ = u.at(ctx, PointStarted, run.Number, run.Hook, "")
		return hctx, u.inWorkload(runCtx, u.doing)
	}
	path, args, err := u.program(run)
	if err != nil {
		return hctx, u.failure(ctx, err)
	}
	if err := u.startable(path); err != nil {
		return hctx, u.failure(ctx, err)
	}
	env, task := u.environ(run, id, u.departure(callCtx, run.Hook)), u.doing
	if path != "" {
		u.taking.start(charm, u.charm.Path(), untraced(env))
		u.lookAround()
		defer u.tapPebbles(run)()
	}
	if res, debugged := u.debug(ctx, runCtx, run, path, env, tail); debugged {
		entry.Debugged = true
		return hctx, res
	}
	started := func() { _ = u.at(ctx, PointStarted, run.Number, run.Hook, "") }
	if path == "" {
		entry.Missing = true
		started()
		return hctx, uniter.Result{}
	}
	if u.cellEnded() {
		return hctx, u.trouble(ctx, errCellLost)
	}
	cmd := u.command(path, args, env)
	cmd.Started, cmd.Linger, cmd.Output = func(int) { started() }, task.linger(), u.hearing(run.Hook, task, tail)
	defer u.canBeHeld(run, hctx, id, env, params.Relations, tail)()
	return hctx, u.runProgram(ctx, run.Hook, path, tail, func() runner.Outcome {
		return u.around(runCtx, run, charm, id, cmd)
	})
}

// runCmd runs a hook's program to its end.
func (u *unit) runCmd(ctx context.Context, cmd runner.Cmd) runner.Outcome {
	o := u.runner.Run(ctx, cmd)
	if outOfDescriptors(o.Err) && u.spares.give() {
		o = u.runner.Run(ctx, cmd)
	}
	return o
}

// during has the contexts of a run's program and of its tool calls. end ends the program at
// once; over ends all, and waits for the calls that have begun.
func (u *unit) during(ctx context.Context) (runCtx, callCtx context.Context, end, over func()) {
	runCtx, cancel := context.WithCancelCause(ctx)
	end = func() { cancel(runner.AtOnce) }
	callCtx, endCalls := outlive(runCtx, lastCalls)
	return runCtx, callCtx, end, func() {
		end()
		u.server.End()
		endCalls()
	}
}

// params are those of a run's context; end ends its processes.
func (u *unit) params(callCtx context.Context, run uniter.Run, charm model.Charm, tail *outputTail, end func()) hookcontext.Params {
	return hookcontext.Params{
		Unit: u.name, ModelUUID: u.model.UUID(), Hook: run.Hook, Charm: charm,
		Relations: u.relationsOf(run), NoReboot: u.noReboot(run.Hook), RebootNow: u.rebootNow(run.Hook, end), FailNow: end,
		Action: u.action(run.Hook),
		View:   liveView{ctx: callCtx, u: u, charm: charm, machine: u.machine, task: run.Hook.Task, tail: tail},
	}
}

// hearing takes a line that the hook has printed: to the log, or to who waits for
// what a task prints.
func (u *unit) hearing(h hooks.Info, task *doing, tail *outputTail) func(runner.Stream, string) {
	return func(s runner.Stream, line string) {
		if task != nil {
			task.printed.add(s, line)
			if h.Kind == hooks.Exec {
				return // it is for whoever waits for it alone
			}
		}
		level := "DEBUG"
		if s == runner.Stderr {
			level = "WARNING"
		}
		tail.add(s, u.mask.text(line))
		u.logLine(debuglog.Entry{Level: level, Module: "unit." + string(u.name) + "." + h.Name(), Message: line})
	}
}

// runProgram has the hook's program, whose path it is, run to its end.
func (u *unit) runProgram(ctx context.Context, h hooks.Info, path string, tail *outputTail, run func() runner.Outcome) uniter.Result {
	o := run()
	u.taking.exit(o)
	if o.Left > 0 {
		u.log.Error("cannot end all that a hook has started", "unit", u.name, "hook", h.Name(), "processes", o.Left)
	}
	if u.endedWithCell(ctx, o) {
		return uniter.Result{Failure: &resolver.Failure{Message: errCellLost.Error(), Exit: -1, Output: tail.lines()}}
	}
	return u.result(ctx, path, o, tail)
}

// The times that are left for the last words of a hook and of its agent.
const (
	// lastCalls is how long after the hook, or after the agent was told to
	// stop, tool calls that have begun may take: a store that somebody else
	// holds on to must not keep the agent.
	lastCalls = 5 * time.Second
	// lastWords is how long an agent that was told to stop waits for a status.
	lastWords = 5 * time.Second
)

// outlive is a context that ends a while after ctx has, or when it is cancelled.
func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(by)
		defer timer.Stop()
		select {
		case <-out.Done():
		case <-timer.C:
			cancel()
		}
	})
	return out, func() {
		stop()
		cancel()
	}
}

// Executable finds the executable of a hook or action in a charm directory:
// dispatch for everything, else what is at its path, "hooks/install"; empty if
// there is neither. It is asked for each run, as hooks may make and remove hooks.
func Executable(charm, path string) (string, error) {
	for _, name := range []string{"dispatch", filepath.FromSlash(path)} {
		path := filepath.Join(charm, name)
		st, err := os.Stat(path)
		switch {
		case os.IsNotExist(err):
			continue
		case err != nil:
			return "", errors.Annotatef(err, "cannot run %s", name)
		case st.IsDir():
			return "", errors.Errorf("cannot run %s: it is a directory", name)
		}
		return path, nil
	}
	return "", nil
}

// relationsOf are the unit's relations as the hook sees them.
func (u *unit) relationsOf(run uniter.Run) []hookcontext.Relation {
	seen := map[model.RelationID]relation.Snapshot{}
	for _, s := range u.seen.Relations {
		seen[s.ID] = s
	}
	var out []hookcontext.Relation
	for _, s := range run.Local.InOrder() {
		members := s.During(run.Hook)
		broken := !s.Peer && !seen[s.ID].Live && len(members) == 0
		if run.Hook.IsRelation() && run.Hook.RelationID == s.ID {
			// The one that departs is a member until that hook has succeeded.
			broken = run.Hook.Kind == hooks.RelationBroken
		}
		out = append(out, hookcontext.Relation{
			ID: s.ID, Endpoint: s.Endpoint, Peer: s.Peer, RemoteApp: s.RemoteApp,
			Key: seen[s.ID].Key, RemoteModel: seen[s.ID].RemoteModel, Members: members, Broken: broken,
		})
	}
	return out
}

// departure is why a hook of what goes runs. Without an answer it is empty: the
// charm can do its work all the same.
func (u *unit) departure(ctx context.Context, h hooks.Info) model.Departure {
	if !h.Departs() {
		return ""
	}
	id := model.NoRelation
	if h.IsRelation() {
		id = h.RelationID
	}
	why, err := u.model.Departure(ctx, u.name, id, h.RemoteUnit)
	if err != nil {
		u.log.Warn("cannot tell why something goes", "unit", u.name, "hook", h.Name(), "err", err)
	}
	if why == "" && h.Kind == hooks.StorageDetaching {
		why = model.StorageDetached
	}
	return why
}

func (u *unit) environ(run uniter.Run, contextID string, why model.Departure) []string {
	charm, toolsDir, socket, pythonDir := u.charm.Path(), u.toolsDir.Path(), u.server.Addr(), ""
	if c := u.cell.Load(); c != nil {
		charm, toolsDir, socket = c.inside(charm), c.toolsDir, c.inside(socket)
	}
	if u.warmPython {
		pythonDir = filepath.Join(toolsDir, u.warm.Name())
	}
	place := hooks.Place{
		Unit: u.name, Principal: u.principal, ModelName: u.model.Name(), ModelUUID: u.model.UUID(),
		MachineID: u.machineID(), CharmDir: charm, ToolsDir: toolsDir, PythonDir: pythonDir,
		Socket: socket, ContextID: contextID, APIAddresses: []string{"localhost:17070"},
		Path: u.host.Path, Debian: u.host.Debian, Ubuntu: u.host.Ubuntu, Proxy: u.proxy[0], LegacyProxy: u.proxy[1],
		Run: run.Number, Departure: why, Sidecar: u.pod,
	}
	if u.inPod != nil {
		place.CloudAPI, place.Kubernetes = kube.Version, u.inPod.account.environ()
	}
	return slices.Concat(hooks.Environ(run.Hook, place), u.environment, u.traced.environ(), []string{u.runMark(run)})
}

// RunMark is a variable that all processes of a run have and no others: by it
// what an interrupted run has left behind is found. uuid is that of the model,
// id that of the unit; they are chance, so that no agent takes another one's runs
// for its own.
func RunMark(uuid string, unit model.UnitName, id string, run int64) string {
	return fmt.Sprintf("%s=%s/%s/%s/%d", runner.MarkVariable, uuid, unit, id, run)
}

func (u *unit) runMark(run uniter.Run) string {
	return RunMark(u.model.UUID(), u.name, u.id, run.Number)
}
