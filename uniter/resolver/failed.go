package resolver

import (
	"fmt"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

func failed(l Local, r Remote) (Op, bool) {
	c := l.Current
	if c == nil {
		return Op{}, false
	}
	if l.Charm == "" && replaces(l, r) {
		return replacement(l, r), true // the agent was killed in it
	}
	if l.Charm == "" && r.Charm != "" {
		return Op{Verb: Deploy, Charm: r.Charm, Reason: "the charm directory is lost"}, true
	}
	if why := pastCause(c.Hook, l, r); why != "" {
		return Op{Verb: Discard, Hook: c.Hook, Run: c.Run, Reason: why}, true
	}
	if c.Hook.IsWorkload() && !r.WorkloadErrors {
		return Op{Verb: SetAside, Hook: c.Hook, Run: c.Run, Reason: "hooks of containers don't put the unit in error"}, true
	}
	if why := letPass(c.Hook, r); why != "" {
		return Op{Verb: Skip, Hook: c.Hook, Run: c.Run, Reason: why}, true
	}
	answered := r.Resolved.Run == c.Run
	if answered && r.Resolved.Mode == SkipIt {
		return Op{Verb: Skip, Hook: c.Hook, Run: c.Run, Reason: "resolved without running it again"}, true
	}
	// Nobody asks whether a charm has failed: other containers may be the way out of
	// it. Source: docs/spec/containers.md §3.5.
	if replaces(l, r) && !awaits(l, r) {
		if c.Hook.Kind == hooks.Stop && c.Failure != nil && c.Failure.Interrupted {
			return rerun(l, r, "it was interrupted") // the charm hasn't failed: the agent was killed
		}
		return replacement(l, r), true
	}
	// Before it is run again: a rollback asks for both.
	if r.Forced && !r.Sidecar && r.Charm != l.Charm {
		return Op{Verb: Deploy, Charm: r.Charm, Reason: "forced upgrade"}, true
	}
	if answered && r.Resolved.Mode == RunAgain {
		return rerun(l, r, "resolved")
	}
	op := Op{Verb: Idle, Hook: c.Hook, Run: c.Run}
	if r.Retry && !c.RetryAt.IsZero() {
		if what := c.Basis.changed(basisOf(c.Hook, l, r)); what != "" {
			return rerun(l, r, what+" changed since it failed")
		}
		if !r.Now.Before(c.RetryAt) {
			return rerun(l, r, "automatic retry")
		}
		op.Until = c.RetryAt
	}
	op.Reason = fmt.Sprintf("hook %q failed and waits to be resolved", c.Hook.Name())
	return op, true
}

// pastCause says what a failed hook was about that is gone, so that it isn't run
// again whatever is answered; empty: nothing is.
func pastCause(h hooks.Info, l Local, r Remote) string {
	_, storage := r.storage(h.Storage)
	_, container := r.workload(h.Workload)
	switch {
	case h.IsRelation() && vanished(l, r, h.RelationID):
		return "the relation of the failed hook is gone"
	case h.IsStorage() && !storage:
		return "the storage of the failed hook is gone"
	case h.IsWorkload() && !container:
		return "the container of the failed hook is gone"
	case h.Kind == hooks.Stop && r.Sidecar && r.Life == model.Alive && !replaces(l, r):
		return "the unit's containers are replaced"
	}
	return ""
}

// letPass says why a failed hook holds nobody up; empty: it does.
func letPass(h hooks.Info, r Remote) string {
	if r.Lenient && r.Life != model.Alive {
		return "the unit is removed with --force"
	}
	if snap, ok := r.relation(h.RelationID); ok && h.IsRelation() && snap.Lenient && !snap.Live {
		return "the relation is removed with --force"
	}
	return ""
}

// rerun runs the failed hook again, with what is to be told now.
func rerun(l Local, r Remote, why string) (Op, bool) {
	h := l.Current.Hook
	h.Cause = why
	if h.Kind == hooks.LeaderElected && !r.Leader {
		return Op{Verb: Discard, Hook: h, Run: l.Current.Run, Reason: "the unit is no longer leader"}, true
	}
	if h.IsSecret() && !currentSecret(&h, r) {
		return Op{Verb: Discard, Hook: h, Run: l.Current.Run, Reason: "the secret isn't the unit's any more"}, true
	}
	return run(l, r, upToDate(h, r))
}

// upToDate is a hook that has run before, with what it tells of now.
func upToDate(h hooks.Info, r Remote) hooks.Info {
	if s, ok := r.storage(h.Storage); ok {
		h.StorageLocation = s.Location
	}
	h, _ = workloadUpToDate(h, r)
	if h.Kind == hooks.RelationJoined || h.Kind == hooks.RelationChanged {
		snap, _ := r.relation(h.RelationID)
		if v, ok := snap.Members.Version(h.RemoteUnit); ok {
			h.Version = v
		} else if h.RemoteUnit == "" {
			h.Version = snap.Application
		}
	}
	return h
}
