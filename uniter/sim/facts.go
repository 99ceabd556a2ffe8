package sim

import (
	"fmt"
	"maps"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
	"github.com/unitd/unitd/uniter/resolver"
)

// The guarantees that are about more than one hook run.
var (
	factAsked = Guarantee{"what isn't a hook is done only where it has a cause", "docs/spec/uniter-behaviour.md §4", nil}
	factRest  = Guarantee{"an agent comes to rest when nothing happens", `docs/architecture.md, "Deciding is pure"`, nil}
	factTask  = Guarantee{"a task runs in a deployed charm and never changes whether its unit is in error", "docs/spec/uniter-behaviour.md §7", nil}
	factTold  = Guarantee{"an agent at rest has told its charm of all that is", `docs/architecture.md, "Deciding is pure"`, nil}
)

// Rested says what the charm of an agent that has nothing to do was not told,
// as a *Broken; nil if all is well. In error nothing is due.
func (w *World) Rested() error {
	if w.forced {
		return nil
	}
	why := ""
	switch {
	case w.waiting() && w.Model.Life == model.Alive:
		why = "it lets a task wait"
	case w.waits() && w.Model.Life == model.Alive && w.Model.Sidecar && w.containers.pod != w.Model.Pod:
		why = "it waits in error with containers that are to be replaced"
	case w.waits():
		h := w.Local.Current.Hook
		if _, ok := w.find(h.RelationID); h.IsRelation() && !ok || h.IsStorage() && w.storage(h.Storage) < 0 {
			why = fmt.Sprintf("it waits in error at %s, which is gone", h)
		}
	case w.waitsForStorage() && w.Model.Life == model.Alive && !w.Model.Orphaned:
	case w.Model.Life == model.Alive:
		why = w.untold()
	case w.Model.Life == model.Dying && len(w.Model.Subordinates) == 0:
		why = "it waits although the unit is Dying and has no subordinates"
	}
	if why == "" {
		return nil
	}
	return &Broken{Guarantee: factTold, Why: why}
}

// untold says what a living unit has not been told.
func (w *World) untold() string {
	m := w.Monitor
	want := w.Model.Want
	switch {
	case w.Model.Orphaned:
		return "it has not noticed that its application is going"
	case !m.installed || !m.configured || !m.started:
		return "it has not started"
	case w.Dir != w.Model.Charm && !w.Model.Sidecar || w.Dir != w.charm.url || w.charm.upgraded:
		return fmt.Sprintf("%q is in its charm directory, not %q, or was not configured", w.Dir, w.Model.Charm)
	case w.charm.now.Config != want.Config:
		return fmt.Sprintf("its configuration is %q, not %q", w.charm.now.Config, want.Config)
	case w.charm.now.Boot != want.Boot:
		return "it has not started since the machine was rebooted"
	case w.charm.leads != w.Model.Leader:
		return fmt.Sprintf("it believes %t about leading", w.charm.leads)
	case !w.Model.Leader && w.charm.now.LeaderSettings != want.LeaderSettings:
		return fmt.Sprintf("its leader settings are %d, not %d", w.charm.now.LeaderSettings, want.LeaderSettings)
	case w.Model.StatusInterval > 0 && !w.Model.Now.Before(w.Local.StatusAt.Add(w.Model.StatusInterval)):
		return "update-status is late"
	}
	if why := w.untoldWorkloads(); why != "" {
		return why
	}
	if why := w.untoldStorage(); why != "" {
		return why
	}
	if why := w.overdue(); why != "" {
		return why
	}
	known := maps.Clone(m.told)
	for _, s := range w.Model.Relations {
		told, ok := known[s.ID]
		if why := untoldOf(s, told, ok); why != "" {
			return fmt.Sprintf("%s:%d %s", s.Endpoint, s.ID, why)
		}
		delete(known, s.ID)
	}
	for id := range w.Local.Relations {
		if _, ok := w.find(id); !ok {
			return fmt.Sprintf("it remembers relation %d, which is gone", id)
		}
	}
	if len(known) > 0 {
		return fmt.Sprintf("%d relations that are gone were not broken", len(known))
	}
	return ""
}

func untoldOf(s relation.Snapshot, t told, known bool) string {
	if !s.Live {
		switch {
		case known:
			return "was not broken"
		case s.InScope:
			return "has the unit in scope"
		}
		return ""
	}
	switch {
	case s.NotYet && !s.InScope:
		return ""
	case !known && !s.Implicit:
		return "is not known"
	case !s.InScope:
		return "does not have the unit in scope"
	case s.Implicit:
		return ""
	case t.owed != "":
		return fmt.Sprintf("owes the changed of %s", t.owed)
	case t.application != s.Application:
		return "has other application settings"
	case len(t.members) != len(s.Members):
		return "has other members"
	}
	for _, m := range s.Members {
		if t.members[m.Unit] != m.Version {
			return fmt.Sprintf("has other settings of %s", m.Unit)
		}
	}
	return ""
}

// find is the snapshot of a relation in the model, if it is there.
func (w *World) find(id model.RelationID) (relation.Snapshot, bool) {
	return find(w.Model, id)
}

func find(r resolver.Remote, id model.RelationID) (relation.Snapshot, bool) {
	for _, s := range r.Relations {
		if s.ID == id {
			return s, true
		}
	}
	return relation.Snapshot{}, false
}

// waits says whether the agent waits for the operator.
func (w *World) waits() bool {
	return w.Local.Current != nil && w.Local.Current.Step == resolver.Failed
}
