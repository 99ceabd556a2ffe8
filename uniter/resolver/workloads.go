package resolver

import (
	"maps"
	"slices"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// Workload is one of the unit's workload containers, as its Pebble and the model
// have it.
type Workload struct {
	Container string
	// Boot is the boot id of the Pebble that answers there; empty: none does.
	Boot string
	// Since is when that boot was first seen, by the agent's clock.
	Since time.Time
	// Notices are those that hooks tell of and that were repeated after what
	// Local.Workloads has as told, by LastRepeated; older ones may be among them.
	Notices []Notice
}

// Notice is a notice of a container's Pebble that a hook tells of.
type Notice struct {
	// ID, Type and Key are Pebble's.
	ID, Type, Key string
	// Kind is the hook's: hooks.PebbleCustomNotice, PebbleCheckFailed or
	// PebbleCheckRecovered, with Check as its check.
	Kind  hooks.Kind
	Check string
	// LastRepeated is Pebble's, by its host's clock.
	LastRepeated time.Time
	// Seen is when this repetition was first seen, by the agent's clock.
	Seen time.Time
}

// WorkloadTold is what the charm was told of a container. What was begun to be
// told counts: it has committed, or its failure stands aside in Failed.
type WorkloadTold struct {
	// Boot is the boot id that pebble-ready has told of last.
	Boot string `json:"boot,omitempty"`
	// After is the LastRepeated of the newest notice that was told.
	After time.Time `json:"after,omitzero"`
	// Failed are the hooks that have failed and stand aside, in the order of their
	// retries; of each there is one.
	Failed []FailedWorkload `json:"failed,omitempty"`
}

// FailedWorkload is a workload hook that has failed and holds nothing up.
type FailedWorkload struct {
	Hook hooks.Info `json:"hook"`
	// Run is the number of the run that failed last, Attempts how many have, one
	// after the other.
	Run      int64 `json:"run"`
	Attempts int   `json:"attempts"`
	// RetryAt is when it is run again.
	RetryAt time.Time `json:"retry-at"`
	Failure Failure   `json:"failure"`
}

// WorkloadRetry is how long a failed workload hook stands aside before it is run
// again, however often it has failed. Source: docs/spec/containers.md §3.4.
const WorkloadRetry = 5 * time.Second

// workload finds a container of the unit's.
func (r Remote) workload(container string) (Workload, bool) {
	for _, w := range r.Workloads {
		if w.Container == container {
			return w, true
		}
	}
	return Workload{}, false
}

// AsTold are the containers as somebody has them who can't see them, and knows
// what the charm was told: as if nothing had happened there since.
func AsTold(l Local) []Workload {
	var all []Workload
	for _, c := range slices.Sorted(maps.Keys(l.Workloads)) {
		all = append(all, Workload{Container: c, Boot: l.Workloads[c].Boot})
	}
	return all
}

// StoodAside are the workload hooks that have failed and stand aside, by
// container.
func (l Local) StoodAside() []FailedWorkload {
	var all []FailedWorkload
	for _, c := range slices.Sorted(maps.Keys(l.Workloads)) {
		all = append(all, l.Workloads[c].Failed...)
	}
	return all
}

// ready is the pebble-ready that is due, if one is. Several starts of Pebble
// that nobody was told of are one: the newest.
func (w Workload) ready(told WorkloadTold) (hooks.Info, bool) {
	if w.Boot == "" || w.Boot == told.Boot {
		return hooks.Info{}, false
	}
	return hooks.Info{Kind: hooks.PebbleReady, Workload: w.Container, Boot: w.Boot, Cause: "Pebble has started"}, true
}

// notice is the first notice that is due, and when it was seen.
func (w Workload) notice(told WorkloadTold) (h hooks.Info, seen time.Time, ok bool) {
	for _, n := range w.Notices {
		if n.LastRepeated.After(told.After) && (!ok || n.LastRepeated.Before(h.NoticeAt)) {
			h, seen, ok = n.hook(w.Container), n.Seen, true
		}
	}
	return h, seen, ok
}

func (n Notice) hook(container string) hooks.Info {
	cause := map[hooks.Kind]string{
		hooks.PebbleCheckFailed: "the check has failed", hooks.PebbleCheckRecovered: "the check has recovered",
	}[n.Kind]
	if cause == "" {
		cause = "a notice was sent"
	}
	return hooks.Info{
		Kind: n.Kind, Workload: container, NoticeID: n.ID, NoticeType: n.Type, NoticeKey: n.Key,
		NoticeAt: n.LastRepeated, CheckName: n.Check, Cause: cause,
	}
}

// MostInARow is how many workload hooks come one after the other while something
// else is due. A container whose checks are up and down all the time would keep its
// unit from the very change of configuration that ends it.
const MostInARow = 8

// workloadsFirst is workloads, until there were so many that others have their turn.
func workloadsFirst(l Local, r Remote) (Op, bool) {
	if l.InARow >= MostInARow {
		return Op{}, false
	}
	return workloads(l, r)
}

// workloads tells of what has happened in the containers: in the order in which
// it was seen, across containers and kinds. In a unit that goes each hook waits for
// a step on the way out, so that no container can keep it. Source: docs/spec/containers.md §3.1, §3.2.
func workloads(l Local, r Remote) (Op, bool) {
	if !l.Installed || l.Removed || l.Charm == "" || r.Life != model.Alive && l.Yields {
		return Op{}, false
	}
	var first hooks.Info
	var since time.Time
	take := func(h hooks.Info, at time.Time) {
		if first.Kind == "" || at.Before(since) {
			first, since = h, at
		}
	}
	for _, w := range r.Workloads {
		told := l.Workloads[w.Container]
		if h, ok := w.ready(told); ok {
			take(h, w.Since)
		}
		if h, seen, ok := w.notice(told); ok {
			take(h, seen)
		}
	}
	if first.Kind == "" {
		return Op{}, false
	}
	return run(l, r, first)
}

// workloadRetries runs again what stands aside, when its time has come.
func workloadRetries(l Local, r Remote) (Op, bool) {
	f, ok := nextRetry(l, r)
	if !ok || l.Charm == "" || r.Now.Before(f.RetryAt) {
		return Op{}, false
	}
	h := f.Hook
	h.Cause = "it has failed before"
	return run(l, r, h)
}

// nextRetry is the failed workload hook that is to be run again first. One of a
// container whose Pebble doesn't answer waits for that: it would fail again. One
// of an earlier start of Pebble gives way to that of the later.
func nextRetry(l Local, r Remote) (first FailedWorkload, ok bool) {
	for _, f := range l.StoodAside() {
		w, there := r.workload(f.Hook.Workload)
		if !there || w.Boot == "" || f.Hook.Kind == hooks.PebbleReady && f.Hook.Boot != w.Boot {
			continue
		}
		if !ok || f.RetryAt.Before(first.RetryAt) {
			first, ok = f, true
		}
	}
	return first, ok
}

// workloadsDue is when the next of them is run again; zero: none is.
func workloadsDue(l Local, r Remote) time.Time {
	f, _ := nextRetry(l, r)
	return f.RetryAt
}

// strayWorkloads are the containers that the charm was told of and that the unit
// hasn't any more, in order. Only a deployed charm says which there are.
func strayWorkloads(l Local, r Remote) []string {
	var gone []string
	for _, c := range slices.Sorted(maps.Keys(l.Workloads)) {
		if _, there := r.workload(c); !there && l.Charm != "" {
			gone = append(gone, c)
		}
	}
	return gone
}

// workloadUpToDate is a workload hook that has failed with what it tells of now,
// and false if its container is gone.
func workloadUpToDate(h hooks.Info, r Remote) (hooks.Info, bool) {
	w, there := r.workload(h.Workload)
	if h.Kind == hooks.PebbleReady && w.Boot != "" {
		h.Boot = w.Boot
	}
	for _, n := range w.Notices {
		if h.IsNotice() && n.ID == h.NoticeID && n.LastRepeated.After(h.NoticeAt) {
			h.NoticeAt = n.LastRepeated
		}
	}
	return h, there
}

// begun is what was told once a hook has been begun to be told, in a value of its
// own: it replaces what has failed of the same.
func (t WorkloadTold) begun(h hooks.Info) WorkloadTold {
	t.Failed = slices.DeleteFunc(slices.Clone(t.Failed), func(f FailedWorkload) bool { return f.Hook.Same(h) })
	if len(t.Failed) == 0 {
		t.Failed = nil
	}
	if h.Again {
		return t // the charm was told before
	}
	if h.Kind == hooks.PebbleReady {
		t.Boot = h.Boot
	}
	if h.IsNotice() && h.NoticeAt.After(t.After) {
		t.After = h.NoticeAt
	}
	return t
}

// workloadTold takes note that a workload hook was told.
func workloadTold(l Local, h hooks.Info) Local {
	if h.IsWorkload() {
		if l.Workloads == nil {
			l.Workloads = map[string]WorkloadTold{}
		}
		l.Workloads[h.Workload] = l.Workloads[h.Workload].begun(h)
	}
	if l.Yields = h.IsWorkload(); l.Yields {
		l.InARow = min(l.InARow+1, MostInARow)
	} else {
		l.InARow = 0
	}
	return l
}

// setAside takes the failed run of a workload hook out of the unit's way.
func setAside(l Local, at time.Time) Local {
	c := l.Current
	f := FailedWorkload{Hook: c.Hook, Run: c.Run, Attempts: 1, RetryAt: at.Add(WorkloadRetry), Failure: *c.Failure}
	for _, before := range l.Workloads[c.Hook.Workload].Failed {
		if before.Hook.Same(c.Hook) {
			f.Attempts = before.Attempts + 1
		}
	}
	l = workloadTold(l, c.Hook)
	told := l.Workloads[c.Hook.Workload]
	told.Failed = append(slices.Clone(told.Failed), f)
	l.Workloads[c.Hook.Workload] = told
	l.Current = nil
	return l
}

// rememberedWorkloads is what the model is to know of the containers: all but
// what the failed hooks have printed.
func rememberedWorkloads(all map[string]WorkloadTold) map[string]WorkloadTold {
	if len(all) == 0 {
		return nil
	}
	all = maps.Clone(all)
	for c, told := range all {
		told.Failed = slices.Clone(told.Failed)
		for i := range told.Failed {
			told.Failed[i].Failure.Output, told.Failed[i].Failure.Dropped = nil, nil
		}
		all[c] = told
	}
	return all
}

// workloadsAt is what is remembered of the containers as of a time of this host's
// clock, see Local.At.
func workloadsAt(all map[string]WorkloadTold, now time.Time) map[string]WorkloadTold {
	all = maps.Clone(all)
	for c, told := range all {
		told.Failed = slices.Clone(told.Failed)
		for i, f := range told.Failed {
			told.Failed[i].RetryAt = until(f.RetryAt, now, WorkloadRetry)
		}
		all[c] = told
	}
	return all
}
