package uniter

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// ErrTaskGone is returned by the StartTask door when the task isn't to be run
// any more: it was cancelled, or its unit is gone.
const ErrTaskGone = errors.ConstError("the task is not to be run any more")

// TaskDoors are the doors for tasks. All must be set.
type TaskDoors struct {
	// Start notes in the model that the task runs; ErrTaskGone where it is not
	// to be run any more. One that is noted and not run is ended by Abort.
	Start func(ctx context.Context, run Run) error
	// Run runs it to its end, or until it is cancelled or ctx ends.
	Run func(ctx context.Context, run Run) TaskResult
	// Commit writes what the task changed, its result and the run's stamp to the
	// model in one transaction. It may be called again for a run that is stamped.
	Commit func(ctx context.Context, run Run, res TaskResult) error
	// Abort ends a task that an agent was killed in, with the run's stamp. It may
	// be called again.
	Abort func(ctx context.Context, run Run) error
}

// TaskResult is how a task ended. Whatever it is, the unit is not in error.
type TaskResult struct {
	// Changes are to be committed; empty where the task failed.
	Changes model.Changes
	Outcome model.TaskOutcome
}

// refused is the result of a task whose changes the model refuses. Source:
// docs/spec/hook-tools.md §4.
func (r TaskResult) refused(err error) TaskResult {
	out := TaskResult{Outcome: r.Outcome}
	out.Outcome.Failed = true
	if out.Outcome.Message == "" {
		out.Outcome.Message = "committing requested changes failed"
	}
	out.Outcome.Stderr += err.Error() + "\n"
	if out.Outcome.Code == 0 {
		out.Outcome.Code = 1
	}
	return out
}

// runTask is one task from its announcement to its result.
func (a *agent) runTask(ctx context.Context, op resolver.Op) error {
	run := Run{Hook: op.Hook, Number: op.Run, Local: a.local}
	switch err := a.Tasks.Start(ctx, run); {
	case errors.Is(err, ErrTaskGone):
		return nil
	case err != nil:
		return errors.Annotate(err, "cannot begin the task")
	}
	// Killed before this is durable, the agent finds a task that was begun, and
	// that nobody runs.
	if err := a.become(op, a.event(resolver.Began), true); err != nil {
		return errors.Trace(err)
	}
	run.Local = a.local
	a.Report(ctx, Report{Kind: Running, Hook: op.Hook, Run: op.Run, Local: a.local, Reason: op.Reason})
	res := a.Tasks.Run(ctx, run)
	try := func(ctx context.Context) error { return a.Tasks.Commit(ctx, run, res) }
	err := a.commit(ctx, run, try)
	if err != nil && refused(err) && !errors.Is(err, errors.NotFound) {
		res = res.refused(err)
		err = a.commit(ctx, run, try)
	}
	if err != nil {
		// Nobody knows whether the model has it: the next look says.
		return errors.Annotate(err, "cannot commit the task")
	}
	e := a.event(resolver.Done)
	if res.Outcome.Failed {
		e.Kind = resolver.Broke
	}
	e.Failure = resolver.Failure{Message: a.Mask(res.Outcome.Message), Exit: res.Outcome.Code}
	// The run's stamp in the model stands for this record on disk.
	if err := a.become(op, e, false); err != nil {
		return errors.Trace(err)
	}
	a.Report(ctx, Report{Kind: TaskEnded, Hook: op.Hook, Run: op.Run, Local: a.local, Reason: op.Reason})
	return nil
}

// abortTask ends a task in which an agent was killed.
func (a *agent) abortTask(ctx context.Context, op resolver.Op) error {
	a.endLeftover(ctx)
	err := a.Tasks.Abort(ctx, Run{Hook: op.Hook, Number: op.Run, Local: a.local})
	return errors.Annotatef(err, "cannot end task %s", op.Hook.Task)
}
