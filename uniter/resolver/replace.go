package resolver

import (
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// CauseReplaced is that of the stop and the start around the replacement of a
// unit's containers, which else run once.
const CauseReplaced = "the unit's containers are replaced"

// StopGrace is how long stop may take before a unit's containers are replaced: one
// that takes longer is ended, and taken as run. Source: docs/spec/containers.md
// §3.5.
const StopGrace = 30 * time.Second

// replaces says whether the unit is to have other containers than it has, with a
// charm directory that is made anew. A unit that hasn't been deployed yet begins
// with those that it is to have.
func replaces(l Local, r Remote) bool {
	return r.Sidecar && r.Pod != l.Pod && r.Life == model.Alive && !l.Untouched()
}

// awaits says whether the unit goes on with the containers that it has until the
// images of the next ones are on the host: so it is down no longer than they take to
// start, and an image that can't be had takes nothing from it. One that has had its
// stop, or has lost its charm directory, goes on with what it has begun.
func awaits(l Local, r Remote) bool {
	stopping := l.Stopped || l.Current != nil && l.Current.Hook.Kind == hooks.Stop
	return replaces(l, r) && r.Unfetched && l.Charm != "" && !stopping
}

// Untouched says that nothing was ever done of the unit: it begins with the
// containers that it is to have by then.
func (l Local) Untouched() bool { return l.Charm == "" && l.Run == 0 && !l.Installed }

// replace is pod churn, once it is the unit's turn and the images are there: stop, unless the charm was told
// nothing in its present directory or the unit is in error, then other containers
// and an empty charm directory; deploy, upgrade-charm, config-changed and start
// follow by their own rules. Source: docs/spec/containers.md §3.5.
func replace(l Local, r Remote) (Op, bool) {
	if !replaces(l, r) || awaits(l, r) {
		return Op{}, false
	}
	if l.Started && !l.Stopped && !l.Replaced && !l.Upgraded && l.Charm != "" {
		return run(l, r, unitHook(hooks.Stop, CauseReplaced))
	}
	return replacement(l, r), true
}

// replacement names the failed hook that goes with the containers, if there is one.
func replacement(l Local, r Remote) Op {
	op := Op{Verb: Replace, Pod: r.Pod, Reason: "the unit's containers are to be replaced"}
	if c := l.Current; c != nil {
		op.Hook, op.Run = c.Hook, c.Run
	}
	return op
}

// replaced is what the agent knows once the containers are others: the charm is
// to be deployed into a directory that is empty, and was told nothing in it. A hook
// that has failed is no more: what it was about is due in its turn, as ever.
func replaced(l Local, op Op) Local {
	if l.Current != nil {
		l.Ended, l.Current = answered(l, EndedDropped, CauseReplaced), nil
	}
	l.Pod, l.Charm, l.Workloads = op.Pod, "", nil
	l.Stopped, l.Replaced = false, l.Configured
	return l
}

// limitOf is how long a run of the hook may take at most; 0: as long as others.
func limitOf(h hooks.Info, r Remote) time.Duration {
	if h.Kind == hooks.Stop && r.Sidecar && r.Life == model.Alive {
		return StopGrace
	}
	return 0
}
