package machine

import (
	"context"
	"fmt"
	"strings"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter"
	"github.com/unitd/unitd/uniter/resolver"
)

// report is the Report door: it turns what the agent does into the statuses of
// docs/spec/uniter-behaviour.md §9, and into history. What the store doesn't take is
// told once it does, see telling.
func (u *unit) report(ctx context.Context, r uniter.Report) {
	ctx, cancel := outlive(ctx, lastWords)
	defer cancel()
	u.held.Store(r.Kind == uniter.Trouble)
	if r.Kind == uniter.Settled || r.Kind == uniter.Waiting || r.Kind == uniter.Trouble {
		defer u.settle(r.Until)
	}
	if r.Kind == uniter.Settled || r.Kind == uniter.Waiting {
		defer func() { u.seen, u.running = &unseen, &notRun }()
	}
	if r.Again {
		return
	}
	if r.Kind == uniter.TaskEnded && u.running.Run != r.Run {
		u.recordFound(ctx, r.Local.Ended)
	}
	u.recordEnded(r.Local.Ended)
	if r.Kind != uniter.Running {
		u.desire.passed()
	}
	switch want := u.seenAs(r); {
	case want.Empty():
	case r.Kind == uniter.Running && want.Workload == nil:
		u.desire.sayIfLasts(ctx, want)
	default:
		u.desire.say(ctx, want)
	}
}

// seenAs is what people are to see of the unit because of what the agent does.
func (u *unit) seenAs(r uniter.Report) state.Report {
	switch r.Kind {
	case uniter.Deploying:
		return u.seenDeploying(r)
	case uniter.Replacing:
		return u.agentStatus(model.StatusExecuting, "replacing the unit's containers", nil)
	case uniter.Running:
		return u.seenRunning(r)
	case uniter.Committed:
		return u.seenCommitted(r)
	case uniter.Dropped:
		return state.Report{Failed: &state.FailureDoc{}}
	case uniter.HookError, uniter.Waiting:
		return u.seenInError(r)
	case uniter.StoodAside:
		return u.seenAside()
	case uniter.Settled:
		return u.seenIdle(r)
	case uniter.Trouble:
		return u.agentStatus(model.StatusFailed, fmt.Sprintf("%s: %v", r.Reason, r.Err), nil)
	}
	return state.Report{}
}

// status is a status as of now.
func (u *unit) status(word, message string, data map[string]any) *model.Status {
	return &model.Status{Status: word, Message: message, Data: data, Since: u.clock.Now().UTC()}
}

func (u *unit) agentStatus(word, message string, data map[string]any) state.Report {
	return state.Report{Agent: u.status(word, message, data)}
}

// workload is the workload status, as the agent sets it around some hooks.
func (u *unit) workload(word, message string) state.Report {
	return state.Report{Workload: u.status(word, message, nil)}
}

// unlessCharm is the workload status if the charm hasn't set one itself.
func (u *unit) unlessCharm(word, message string) state.Report {
	return state.Report{Workload: u.status(word, message, nil), UnlessCharm: true}
}

func (u *unit) seenDeploying(r uniter.Report) state.Report {
	said := u.fresh
	if u.fresh = false; said || r.Local.Installed || u.seen.Committed > 0 {
		return state.Report{}
	}
	return u.initialising()
}

// initialising is how a unit looks before its charm is there.
func (u *unit) initialising() state.Report {
	return u.unlessCharm(model.StatusWaiting, "agent initialising")
}

// seenIdle says what a unit waits for that has not run install: it isn't idle
// for people until it has.
func (u *unit) seenIdle(r uniter.Report) state.Report {
	var want state.Report
	// The failed hook was run again and stopped, and isn't due any more, or the
	// agent was killed before it could say that the hook is skipped.
	if u.inError != 0 {
		want.Failed = &state.FailureDoc{}
	}
	if !r.Local.Installed && u.seen.Life == model.Alive {
		return want.Then(u.unlessCharm(model.StatusWaiting, r.Reason)).Then(u.agentStatus(model.StatusAllocating, "", nil))
	}
	message := besides(r.Local)
	if u.inPod != nil && message == "" && u.seen.Unfetched {
		message = "waits for the image of its next containers"
	}
	return want.Then(u.agentStatus(model.StatusIdle, message, nil))
}

// seenAside is about a hook that has failed and doesn't put the unit in error. It
// may have done so before.
func (u *unit) seenAside() state.Report {
	if u.inError == 0 {
		return state.Report{}
	}
	return state.Report{Failed: &state.FailureDoc{}}
}

// besides says what has failed in a unit that goes on; empty: nothing.
func besides(l resolver.Local) string {
	var failed []string
	for _, f := range l.StoodAside() {
		failed = append(failed, fmt.Sprintf("hook failed: %q, runs again (%s)", f.Hook.Name(), f.Failure.Message))
	}
	return strings.Join(failed, "; ")
}

func (u *unit) seenRunning(r uniter.Report) state.Report {
	h := r.Hook
	if h.IsTask() {
		return u.seenInTask(r)
	}
	var want state.Report
	switch h.Kind {
	case hooks.Install:
		want = u.unlessCharm(model.StatusMaintenance, "installing charm software")
	case hooks.Stop:
		want = u.workload(model.StatusMaintenance, "stopping charm software")
	case hooks.Remove:
		want = u.workload(model.StatusMaintenance, "cleaning up prior to charm deletion")
	case hooks.UpdateStatus:
		return want // the agent counts as idle meanwhile
	}
	message := fmt.Sprintf("running %s hook", h.Name())
	if h.RemoteUnit != "" {
		message += " for " + string(h.RemoteUnit)
	}
	if h.IsSecret() {
		message += " for " + h.SecretRef()
	}
	return want.Then(u.agentStatus(model.StatusExecuting, message, nil))
}

func (u *unit) seenCommitted(r uniter.Report) state.Report {
	if how := r.Local.Ended.How; how == resolver.EndedSkipped || how == resolver.EndedCutShort {
		// Its commit would have taken the unit out of its error. The statuses that
		// follow a hook tell of what it has done, so a skipped one leaves the
		// status as it is (docs/spec/uniter-facts.md §3.8).
		return state.Report{Failed: &state.FailureDoc{}}
	}
	return state.Report{}
}

// seenAfter is what the unit's workload looks like once a hook has ended well: part of the hook's
// commit, so that nobody sees one without the other.
func (u *unit) seenAfter(h hooks.Info) state.Report {
	switch h.Kind {
	case hooks.Start:
		return u.unlessCharm(model.StatusUnknown, "")
	case hooks.Stop:
		return u.workload(model.StatusMaintenance, "")
	case hooks.Remove:
		return u.workload(model.StatusTerminated, "")
	}
	return state.Report{}
}
