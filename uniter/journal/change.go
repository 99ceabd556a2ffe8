package journal

import (
	"maps"
	"reflect"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
	"github.com/unitd/unitd/uniter/resolver"
)

// change is how a Local differs from the one before it. It has values, not
// what happened: whoever reads it needs no rules of a resolver to make a Local
// of it. All but relations is small and in it whole; a relation is where
// something of it is different, and its members where they are.
type change struct {
	// Local is the later one without its relations.
	Local resolver.Local `json:"local"`
	// Relations are those that are new or different.
	Relations []relationChange `json:"relations,omitempty"`
	// Gone are the relations that it hasn't any more.
	Gone []model.RelationID `json:"gone,omitempty"`
}

// relationChange is how what is known of a relation differs.
type relationChange struct {
	// State is the later one without its members.
	State relation.State   `json:"state"`
	Set   model.Members    `json:"set,omitempty"`
	Left  []model.UnitName `json:"left,omitempty"`
}

// difference is what makes to of from.
func difference(from, to resolver.Local) change {
	c := change{Local: to}
	c.Local.Relations = nil
	for _, now := range to.InOrder() {
		was, had := from.Relations[now.ID]
		r := relationChange{State: now}
		r.State.Members = nil
		for m := range now.Members.Since(was.Members) {
			if m.Is == 0 {
				r.Left = append(r.Left, m.Unit)
			} else {
				r.Set = append(r.Set, model.Member{Unit: m.Unit, Version: m.Is})
			}
		}
		was.Members = nil
		if !had || len(r.Set)+len(r.Left) > 0 || !reflect.DeepEqual(r.State, was) {
			c.Relations = append(c.Relations, r)
		}
	}
	for _, was := range from.InOrder() {
		if _, has := to.Relations[was.ID]; !has {
			c.Gone = append(c.Gone, was.ID)
		}
	}
	return c
}

// after is the Local that the change makes of from, which stays as it is.
func (c change) after(from resolver.Local) resolver.Local {
	to := c.Local
	to.Relations = maps.Clone(from.Relations)
	for _, id := range c.Gone {
		delete(to.Relations, id)
	}
	for _, r := range c.Relations {
		if to.Relations == nil {
			to.Relations = map[model.RelationID]relation.State{}
		}
		s := r.State
		s.Members = from.Relations[s.ID].Members.Apply(r.Set, r.Left)
		to.Relations[s.ID] = s
	}
	return to
}
