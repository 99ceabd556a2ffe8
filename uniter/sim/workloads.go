package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// workloadActs are what can happen to a unit's containers. The first container
// makes the unit one that has some.
func workloadActs() []act {
	return []act{
		{"container NAME", addContainer},
		{"start-container NAME", onContainer(func(w *World, c *resolver.Workload) { w.boot(c) })},
		{"stop-container NAME", onContainer(func(_ *World, c *resolver.Workload) { c.Boot = "" })},
		{"remove-container NAME", removeContainer},
		{"notice NAME ID", notice(hooks.PebbleCustomNotice)},
		{"check-fails NAME ID", notice(hooks.PebbleCheckFailed)},
		{"check-recovers NAME ID", notice(hooks.PebbleCheckRecovered)},
		{"replace", func(w *World, _ []string) (bool, error) { w.Model.Pod++; return w.Model.Sidecar, nil }},
		{"workload-errors", func(w *World, _ []string) (bool, error) { w.Model.WorkloadErrors = true; return true, nil }},
		{"no-workload-errors", func(w *World, _ []string) (bool, error) { w.Model.WorkloadErrors = false; return true, nil }},
	}
}

// containers are what a world knows of its containers beside the model.
type containers struct {
	// ticks tells moments apart, of which each event has its own; pod is the set of
	// containers that is there.
	ticks, pod int
	// retry is when what has failed is run again.
	retry map[string]time.Time
}

// Limited says whether what the agent has in hand may take a while only.
func (w *World) Limited() bool { return w.hand.Limit > 0 }

// moment is a moment of the agent's clock, later than all before at that time.
func (w *World) moment() time.Time {
	w.containers.ticks++
	return w.Model.Now.Add(time.Duration(w.containers.ticks))
}

// boot starts a container's Pebble.
func (w *World) boot(c *resolver.Workload) {
	c.Since = w.moment()
	c.Boot = fmt.Sprintf("boot-%d", w.containers.ticks)
}

func addContainer(w *World, args []string) (bool, error) {
	w.Model.Sidecar = true
	w.configure()
	all := append(slices.Clone(w.Model.Workloads), resolver.Workload{Container: args[0]})
	slices.SortFunc(all, func(a, b resolver.Workload) int { return cmp.Compare(a.Container, b.Container) })
	w.Model.Workloads = all
	return true, nil
}

func removeContainer(w *World, args []string) (bool, error) {
	had := len(w.Model.Workloads)
	w.Model.Workloads = slices.DeleteFunc(slices.Clone(w.Model.Workloads), func(c resolver.Workload) bool { return c.Container == args[0] })
	return len(w.Model.Workloads) < had, nil
}

// onContainer changes a copy of a container, so that other worlds keep theirs.
func onContainer(change func(*World, *resolver.Workload)) func(*World, []string) (bool, error) {
	return func(w *World, args []string) (bool, error) {
		i := slices.IndexFunc(w.Model.Workloads, func(c resolver.Workload) bool { return c.Container == args[0] })
		if i < 0 {
			return false, nil
		}
		w.Model.Workloads = slices.Clone(w.Model.Workloads)
		change(w, &w.Model.Workloads[i])
		return true, nil
	}
}

// notice sends a notice, or repeats it. The agent sees it at once.
func notice(kind hooks.Kind) func(*World, []string) (bool, error) {
	return func(w *World, args []string) (bool, error) {
		n := resolver.Notice{ID: args[1], Kind: kind, Type: "change-update", Key: args[1], Check: "up"}
		if kind == hooks.PebbleCustomNotice {
			n.Type, n.Key, n.Check = "custom", "example.com/"+args[1], ""
		}
		return onContainer(func(w *World, c *resolver.Workload) {
			n.Seen = w.moment()
			n.LastRepeated = time.Unix(int64(w.containers.ticks), 0).UTC()
			c.Notices = slices.DeleteFunc(slices.Clone(c.Notices), func(o resolver.Notice) bool { return o.ID == n.ID })
			c.Notices = append(c.Notices, n)
		})(w, args)
	}
}

// replaced is what becomes of the world when the containers are replaced: Pebble
// is started in the new ones, and nothing is in the charm directory.
func (w *World) replaced(pod int) {
	w.containers.pod, w.containers.retry, w.Dir = pod, nil, ""
	if w.charm.url != "" {
		w.charm.url = lost
	}
	w.charm.replaced = w.Monitor.configured
	w.Model.Workloads = slices.Clone(w.Model.Workloads)
	for i := range w.Model.Workloads {
		w.Model.Workloads[i].Notices = nil
		w.boot(&w.Model.Workloads[i])
	}
}

// stoodAside takes note that a hook has failed and holds nothing up, and since
// when; that it has run takes it back.
func (w *World) stoodAside(h hooks.Info, aside bool) {
	w.containers.retry = maps.Clone(w.containers.retry)
	delete(w.containers.retry, asideKey(h))
	if aside {
		if w.containers.retry == nil {
			w.containers.retry = map[string]time.Time{}
		}
		w.containers.retry[asideKey(h)] = w.Model.Now.Add(resolver.WorkloadRetry)
	}
}

// asideKey tells workload hooks apart as their failures are.
func asideKey(h hooks.Info) string {
	return string(h.Kind) + " " + h.Workload + " " + h.NoticeID
}

// event is a hook that is due of a container, and when its cause was seen.
type event struct {
	hook hooks.Info
	seen time.Time
}

// events are the hooks of containers that the charm has not been told by, nor
// begun to be: of each container the start of Pebble and the first notice.
func (w *World) events(r resolver.Remote) []event {
	var all []event
	m := w.Monitor
	for _, c := range r.Workloads {
		if c.Boot != "" && c.Boot != m.ready[c.Container] && c.Boot != m.aside[asideKey(hooks.Info{Kind: hooks.PebbleReady, Workload: c.Container})].Boot {
			all = append(all, event{hooks.Info{Kind: hooks.PebbleReady, Workload: c.Container, Boot: c.Boot}, c.Since})
		}
		var first *resolver.Notice
		for i, n := range c.Notices {
			if n.LastRepeated.After(m.heard[c.Container]) && (first == nil || n.LastRepeated.Before(first.LastRepeated)) {
				first = &c.Notices[i]
			}
		}
		if first != nil {
			all = append(all, event{hooks.Info{Kind: first.Kind, Workload: c.Container, NoticeID: first.ID, NoticeAt: first.LastRepeated}, first.Seen})
		}
	}
	return all
}

// untoldWorkloads says what of its containers a living unit has not been told.
func (w *World) untoldWorkloads() string {
	if w.containers.pod != w.Model.Pod && w.Model.Sidecar {
		return "its containers are not replaced"
	}
	for _, e := range w.events(w.Model) {
		return e.hook.Name() + " has not run"
	}
	for _, c := range w.Model.Workloads {
		for _, key := range slices.Sorted(maps.Keys(w.containers.retry)) {
			failed := w.Monitor.aside[key]
			if failed.Workload == c.Container && c.Boot != "" && (failed.Boot == "" || failed.Boot == c.Boot) && !w.Model.Now.Before(w.containers.retry[key]) {
				return failed.Name() + " has failed, and has not run again"
			}
		}
	}
	for name := range w.Local.Workloads {
		if !slices.ContainsFunc(w.Model.Workloads, func(c resolver.Workload) bool { return c.Container == name }) {
			return "it remembers container " + name + ", which is gone"
		}
	}
	return ""
}

// workloadFacts are the guarantees about the cause of workload hooks.
func workloadFacts() []fact {
	const spec = "docs/spec/containers.md"
	return []fact{
		{Guarantee{"pebble-ready tells of the Pebble that answers", spec + " §3.3", nil}, ofWhatAnswers},
		{Guarantee{"a failed hook of a container runs again 5 s later, unless there is news of the same", spec + " §3.4", nil}, notTooSoon},
		{Guarantee{"hooks of containers run in the order in which their causes were seen", spec + " §3.1", nil}, inOrderOfTime},
		{Guarantee{"what has happened in containers is told before storage, secrets, configuration and relations, eight times in a row", spec + " §3.1", nil}, eventsFirst},
		{Guarantee{"in other containers start runs immediately after config-changed", spec + " §3.5", nil}, startInOthers},
		{Guarantee{"a unit that goes runs one hook of its containers between two steps at most", spec + " §3.1", nil}, notTwoInARow},
	}
}

func ofWhatAnswers(w *World, h hooks.Info) string {
	for _, c := range w.seen.Workloads {
		if c.Container == h.Workload && c.Boot == h.Boot {
			return ""
		}
	}
	if h.Kind == hooks.PebbleReady && !w.again() {
		return "for another one"
	}
	return ""
}

func notTooSoon(w *World, h hooks.Info) string {
	failed, aside := w.Monitor.aside[asideKey(h)]
	news := h.Boot != failed.Boot || h.NoticeAt.After(failed.NoticeAt)
	if due := w.containers.retry[asideKey(h)]; aside && !news && w.seen.Now.Before(due) && !w.again() {
		return fmt.Sprintf("%v before that", due.Sub(w.seen.Now))
	}
	return ""
}

func inOrderOfTime(w *World, h hooks.Info) string {
	all := w.events(w.seen)
	i := slices.IndexFunc(all, func(e event) bool { return e.hook.Same(h) })
	for _, e := range all {
		if i >= 0 && !w.again() && e.seen.Before(all[i].seen) {
			return "before " + e.hook.Name()
		}
	}
	return ""
}

func eventsFirst(w *World, h hooks.Info) string {
	chain := h.Kind == hooks.ConfigChanged && w.Monitor.last == hooks.UpgradeCharm
	if w.seen.Life != model.Alive || w.again() || chain || w.Monitor.row >= resolver.MostInARow {
		return ""
	}
	switch h.Kind {
	case hooks.Install, hooks.Start, hooks.Stop, hooks.UpgradeCharm, hooks.RelationCreated, hooks.LeaderElected, hooks.LeaderSettingsChanged:
		return ""
	}
	if all := w.events(w.seen); len(all) > 0 && !h.IsWorkload() {
		return "before " + all[0].hook.Name()
	}
	return ""
}

func startInOthers(w *World, h hooks.Info) string {
	configured := w.charm.replaced && w.Monitor.last == hooks.ConfigChanged && w.charm.url == w.Dir && w.Monitor.configured
	if configured && w.seen.Life == model.Alive && !w.again() && h.Kind != hooks.Start {
		return "between the two"
	}
	return ""
}

func notTwoInARow(w *World, h hooks.Info) string {
	last := hooks.Info{Kind: w.Monitor.last}
	if w.seen.Life != model.Alive && h.IsWorkload() && last.IsWorkload() && !w.again() {
		return "straight after another one"
	}
	return ""
}

// askedOfContainers says what is wrong with the cause of an operation on
// containers; empty: nothing.
func (w *World) askedOfContainers(op resolver.Op) string {
	c, m := w.Local.Current, w.Monitor
	switch op.Verb {
	case resolver.SetAside:
		if c == nil || !c.Hook.IsWorkload() || w.seen.WorkloadErrors {
			return "a failed hook is taken out of the way that should stand"
		}
	case resolver.Replace:
		switch {
		case w.seen.Pod == w.Local.Pod || w.seen.Life != model.Alive:
			return "containers are replaced that are as they should be"
		case m.started && !m.halted && !w.charm.replaced && m.failed == nil && w.Dir != "" && w.charm.url == w.Dir:
			return "containers are replaced before stop has run"
		}
	case resolver.Forget:
		for _, name := range op.Workloads {
			if slices.ContainsFunc(w.Model.Workloads, func(c resolver.Workload) bool { return c.Container == name }) {
				return "container " + name + " was forgotten, and is there"
			}
		}
	}
	return ""
}

// workloadGuarantees are those of workload hooks that a Monitor checks.
func workloadGuarantees() []Guarantee {
	const spec = "docs/spec/containers.md"
	return []Guarantee{
		{"pebble-ready succeeds once for each start of a container's Pebble", spec + " §3.3", readyOnce},
		{"a notice is told once for each time that it is repeated, in the order of time", spec + " §3.3", noticeOnce},
		{"after stop, as the unit's containers are replaced, come upgrade-charm, config-changed and start, or the unit goes", spec + " §3.5", restartAfterReplacement},
	}
}

func readyOnce(m *Monitor, h hooks.Info) string {
	if h.Kind == hooks.PebbleReady && m.failed == nil && h.Boot != "" && m.ready[h.Workload] == h.Boot {
		return "a second time for one"
	}
	return ""
}

func noticeOnce(m *Monitor, h hooks.Info) string {
	_, aside := m.aside[asideKey(h)]
	if h.IsNotice() && m.failed == nil && !aside && !h.NoticeAt.IsZero() && !h.NoticeAt.After(m.heard[h.Workload]) {
		return "for what was told before"
	}
	return ""
}

func restartAfterReplacement(m *Monitor, h hooks.Info) string {
	if !m.halted {
		return ""
	}
	switch h.Kind {
	case hooks.Stop, hooks.UpdateStatus, hooks.LeaderElected, hooks.LeaderSettingsChanged, hooks.RelationCreated, hooks.RelationJoined, hooks.StorageAttached:
		return "before start"
	}
	return ""
}

// halts says whether a stop is one before the unit's containers are replaced. One
// that has failed runs again for another cause.
func (m *Monitor) halts(h hooks.Info) bool {
	return h.Kind == hooks.Stop && (h.Cause == resolver.CauseReplaced || m.halting)
}

// begin moves on what counts as told when it is begun to be told.
func (m *Monitor) begin(h hooks.Info) {
	if !h.IsWorkload() {
		return
	}
	m.aside = maps.Clone(m.aside)
	delete(m.aside, asideKey(h))
	if h.NoticeAt.After(m.heard[h.Workload]) {
		m.heard = maps.Clone(m.heard)
		if m.heard == nil {
			m.heard = map[string]time.Time{}
		}
		m.heard[h.Workload] = h.NoticeAt
	}
}

// count counts hooks of containers in a row.
func (m *Monitor) count(h hooks.Info) {
	if m.row = min(m.row+1, resolver.MostInARow); !h.IsWorkload() {
		m.row = 0
	}
}

// standAside takes note of a failed hook that holds nothing up.
func (m *Monitor) standAside(h hooks.Info) {
	m.begin(h)
	m.count(h)
	if m.aside == nil {
		m.aside = map[string]hooks.Info{}
	}
	m.aside[asideKey(h)] = h
}

// tellWorkload moves on what the charm knows of its containers.
func (m *Monitor) tellWorkload(h hooks.Info) {
	m.begin(h)
	if h.Kind == hooks.PebbleReady {
		m.ready = maps.Clone(m.ready)
		if m.ready == nil {
			m.ready = map[string]string{}
		}
		m.ready[h.Workload] = h.Boot
	}
}

// workloadsKey is what of the containers can make for another future.
func workloadsKey(t *traits, l *resolver.Local) {
	t.add(l.Yields, l.InARow, l.Pod, l.Replaced, len(l.Workloads))
	for _, c := range slices.Sorted(maps.Keys(l.Workloads)) {
		told := l.Workloads[c]
		t.add(c, told.Boot, told.After.Unix(), len(told.Failed))
		for _, f := range told.Failed {
			t.hook(f.Hook)
			t.add(f.RetryAt.Unix())
		}
	}
}

func remoteWorkloadsKey(t *traits, r *resolver.Remote) {
	t.add(r.Sidecar, r.Pod, r.WorkloadErrors, len(r.Workloads))
	for _, c := range r.Workloads {
		t.add(c.Container, c.Boot, c.Since.UnixNano(), len(c.Notices))
		for _, n := range c.Notices {
			t.add(n.ID, string(n.Kind), n.LastRepeated.Unix(), n.Seen.UnixNano())
		}
	}
}
