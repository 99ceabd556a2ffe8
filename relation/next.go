package relation

import (
	"fmt"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// Local is what Next must know of the unit itself.
type Local struct {
	Unit model.UnitName
	// Leaving: the unit or its application isn't Alive, so it is this unit
	// that departs from its relations.
	Leaving bool
}

// Next is the hook that the unit is owed in this relation; false if none is
// due. The rules are those of docs/spec/uniter-behaviour.md §5 in their order; the
// first that applies wins.
func Next(l Local, s State, now Snapshot) (hooks.Info, bool) {
	if now.Implicit {
		return hooks.Info{}, false
	}
	if s.Owed != "" {
		// Even if the unit has left meanwhile: joined is never without changed.
		v, ok := now.Members.Version(s.Owed)
		if !ok {
			v, _ = s.Members.Version(s.Owed)
		}
		return s.hook(hooks.RelationChanged, s.Owed, v, fmt.Sprintf("%s joined", s.Owed)), true
	}
	news := s.news(now.Members)
	if m := news.left; m.Unit != "" {
		return s.departed(l, m, fmt.Sprintf("%s left", m.Unit)), true
	}
	if l.Leaving || !now.Live {
		return s.leave(l)
	}
	if !s.Created {
		return s.hook(hooks.RelationCreated, "", 0, "relation made"), true
	}
	if now.Application != s.Application {
		return s.hook(hooks.RelationChanged, "", now.Application, fmt.Sprintf("%s changed its application's settings", s.RemoteApp)), true
	}
	if m := news.joined; m.Unit != "" {
		return s.hook(hooks.RelationJoined, m.Unit, m.Version, fmt.Sprintf("%s joined", m.Unit)), true
	}
	if m := news.changed; m.Unit != "" {
		return s.hook(hooks.RelationChanged, m.Unit, m.Version, fmt.Sprintf("%s changed its settings", m.Unit)), true
	}
	return hooks.Info{}, false
}

// news are the first members by name of which there is something to tell, with
// the version that is to be told: one that has left, with the one last told.
type news struct{ left, joined, changed model.Member }

func (s State) news(now model.Members) news {
	var n news
	for c := range now.Since(s.Members) {
		switch {
		case c.Is == 0:
			// It comes before all others, so that they don't matter.
			return news{left: model.Member{Unit: c.Unit, Version: c.Was}}
		case c.Was == 0 && n.joined.Unit == "":
			n.joined = model.Member{Unit: c.Unit, Version: c.Is}
		case c.Was != 0 && n.changed.Unit == "":
			n.changed = model.Member{Unit: c.Unit, Version: c.Is}
		}
	}
	return n
}

// leave is the next hook on the way out: departed for every member by name,
// then broken, which only a unit that was told of the relation is owed.
func (s State) leave(l Local) (hooks.Info, bool) {
	cause := "relation removed or suspended"
	if l.Leaving {
		cause = "unit removed"
	}
	if len(s.Members) > 0 {
		return s.departed(l, s.Members[0], cause), true
	}
	if s.Created {
		return s.hook(hooks.RelationBroken, "", 0, cause), true
	}
	return hooks.Info{}, false
}

func (s State) departed(l Local, m model.Member, cause string) hooks.Info {
	h := s.hook(hooks.RelationDeparted, m.Unit, m.Version, cause)
	h.Departing = m.Unit
	if l.Leaving {
		h.Departing = l.Unit
	}
	return h
}

func (s State) hook(k hooks.Kind, unit model.UnitName, version int, cause string) hooks.Info {
	remote := s.RemoteApp
	if unit != "" {
		remote = unit.Application()
	}
	return hooks.Info{
		Kind: k, Endpoint: s.Endpoint, RelationID: s.ID,
		RemoteApp: remote, RemoteUnit: unit, Version: version, Cause: cause,
	}
}
