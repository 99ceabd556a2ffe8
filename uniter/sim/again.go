package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// askAgain has the next hook that can ask to run again.
func askAgain(w *World, _ []string) (bool, error) {
	w.asks = true
	return true, nil
}

// wish is what a hook that succeeds asks for: to run again in a minute; nil:
// nothing.
func (w *World) wish(h hooks.Info) *model.Requeue {
	if !w.asks || !h.Repeats() {
		return nil
	}
	w.asks = false
	return &model.Requeue{At: w.Model.Now.Add(time.Minute)}
}

// wished takes note of the wish of a hook that has run, or of which nobody asks
// any more, in a slice of its own.
func (w *World) wished(h hooks.Info, again *model.Requeue) {
	w.wishes = slices.DeleteFunc(slices.Clone(w.wishes), func(a resolver.Again) bool { return a.Hook.Same(h) })
	if again != nil {
		w.wishes = append(w.wishes, resolver.Again{Hook: h, Requeue: *again})
	}
}

// worthwhile says whether what a hook tells of is there for another run.
func (w *World) worthwhile(h hooks.Info) bool {
	r := w.Monitor.told[h.RelationID]
	_, member := r.members[h.RemoteUnit]
	s, live := find(w.seen, h.RelationID)
	switch {
	case h.IsRelation():
		return r.remote != "" && live && s.Live && (h.RemoteUnit == "" || member)
	case h.IsStorage():
		i := slices.IndexFunc(w.seen.Storage, func(s resolver.Storage) bool { return s.ID == h.Storage })
		return i >= 0 && !w.seen.Storage[i].Going && w.Monitor.attached[h.Storage]
	case h.Kind == hooks.LeaderElected:
		return w.charm.leads
	case h.Kind == hooks.LeaderSettingsChanged:
		return !w.seen.Leader
	}
	return true
}

// overdue says which hook has asked to run again, and hasn't.
func (w *World) overdue() string {
	for _, a := range w.wishes {
		if !w.Model.Now.Before(a.At) {
			return fmt.Sprintf("%s has not run again", a.Hook)
		}
	}
	return ""
}

// againGuarantees is what a Monitor checks of a hook that runs again because it
// has asked for it: of what is told once, it tells nothing.
func againGuarantees() []Guarantee {
	const doc = "docs/hook-tools.md"
	return []Guarantee{
		{"a failed hook is followed by nothing but itself until it is resolved", doc, errorWaits},
		{"a hook runs again only between start and stop", doc, againWhileStarted},
		{"a hook runs again only while what it tells of is there", doc, againOfWhatIs},
		{"config-changed runs immediately after upgrade-charm", doc, func(m *Monitor, h hooks.Info) string {
			if m.last == hooks.UpgradeCharm {
				return "straight after upgrade-charm"
			}
			return ""
		}},
		{"changed runs immediately after joined, in one relation", doc, func(m *Monitor, h hooks.Info) string {
			if owed := m.told[h.RelationID].owed; h.IsRelation() && owed != "" {
				return fmt.Sprintf("while the changed of %s was owed", owed)
			}
			return ""
		}},
	}
}

func againWhileStarted(m *Monitor, _ hooks.Info) string {
	switch {
	case !m.started:
		return "before start"
	case m.stopped || m.removed:
		return "after stop"
	}
	return ""
}

func againOfWhatIs(m *Monitor, h hooks.Info) string {
	r, known := m.told[h.RelationID]
	_, member := r.members[h.RemoteUnit]
	switch {
	case !h.Repeats():
		return "though it tells of what is going"
	case m.failed != nil: // what has gone since it failed is told of once it is resolved
		return ""
	case h.IsRelation() && !known:
		return "in a relation that isn't known"
	case h.IsRelation() && h.RemoteUnit != "" && !member:
		return "for a unit that is no member"
	case h.IsStorage() && !m.attached[h.Storage]:
		return "for storage that isn't attached"
	}
	return ""
}

// againFacts is what the world checks of such a hook.
func againFacts() []fact {
	const doc = "docs/hook-tools.md"
	return []fact{
		{Guarantee{"hooks run in a deployed charm", doc, nil}, inCharm},
		{Guarantee{"a hook that runs again has asked for it, and its time has come", doc, nil}, hasAsked},
		{Guarantee{"a hook runs again when nothing else is due", doc, nil}, nothingElse},
	}
}

func hasAsked(w *World, h hooks.Info) string {
	for _, a := range w.wishes {
		if a.Hook.Same(h) && !w.seen.Now.Before(a.At) {
			return ""
		}
	}
	return "unasked, or too early"
}

func nothingElse(w *World, _ hooks.Info) string {
	if w.again() || w.seen.Life != model.Alive {
		return ""
	}
	if w.charm.now.Config != w.seen.Want.Config || w.charm.url != w.Dir {
		return "before the charm was told of its configuration"
	}
	return ""
}

func againKey(t *traits, all []resolver.Again) {
	t.add(len(all))
	for _, a := range all {
		t.hook(a.Hook)
		t.add(a.At.Unix())
	}
}
