package sim

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/uniter/resolver"
)

// key tells states apart that can have different futures. What only grows, as
// the numbers of runs, is in it by how it compares: otherwise no state would
// ever be come by again.
func (n *node) key() string {
	w := &n.world
	var b strings.Builder
	fmt.Fprint(&b, n.at, n.left, w.Dir, w.forced, w.ending, w.setting, w.charm, w.tasks, w.asks, w.containers, "|")
	againKey(&b, w.wishes)
	w.Monitor.key(&b)
	base := max(w.Local.Run, w.Model.Committed)
	localKey(&b, w.Local, base)
	localKey(&b, w.Disk, base)
	localKey(&b, w.Former, base)
	remoteKey(&b, w.Model, base)
	if c := w.Local.Current; w.Model.Retry && c != nil {
		fmt.Fprint(&b, c.RetryAt.Unix(), c.Basis)
	}
	if w.Busy() {
		// What was seen matters only while the agent acts on it.
		remoteKey(&b, w.seen, base)
		fmt.Fprint(&b, w.hand.Verb, hookKey(w.hand.Hook), w.hand.Run-base, w.hand.Seen, w.hand.Basis, w.hand.Charm, w.hand.Relations, w.hand.Storage, w.hand.Pod, w.hand.Workloads)
	}
	return b.String()
}

// hash is the key's, of 128 bits: no two of a million states share one.
func (n *node) hash() (sum [16]byte) {
	h := fnv.New128a()
	h.Write([]byte(n.key()))
	h.Sum(sum[:0])
	return sum
}

func hookKey(h hooks.Info) string {
	return fmt.Sprint(h.Kind, h.RelationID, h.RemoteUnit, h.Version, h.Departing, h.Storage, h.StorageLocation, h.Again, h.Workload, h.NoticeID, h.NoticeAt.Unix(), h.Boot)
}

func (m *Monitor) key(b *strings.Builder) {
	fmt.Fprint(b, m.installed, m.configured, m.started, m.stopped, m.removed, m.lastKey(), m.leaving, m.told, m.task, m.attached, m.halted, m.halting, m.ready)
	for _, c := range slices.Sorted(maps.Keys(m.heard)) {
		fmt.Fprint(b, c, m.heard[c].Unix())
	}
	for _, key := range slices.Sorted(maps.Keys(m.aside)) {
		b.WriteString(hookKey(m.aside[key]))
	}
	if m.failed != nil {
		fmt.Fprint(b, hookKey(*m.failed))
	}
	b.WriteByte('|')
}

// lastKey is what the hook before can make a difference for.
func (m *Monitor) lastKey() string {
	last := hooks.Info{Kind: m.last}
	if last.IsWorkload() || m.last == hooks.UpgradeCharm || m.halted && m.last == hooks.ConfigChanged {
		return string(m.last)
	}
	return ""
}

func localKey(b *strings.Builder, l resolver.Local, base int64) {
	fmt.Fprint(b, l.Run-base, l.Charm, l.Installed, l.Configured, l.Started, l.Upgraded, l.Stopped, l.Removed, l.Leader,
		l.Seen, l.StatusAt.Unix(), l.Storage)
	againKey(b, l.Again)
	workloadsKey(b, l, base)
	for _, s := range l.InOrder() {
		fmt.Fprint(b, s)
	}
	if c := l.Current; c != nil {
		fmt.Fprint(b, hookKey(c.Hook), c.Run-base, c.Step, c.Over, c.Seen, c.Aside)
	}
	if t := l.Task; t != nil {
		fmt.Fprint(b, t.Hook.Task, t.Run-base)
	}
	b.WriteByte('|')
}

func remoteKey(b *strings.Builder, r resolver.Remote, base int64) {
	// An answer to an older run, and a stamp of one, say nothing any more.
	fmt.Fprint(b, r.Now.Unix(), r.Gone, r.Life, r.Orphaned, r.Charm, r.Forced, r.Want, r.Leader,
		r.Resolved.Run-base == 0, r.Resolved.Mode, r.Committed-base == 0, r.Relations, r.Storage, r.Subordinates,
		r.Task.Hook.Task, r.Task.Begun)
	remoteWorkloadsKey(b, r)
	b.WriteByte('|')
}
