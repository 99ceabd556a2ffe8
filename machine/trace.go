package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter"
	"github.com/unitd/unitd/uniter/resolver"
)

// Tracer follows what hooks come from and what comes of them. Its methods are called by
// many goroutines, and return soon. Package telemetry has one.
type Tracer interface {
	// Caused is told of what people have done, once, by the agent that has the model.
	Caused(Cause)
	// Began is told of a run that begins, before its hook does.
	Began(TracedRun) TracedSpan
}

// TracedSpan is a run that a Tracer follows.
type TracedSpan interface {
	// Traceparent names it, for its hook.
	Traceparent() string
	// Commit is the traceparent of its commit, for what that writes: see state.Origin.
	Commit() string
	// Ended is told of its end, and of when its commit was made (zero: it wasn't) and how
	// long that took.
	Ended(e history.Entry, commit time.Time, took time.Duration)
}

// TracedRun is a run that begins.
type TracedRun struct {
	Model, UUID string
	Unit        model.UnitName
	Run         int64
	Hook        hooks.Info
	Charm       string
	Started     time.Time
	Cause       Cause
	// First: the run is the one that is to tell of its cause as well.
	First bool
	// Traceparent names the span as a former agent has begun it, that has handed the run
	// over; empty: this one begins it.
	Traceparent string
}

// Cause is what a run follows from. Runs of the same Key in a model are of one trace,
// whichever host they are on. Without Key the run that Parent names is the cause; without
// either the run has none that others have as well.
type Cause struct {
	Model, UUID string
	Key         string
	// Parent is the traceparent of what the cause is part of; empty: of nothing.
	Parent string
	// Name says for people what was done, "config ledger"; At when.
	Name string
	At   time.Time
}

// trace begins to follow a run, if anybody follows runs; former is TracedRun.Traceparent. What it
// follows from is looked up at once: a goroutine that does so meanwhile takes longer to be woken.
func (u *unit) trace(ctx context.Context, run uniter.Run, started time.Time, former string) {
	u.traced = traced{run: run.Number}
	if u.tracer == nil {
		return
	}
	look := u.causeOf
	if run.Hook.IsTask() {
		look = u.causeOfTask
	}
	cause, first, err := look(ctx, run)
	u.traced.span = u.beginSpan(run, started, former, cause, first, err)
}

// beginSpan has the tracer follow a run; an error says why it isn't known what that follows from.
func (u *unit) beginSpan(run uniter.Run, started time.Time, former string, cause Cause, first bool, err error) TracedSpan {
	if err != nil {
		u.log.Warn("cannot tell what a run follows from", "unit", u.name, "run", run.Number, "err", err)
	}
	cause.Model, cause.UUID, cause.At = u.model.Name(), u.model.UUID(), started
	return u.tracer.Began(TracedRun{
		Model: u.model.Name(), UUID: u.model.UUID(), Unit: u.name, Run: run.Number, Hook: run.Hook, Charm: run.Local.Charm,
		Started: started, Cause: cause, First: first && former == "", Traceparent: former,
	})
}

// traced is the newest run, as far as a tracer follows it.
type traced struct {
	run    int64
	span   TracedSpan // nil: nobody follows it
	commit time.Time
	took   time.Duration
}

// by is what the writes of a run say of themselves.
func (t traced) by(run int64) string {
	if t.span == nil || t.run != run {
		return ""
	}
	return t.span.Commit()
}

// environ is what the run's program is told.
func (t traced) environ() []string {
	if t.span == nil {
		return nil
	}
	return []string{traceVariable + t.span.Traceparent()}
}

// traceVariable begins what an environment says of the run's span.
const traceVariable = "TRACEPARENT="

// tracedIn is what an environment says of it; empty: nothing.
func tracedIn(env []string) string {
	for _, v := range env {
		if of, ok := strings.CutPrefix(v, traceVariable); ok {
			return of
		}
	}
	return ""
}

// untraced is an environment for a recording: what is played again is no part of the trace.
func untraced(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, traceVariable) })
}

// committed notes the commit that began then.
func (t *traced) committed(began, now time.Time) { t.commit, t.took = began, now.Sub(began) }

// end tells of the end of a run, once.
func (t *traced) end(e history.Entry) {
	if t.span == nil || t.run != e.Run {
		return
	}
	span := t.span
	t.span = nil
	span.Ended(e, t.commit, t.took)
}

// causeOf is what a run of a hook follows from, and whether it is the run that tells of that.
func (u *unit) causeOf(ctx context.Context, run uniter.Run) (c Cause, first bool, err error) {
	h := run.Hook
	origin := func(t state.Traced, key, name string) (Cause, error) {
		o, err := u.model.Origin(ctx, t)
		return Cause{Key: key, Parent: o.By, Name: name}, err
	}
	switch app := u.name.Application(); {
	case h.IsRelation():
		c, err = u.causeInRelation(ctx, h)
	case h.Kind == hooks.SecretChanged:
		c, err = origin(state.TracedSecret(h.Secret), "", "")
	case h.Kind == hooks.LeaderSettingsChanged:
		c, err = origin(state.TracedLeaderSettings(app), "", "")
	case h.Kind == hooks.UpgradeCharm:
		c = charmCause(app, run.Local.Charm)
	case !run.Local.Started:
		return Cause{Key: "unit/" + u.id, Name: fmt.Sprintf("add %s", u.name)}, run.Number == 1, nil
	case h.Kind == hooks.ConfigChanged && h.Cause == resolver.CauseUpgraded:
		c = charmCause(app, run.Local.Charm)
	case h.Kind == hooks.ConfigChanged:
		o, err := u.model.Origin(ctx, state.TracedConfig(app))
		if o.Rev == o.Made { // nobody has set any since it was deployed: it is about addresses, or trust
			return Cause{}, false, err
		}
		return configCause(app, o), false, err
	}
	return c, false, err
}

// configCause is that the options of an application were set.
func configCause(app string, o state.Origin) Cause {
	return Cause{Key: fmt.Sprintf("config/%s/%d", app, o.Rev), Parent: o.By, Name: "config " + app}
}

// charmCause is that an application got another charm.
func charmCause(app, charm string) Cause {
	return Cause{Key: "charm/" + app + "/" + charm, Name: "refresh " + app}
}

// relationCause is that applications were related.
func relationCause(id model.RelationID, key string, o state.Origin) Cause {
	return Cause{Key: fmt.Sprintf("relation/%d", id), Parent: o.By, Name: "integrate " + key}
}

// causeInRelation is the run that has written the databag which the hook tells of, else
// that there is the relation. Of what leaves nobody is told why.
func (u *unit) causeInRelation(ctx context.Context, h hooks.Info) (Cause, error) {
	if h.Departs() {
		return Cause{}, nil
	}
	if h.RemoteUnit != "" || h.RemoteApp != "" && h.Kind == hooks.RelationChanged {
		o, err := u.model.Origin(ctx, state.TracedBag(h.RelationID, h.RemoteApp, h.RemoteUnit))
		if err != nil || o.By != "" {
			return Cause{Parent: o.By}, err
		}
	}
	o, err := u.model.Origin(ctx, state.TracedRelation(h.RelationID))
	return relationCause(h.RelationID, "", o), err
}

// causeOfTask is the operation that the task is of; its first task tells of it.
func (u *unit) causeOfTask(ctx context.Context, run uniter.Run) (c Cause, first bool, err error) {
	id := u.doing.Operation
	op, err := u.model.Operation(ctx, id)
	if err != nil {
		return Cause{}, false, err
	}
	first = len(op.OperationDoc.Tasks) > 0 && op.OperationDoc.Tasks[0] == run.Hook.Task
	return Cause{Key: "operation/" + id, Parent: op.By, Name: "run " + run.Hook.Name()}, first, nil
}
