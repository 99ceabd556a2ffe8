package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// Run is a hook run of a unit's history, and what became of it.
type Run struct {
	Hook    hooks.Info
	Outcome Outcome
}

// String is the hook, and its outcome unless it succeeded.
func (r Run) String() string {
	if r.Outcome == Succeeded {
		return r.Hook.String()
	}
	return fmt.Sprintf("%s: %s", r.Hook, r.Outcome)
}

// Violation is the error of Check: a *Broken, and the runs up to the one that
// broke it.
type Violation struct {
	Unit model.UnitName
	*Broken
	Runs []Run
}

// Error has the guarantee's sentence in its first line, and then the sequence.
func (v *Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s broke a guarantee: %s", v.Unit, v.Broken.Error())
	for _, r := range v.Runs {
		fmt.Fprintf(&b, "\n    %s", r)
	}
	return b.String()
}

// Check says whether what a unit has run, from its first hook on, keeps the
// guarantees; a *Violation if not. forgotten are the relations that were taken
// away by force while the unit was in them: nothing of those is owed after the
// last that was run of them. Kinds of run that no guarantee speaks of, as
// actions, are left out.
func Check(unit model.UnitName, runs []Run, forgotten []model.RelationID) error {
	m := Monitor{Unit: unit}
	runs = slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return !spokenOf(r.Hook.Kind) })
	last := map[model.RelationID]int{}
	for i, r := range runs {
		if r.Hook.IsRelation() {
			last[r.Hook.RelationID] = i
		}
	}
	for i, r := range runs {
		if r.Hook.Kind == hooks.UpgradeCharm && r.Hook.Cause == resolver.CauseForgotten {
			m.Forgot()
		}
		if err := m.Hook(r.Hook, r.Outcome); err != nil {
			return &Violation{Unit: unit, Broken: err.(*Broken), Runs: runs[:i+1]}
		}
		for _, id := range forgotten {
			if at, told := last[id]; told && at == i {
				m.Gone(id)
			}
		}
	}
	return nil
}

// spokenOf says whether guarantees speak of a kind of hook.
func spokenOf(k hooks.Kind) bool {
	switch k {
	case hooks.Install, hooks.Start, hooks.Stop, hooks.Remove, hooks.ConfigChanged, hooks.UpgradeCharm, hooks.UpdateStatus,
		hooks.LeaderElected, hooks.LeaderSettingsChanged, hooks.RelationCreated, hooks.RelationJoined, hooks.RelationChanged,
		hooks.RelationDeparted, hooks.RelationBroken, hooks.StorageAttached, hooks.StorageDetaching,
		hooks.PebbleReady, hooks.PebbleCustomNotice, hooks.PebbleCheckFailed, hooks.PebbleCheckRecovered:
		return true
	}
	return false
}
