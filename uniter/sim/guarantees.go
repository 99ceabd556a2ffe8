package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/uniter/resolver"
)

// Guarantee is one thing that charms can rely on.
type Guarantee struct {
	// Sentence says it for people; Source is where it comes from.
	Sentence, Source string
	// broken says why the hook must not run now; empty if it may.
	broken func(*Monitor, hooks.Info) string
}

// Guarantees is what a Monitor checks whenever a hook runs, be it the first
// time or again after a failure.
func Guarantees() []Guarantee {
	const seed, spec = "seed 004", "docs/spec/uniter-behaviour.md"
	return append([]Guarantee{
		{"a failed hook is followed by nothing but itself until it is resolved", seed + ", hooks", errorWaits},
		{"install runs once, and only once, before any other hook but those of storage", seed + ", unit hooks", installFirst},
		{"update-status runs only between start and stop", spec + " §1", statusWhileStarted},
		{"no joined or changed runs before the first start", spec + " §5", startBeforeJoined},
		{"config-changed runs immediately after install, but for what is due between", spec + " §1", configAfterInstall},
		{"config-changed runs immediately after upgrade-charm", seed + ", unit hooks", configAfterUpgrade},
		{"start runs once, immediately after the first config-changed, and again only after a reboot, or when the unit's containers were replaced", seed + ", unit hooks", startAfterConfig},
		{"stop and remove are the last hooks, in this order, but for those of containers, and stop before these are replaced", spec + " §1", stopLast},
		{"stop does not run while relations remain to be broken, but before the unit's containers are replaced", seed + ", relation hooks", stopAfterBroken},
		{"relation-created runs once, before any other hook of its relation", spec + " §1", createdFirst},
		{"joined runs once for a unit that is first seen", seed + ", relation hooks", joinedOnce},
		{"changed runs immediately after joined, in one relation", seed + ", relation hooks", changedAfterJoined},
		{"changed runs only for units that have joined", spec + " §5", changedOfMember},
		{"changed runs again only when settings have changed", seed + ", relation hooks", changedIsNews},
		{"departed runs once for a unit that had joined", seed + ", relation hooks", departedOnce},
		{"departed names the unit that leaves: the remote one, or from then on the local one", spec + " §2", departedNames},
		{"broken does not run while the relation has members", seed + ", relation hooks", brokenLast},
		{"a unit that leaves has broken of its peer relations when all others are broken", spec + " §4", peersBrokenLast},
	}, append(storageGuarantees(), workloadGuarantees()...)...)
}

func errorWaits(m *Monitor, h hooks.Info) string {
	if m.failed != nil && !same(*m.failed, h) {
		return fmt.Sprintf("while %s had failed", m.failed)
	}
	return ""
}

func installFirst(m *Monitor, h hooks.Info) string {
	switch {
	case h.Kind == hooks.Install && m.installed:
		return "a second time"
	case h.Kind != hooks.Install && !m.installed && !h.IsStorage():
		return "before install"
	}
	return ""
}

func configAfterInstall(m *Monitor, h hooks.Info) string {
	if !m.installed || m.configured {
		return ""
	}
	switch h.Kind {
	case hooks.ConfigChanged, hooks.RelationCreated, hooks.LeaderElected, hooks.LeaderSettingsChanged, hooks.UpgradeCharm:
		return ""
	case hooks.StorageAttached, hooks.StorageDetaching:
		return ""
	case hooks.PebbleReady, hooks.PebbleCustomNotice, hooks.PebbleCheckFailed, hooks.PebbleCheckRecovered:
		return ""
	case hooks.RelationBroken, hooks.Remove: // the unit goes before it was ever configured
		return ""
	}
	return "before config-changed"
}

func configAfterUpgrade(m *Monitor, h hooks.Info) string {
	if m.last == hooks.UpgradeCharm && m.configured && h.Kind != hooks.ConfigChanged && h.Kind != hooks.UpgradeCharm {
		return "straight after upgrade-charm"
	}
	return ""
}

func startAfterConfig(m *Monitor, h hooks.Info) string {
	switch {
	case h.Kind == hooks.Start && h.Cause == resolver.CauseReplaced && m.last != hooks.ConfigChanged:
		return "for other containers, and not after config-changed"
	case h.Kind == hooks.Start && m.started && m.failed == nil && h.Cause != resolver.CauseRebooted && h.Cause != resolver.CauseReplaced:
		return "a second time"
	case h.Kind == hooks.Start && !m.configured:
		return "before config-changed"
	case m.configured && !m.started && h.Kind != hooks.Start && !m.configuredAnew(h):
		return "between config-changed and start"
	}
	return ""
}

// configuredAnew says whether the hook is one of those that come again, in other
// containers, after the first start has failed.
func (m *Monitor) configuredAnew(h hooks.Info) bool {
	return h.Kind == hooks.UpgradeCharm && (m.last == "" || m.last == hooks.UpgradeCharm) || h.Kind == hooks.ConfigChanged && m.last == hooks.UpgradeCharm
}

func statusWhileStarted(m *Monitor, h hooks.Info) string {
	if h.Kind == hooks.UpdateStatus && !m.started {
		return "before start"
	}
	return ""
}

func stopLast(m *Monitor, h hooks.Info) string {
	switch {
	case m.removed:
		return "after remove"
	case m.stopped && h.Kind != hooks.Remove && !h.IsWorkload():
		return "after stop"
	case h.Kind == hooks.Stop && !m.started:
		return "before start"
	case h.Kind == hooks.Remove && m.started && !m.stopped && !m.halted:
		return "before stop"
	}
	return ""
}

func stopAfterBroken(m *Monitor, h hooks.Info) string {
	if (h.Kind == hooks.Stop && !m.halts(h) || h.Kind == hooks.Remove) && len(m.told) > 0 {
		return fmt.Sprintf("with %d relations to be broken", len(m.told))
	}
	return ""
}

func createdFirst(m *Monitor, h hooks.Info) string {
	if !h.IsRelation() {
		return ""
	}
	_, known := m.told[h.RelationID]
	switch {
	case h.Kind == hooks.RelationCreated && known:
		return "a second time"
	case h.Kind != hooks.RelationCreated && !known:
		return "before created or after broken"
	}
	return ""
}

func startBeforeJoined(m *Monitor, h hooks.Info) string {
	if (h.Kind == hooks.RelationJoined || h.Kind == hooks.RelationChanged) && !m.started {
		return "before start"
	}
	return ""
}

func joinedOnce(m *Monitor, h hooks.Info) string {
	if _, member := m.told[h.RelationID].members[h.RemoteUnit]; h.Kind == hooks.RelationJoined && member {
		return "a second time"
	}
	return ""
}

func changedAfterJoined(m *Monitor, h hooks.Info) string {
	owed := m.told[h.RelationID].owed
	if h.IsRelation() && owed != "" && !(h.Kind == hooks.RelationChanged && h.RemoteUnit == owed) {
		return fmt.Sprintf("while the changed of %s was owed", owed)
	}
	return ""
}

func changedOfMember(m *Monitor, h hooks.Info) string {
	if _, member := m.told[h.RelationID].members[h.RemoteUnit]; h.Kind == hooks.RelationChanged && h.RemoteUnit != "" && !member {
		return "for a unit that has not joined"
	}
	return ""
}

func changedIsNews(m *Monitor, h hooks.Info) string {
	if m.failed != nil { // it has the cause that it had
		return ""
	}
	r := m.told[h.RelationID]
	was := r.application
	if h.RemoteUnit != "" {
		was = r.members[h.RemoteUnit]
	}
	if h.Kind == hooks.RelationChanged && (h.RemoteUnit == "" || r.owed != h.RemoteUnit) && h.Version == was {
		return fmt.Sprintf("for version %d a second time", h.Version)
	}
	return ""
}

func departedOnce(m *Monitor, h hooks.Info) string {
	if _, member := m.told[h.RelationID].members[h.RemoteUnit]; h.Kind == hooks.RelationDeparted && !member {
		return "for a unit that has not joined, or a second time"
	}
	return ""
}

func departedNames(m *Monitor, h hooks.Info) string {
	switch {
	case h.Kind != hooks.RelationDeparted:
		return ""
	case h.Departing == "":
		return "without naming it"
	case m.leaving && h.Departing == h.RemoteUnit && m.failed == nil:
		return fmt.Sprintf("naming %s although the local unit leaves", h.Departing)
	}
	return ""
}

func brokenLast(m *Monitor, h hooks.Info) string {
	if n := len(m.told[h.RelationID].members); h.Kind == hooks.RelationBroken && n > 0 {
		return fmt.Sprintf("with %d members", n)
	}
	return ""
}

func peersBrokenLast(m *Monitor, h hooks.Info) string {
	if h.Kind != hooks.RelationBroken || m.Unit == "" || !m.leaving || h.RemoteApp != m.Unit.Application() {
		return ""
	}
	for _, id := range slices.Sorted(maps.Keys(m.told)) {
		if r := m.told[id]; r.remote != "" && r.remote != h.RemoteApp {
			return fmt.Sprintf("before that to %s", r.remote)
		}
	}
	return ""
}
