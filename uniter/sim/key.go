package sim

import (
	"hash/fnv"
	"maps"
	"slices"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/uniter/resolver"
)

// key has what tells states apart that can have different futures. What only
// grows, as the numbers of runs, is in it by how it compares: otherwise no state
// would ever be come by again.
func (n *node) key(t *traits) {
	w := &n.world
	t.add(n.at, &n.left, w.Dir, w.forced, w.ending, w.setting, &w.charm, &w.tasks, w.asks, &w.containers)
	againKey(t, w.wishes)
	w.Monitor.key(t)
	base := max(w.Local.Run, w.Model.Committed)
	localKey(t, &w.Local, base)
	localKey(t, &w.Disk, base)
	localKey(t, &w.Former, base)
	remoteKey(t, &w.Model, base)
	if c := w.Local.Current; w.Model.Retry && c != nil {
		t.add(c.RetryAt.Unix(), &c.Basis)
	}
	if w.Busy() {
		// What was seen matters only while the agent acts on it.
		remoteKey(t, &w.seen, base)
		t.add(string(w.hand.Verb))
		t.hook(w.hand.Hook)
		t.add(w.hand.Run-base, &w.hand.Seen, &w.hand.Basis, w.hand.Charm, w.hand.Relations, w.hand.Storage, w.hand.Pod, w.hand.Workloads)
	}
}

// hash is the key's, of 128 bits: no two of a million states share one. The bytes
// of t are overwritten.
func (n *node) hash(t *traits) (sum [16]byte) {
	t.bytes = t.bytes[:0]
	n.key(t)
	h := fnv.New128a()
	h.Write(t.bytes)
	h.Sum(sum[:0])
	return sum
}

func (m *Monitor) key(t *traits) {
	t.add(m.installed, m.configured, m.started, m.stopped, m.removed, m.lastKey(), m.leaving, m.told, m.task, m.attached, m.anew, m.halted, m.halting, m.ready, m.row)
	t.add(len(m.heard))
	for _, c := range slices.Sorted(maps.Keys(m.heard)) {
		t.add(c, m.heard[c].Unix())
	}
	t.add(len(m.aside))
	for _, key := range slices.Sorted(maps.Keys(m.aside)) {
		t.hook(m.aside[key])
	}
	t.bool(m.failed != nil)
	if m.failed != nil {
		t.hook(*m.failed)
	}
}

// lastKey is what the hook before can make a difference for.
func (m *Monitor) lastKey() string {
	last := hooks.Info{Kind: m.last}
	if last.IsWorkload() || m.last == hooks.UpgradeCharm || m.halted && m.last == hooks.ConfigChanged {
		return string(m.last)
	}
	return ""
}

func localKey(t *traits, l *resolver.Local, base int64) {
	t.add(l.Run-base, l.Charm, l.Installed, l.Configured, l.Started, l.Upgraded, l.Stopped, l.Removed, l.Leader,
		&l.Seen, l.StatusAt.Unix(), l.Storage)
	againKey(t, l.Again)
	workloadsKey(t, l)
	t.add(l.Relations)
	t.bool(l.Current != nil)
	if c := l.Current; c != nil {
		t.hook(c.Hook)
		t.add(c.Run-base, string(c.Step), c.Over, &c.Seen, c.Aside)
	}
	t.bool(l.Task != nil)
	if task := l.Task; task != nil {
		t.add(task.Hook.Task, task.Run-base)
	}
}

func remoteKey(t *traits, r *resolver.Remote, base int64) {
	// An answer to an older run, and a stamp of one, say nothing any more.
	t.add(r.Now.Unix(), r.Gone, r.Life, r.Orphaned, r.Charm, r.Forced, &r.Want, r.Leader,
		r.Resolved.Run-base == 0, r.Resolved.Mode, r.Committed-base == 0, r.Relations, r.Storage, r.Subordinates,
		r.Task.Hook.Task, r.Task.Begun)
	remoteWorkloadsKey(t, r)
}
