package machine

import (
	"context"
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter"
	"github.com/unitd/unitd/uniter/resolver"
)

// report is the Report door: it turns what the agent does into the statuses of
// spec/uniter-behaviour.md §9, and into history. A status that can't be
// written is no reason to stop: it will be said again, or overtaken.
func (u *unit) report(ctx context.Context, r uniter.Report) {
	ctx, cancel := outlive(ctx, lastWords)
	defer cancel()
	if r.Kind == uniter.Settled || r.Kind == uniter.Waiting {
		defer u.settle(r.Until)
	}
	if r.Again {
		return
	}
	if r.Kind == uniter.TaskEnded && u.running.Run != r.Run {
		u.recordFound(ctx, r.Local.Ended)
	}
	u.recordEnded(r.Local.Ended)
	var err error
	switch r.Kind {
	case uniter.Deploying:
		err = u.reportDeploying(ctx, r)
	case uniter.Running:
		err = u.reportRunning(ctx, r)
	case uniter.Committed:
		err = u.reportCommitted(ctx, r)
	case uniter.Dropped:
		err = u.model.SetFailed(ctx, u.name, 0, nil)
	case uniter.HookError, uniter.Waiting:
		err = u.reportError(ctx, r)
	case uniter.Settled:
		err = u.reportIdle(ctx, r)
	case uniter.Trouble:
		err = u.agentStatus(ctx, model.StatusFailed, fmt.Sprintf("%s: %v", r.Reason, r.Err), nil)
	}
	if err != nil && !errors.Is(err, errors.NotFound) {
		u.log.Error("cannot set a status", "unit", u.name, "err", err)
	}
}

func (u *unit) agentStatus(ctx context.Context, word, message string, data map[string]any) error {
	return u.model.SetStatus(ctx, state.AgentStatus, string(u.name), model.Status{Status: word, Message: message, Data: data})
}

// workload sets the workload status, as the agent does around some hooks.
func (u *unit) workload(ctx context.Context, word, message string) error {
	return u.model.SetStatus(ctx, state.WorkloadStatus, string(u.name), model.Status{Status: word, Message: message})
}

// unlessCharm sets the workload status if the charm hasn't set one itself.
func (u *unit) unlessCharm(ctx context.Context, word, message string) error {
	doc, err := u.model.Unit(ctx, u.name)
	if err != nil || doc.StatusSet {
		return errors.Trace(err)
	}
	return u.workload(ctx, word, message)
}

func (u *unit) reportDeploying(ctx context.Context, r uniter.Report) error {
	if r.Local.Installed || u.seen.Committed > 0 {
		return nil
	}
	return u.unlessCharm(ctx, model.StatusWaiting, "agent initialising")
}

// reportIdle says what a unit waits for that has not run install: it isn't idle
// for people until it has.
func (u *unit) reportIdle(ctx context.Context, r uniter.Report) error {
	// The failed hook was run again and stopped, and isn't due any more, or the
	// agent was killed before it could say that the hook is skipped.
	if u.inError != 0 {
		if err := u.model.SetFailed(ctx, u.name, 0, nil); err != nil {
			return errors.Trace(err)
		}
	}
	if !r.Local.Installed && u.seen.Life == model.Alive {
		if err := u.unlessCharm(ctx, model.StatusWaiting, r.Reason); err != nil {
			return errors.Trace(err)
		}
		return u.agentStatus(ctx, model.StatusAllocating, "", nil)
	}
	return u.agentStatus(ctx, model.StatusIdle, "", nil)
}

func (u *unit) reportRunning(ctx context.Context, r uniter.Report) error {
	h := r.Hook
	if h.IsTask() {
		return u.reportTask(ctx, r)
	}
	var err error
	switch h.Kind {
	case hooks.Install:
		err = u.unlessCharm(ctx, model.StatusMaintenance, "installing charm software")
	case hooks.Stop:
		err = u.workload(ctx, model.StatusMaintenance, "stopping charm software")
	case hooks.Remove:
		err = u.workload(ctx, model.StatusMaintenance, "cleaning up prior to charm deletion")
	case hooks.UpdateStatus:
		return nil // the agent counts as idle meanwhile
	}
	if err != nil {
		return errors.Trace(err)
	}
	message := fmt.Sprintf("running %s hook", h.Name())
	if h.RemoteUnit != "" {
		message += " for " + string(h.RemoteUnit)
	}
	if h.IsSecret() {
		message += " for " + h.SecretRef()
	}
	return u.agentStatus(ctx, model.StatusExecuting, message, nil)
}

func (u *unit) reportCommitted(ctx context.Context, r uniter.Report) error {
	if r.Local.Ended.How == resolver.EndedSkipped {
		// Its commit would have taken the unit out of its error.
		if err := u.model.SetFailed(ctx, u.name, 0, nil); err != nil {
			return errors.Trace(err)
		}
	}
	switch r.Hook.Kind {
	case hooks.Start:
		return u.unlessCharm(ctx, model.StatusUnknown, "")
	case hooks.Stop:
		return u.workload(ctx, model.StatusMaintenance, "")
	case hooks.Remove:
		return u.workload(ctx, model.StatusTerminated, "")
	}
	return nil
}
