package sim

import (
	"cmp"
	"fmt"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// fact is a guarantee about the cause of a hook: a monitor can't check it,
// because it takes a look at what the agent saw.
type fact struct {
	Guarantee
	broken func(*World, hooks.Info) string
}

func facts() []fact {
	const seed, spec = "seed 004", "docs/spec/uniter-behaviour.md"
	return append([]fact{
		{Guarantee{"hooks run in a deployed charm", seed + ", the charm directory", nil}, inCharm},
		{Guarantee{"upgrade-charm runs immediately after the charm directory was changed, or for new resources, and only then", seed + ", unit hooks", nil}, afterUpgrade},
		{Guarantee{"a unit that is dying before install ran runs no hooks", spec + " §4", nil}, noStillbirth},
		{Guarantee{"config-changed runs once for a configuration", spec + " §1", nil}, newConfig},
		{Guarantee{"leader-elected runs once in a unit that has become leader", spec + " §1", nil}, newLeader},
		{Guarantee{"leader-settings-changed runs once for a change, and not in the leader", spec + " §1", nil}, newLeaderSettings},
		{Guarantee{"start runs once for a boot of the machine, and for a set of containers", spec + " §4", nil}, newBoot},
		{Guarantee{"created of each relation runs before leader-elected and the first config-changed", spec + " §1", nil}, createdBefore},
		{Guarantee{"joined and changed tell of the settings as they are", spec + " §5", nil}, newestSettings},
		{Guarantee{"departed names the local unit if it is not Alive, else the remote one", spec + " §2", nil}, whoDeparts},
		{Guarantee{"a unit that goes leaves its peers last", spec + " §4", nil}, peersLast},
	}, append(storageFacts(), workloadFacts()...)...)
}

// again says whether the hook is run again after a failure: then it has the
// cause that it had.
func (w *World) again() bool { return w.Monitor.failed != nil }

func inCharm(w *World, _ hooks.Info) string {
	if w.Dir == "" {
		return "without a charm"
	}
	return ""
}

func afterUpgrade(w *World, h hooks.Info) string {
	changed := w.charm.url != "" && w.charm.url != w.Dir
	switch {
	case w.again():
		return ""
	case h.Kind == hooks.Start && w.charm.url == lost:
		return "" // its place after config-changed comes first
	case h.Kind == hooks.Remove && (w.Monitor.stopped || w.Monitor.halted) && w.charm.url == lost:
		return "" // nothing comes between stop and remove
	case changed && h.Kind != hooks.UpgradeCharm:
		return "before upgrade-charm"
	case !changed && h.Kind == hooks.UpgradeCharm && w.charm.next.Resources == w.charm.now.Resources:
		return "for the same charm and resources"
	}
	return ""
}

func noStillbirth(w *World, h hooks.Info) string {
	if h.Kind == hooks.Install && w.seen.Life != model.Alive && !w.again() {
		return "in a unit that is " + w.seen.Life.String()
	}
	return ""
}

func newConfig(w *World, h hooks.Info) string {
	if h.Kind == hooks.ConfigChanged && !w.again() && w.charm.next == w.charm.now && !w.charm.upgraded {
		return "for the same one"
	}
	return ""
}

func newLeader(w *World, h hooks.Info) string {
	if h.Kind == hooks.LeaderElected && (!w.seen.Leader || w.charm.leads) {
		return "in one that doesn't lead, or was told before"
	}
	return ""
}

func newLeaderSettings(w *World, h hooks.Info) string {
	if h.Kind == hooks.LeaderSettingsChanged && !w.again() && (w.seen.Leader || w.charm.next == w.charm.now) {
		return "in the leader, or for what was told before"
	}
	return ""
}

func newBoot(w *World, h hooks.Info) string {
	if h.Kind == hooks.Start && !w.again() && !w.charm.replaced && w.charm.next.Boot == w.charm.now.Boot {
		return "a second time for the same one"
	}
	return ""
}

func createdBefore(w *World, h hooks.Info) string {
	first := h.Kind == hooks.ConfigChanged && !w.Monitor.configured && w.Monitor.last != hooks.UpgradeCharm
	if h.Kind != hooks.LeaderElected && !first || w.again() || w.seen.Life != model.Alive {
		return ""
	}
	for _, s := range w.seen.Relations {
		if _, told := w.Monitor.told[s.ID]; s.Live && s.InScope && !s.Implicit && !told {
			return fmt.Sprintf("before the created of %s:%d", s.Endpoint, s.ID)
		}
	}
	return ""
}

func newestSettings(w *World, h hooks.Info) string {
	if h.Kind != hooks.RelationJoined && h.Kind != hooks.RelationChanged {
		return ""
	}
	s, ok := find(w.seen, h.RelationID)
	now := s.Application
	if h.RemoteUnit != "" {
		// A unit that has left is told of as it was.
		now, ok = s.Members.Version(h.RemoteUnit)
	}
	if ok && now != h.Version {
		return fmt.Sprintf("for version %d while it is %d", h.Version, now)
	}
	return ""
}

func whoDeparts(w *World, h hooks.Info) string {
	itself := h.Departing == w.Local.Unit
	if h.Kind == hooks.RelationDeparted && !w.again() && itself != (w.seen.Life != model.Alive) {
		return fmt.Sprintf("naming %s while the unit is %s", h.Departing, w.seen.Life)
	}
	return ""
}

func peersLast(w *World, h hooks.Info) string {
	s, _ := find(w.seen, h.RelationID)
	if !h.IsRelation() || !s.Peer || w.seen.Life == model.Alive || w.again() {
		return ""
	}
	for _, other := range w.seen.Relations {
		if _, told := w.Monitor.told[other.ID]; told && !other.Peer && h.Kind != hooks.RelationChanged {
			return fmt.Sprintf("before %s:%d was broken", other.Endpoint, other.ID)
		}
	}
	return ""
}

// retried says whether the failed hook runs again by itself. The charm has no say in
// when its agent is killed: stop comes before other containers all the same.
func (w *World) retried(c *resolver.Current) bool {
	if w.seen.Retry && (!w.seen.Now.Before(c.RetryAt) || w.begun != w.basis(c.Hook)) {
		return true
	}
	return c.Hook.Kind == hooks.Stop && c.Failure != nil && c.Failure.Interrupted && w.containers.pod != w.seen.Pod
}

// asked says what is wrong with the cause of an operation itself: a *Broken.
func (w *World) asked(op resolver.Op) error {
	why := ""
	answer := w.seen.Resolved
	c := w.Local.Current
	switch op.Verb {
	case resolver.RunHook:
		if w.waits() && answer != (resolver.Resolved{Run: c.Run, Mode: resolver.RunAgain}) && !w.retried(c) {
			why = fmt.Sprintf("%s ran again unasked", c.Hook)
		}
	case resolver.Skip:
		if answer != (resolver.Resolved{Run: c.Run, Mode: resolver.SkipIt}) {
			why = fmt.Sprintf("%s was skipped unasked", c.Hook)
		}
	case resolver.Requeue:
		if c == nil || !c.Over || w.seen.Committed >= c.Run {
			why = "a run is taken as one that never was, and was killed or is in the model"
		}
	case resolver.AbortTask:
		if w.Local.Task == nil && !w.seen.Task.Begun {
			why = "a task is taken as interrupted that nobody began"
		}
	case resolver.Unqueue:
		if w.worthwhile(op.Hook) {
			why = fmt.Sprintf("%s is not run again, though what it tells of is there", op.Hook)
		}
	case resolver.EnterScope:
		for _, s := range op.Entering {
			if s.NotYet {
				why = fmt.Sprintf("the scope of relation %d was entered too early", s.ID)
			}
		}
	case resolver.Forget:
		for _, id := range op.Storage {
			if w.storage(id) >= 0 {
				why = fmt.Sprintf("storage %s was forgotten, and is there", id)
			}
		}
		for _, id := range op.Relations {
			if _, ok := w.find(id); ok {
				why = fmt.Sprintf("relation %d was forgotten, and is there", id)
			}
		}
	case resolver.Detach:
		for _, id := range op.Storage {
			if w.Monitor.attached[id] {
				why = fmt.Sprintf("storage %s was taken away without detaching", id)
			}
		}
	case resolver.MarkDead:
		if len(w.seen.Storage) > 0 {
			why = "the unit is Dead with storage attached"
			break
		}
		if len(w.seen.Subordinates) > 0 {
			why = "the unit is Dead before its subordinates are removed"
			break
		}
		return w.Monitor.End()
	}
	why = cmp.Or(why, w.askedOfContainers(op))
	if why == "" {
		return nil
	}
	return &Broken{Guarantee: factAsked, Why: why}
}

// basis is what a run of the hook is begun on: if nothing of it differs the
// hook will do the same again.
func (w *World) basis(h hooks.Info) string {
	basis := w.Dir + " " + w.seen.Settings
	if s, ok := find(w.seen, h.RelationID); ok && h.IsRelation() {
		basis += fmt.Sprint(" ", s.Members, s.Application)
	}
	return basis
}
