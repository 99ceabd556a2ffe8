package machine

import (
	"testing"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter"
	"github.com/unitd/unitd/uniter/resolver"
)

// Which relations a hook finds broken. Source: docs/spec/hook-tools.md §5.
func TestARelationIsBrokenWithoutMembersUnlessItIsThatOfPeers(t *testing.T) {
	t.Parallel()
	alone, one := model.Members(nil), model.Members{{Unit: "db/0", Version: 1}}
	for name, c := range map[string]struct {
		life   model.Life
		peer   bool
		live   bool
		before model.Members
		hook   hooks.Info
		broken bool
	}{
		"alive":                                  {live: true},
		"ended, with a member":                   {before: one},
		"ended":                                  {broken: true},
		"alive, and the unit goes":               {life: model.Dying, live: true},
		"of peers":                               {peer: true, live: true},
		"of peers, and the unit goes":            {life: model.Dying, peer: true, live: true},
		"of peers, and has ended":                {peer: true},
		"of peers, in its broken hook":           {life: model.Dying, peer: true, live: true, hook: hooks.Info{Kind: hooks.RelationBroken, RelationID: 1}, broken: true},
		"alive, in its broken hook":              {life: model.Dying, live: true, hook: hooks.Info{Kind: hooks.RelationBroken, RelationID: 1}, broken: true},
		"ended, without members in a hook of it": {hook: hooks.Info{Kind: hooks.RelationDeparted, RelationID: 1, RemoteUnit: "db/0"}},
	} {
		s := relation.State{ID: 1, Endpoint: "db", Peer: c.peer, Created: true, Members: alone}.With(c.before)
		if c.hook.Kind == "" {
			c.hook = hooks.Info{Kind: hooks.ConfigChanged}
		}
		u := &unit{seen: &resolver.Remote{Life: c.life, Relations: []relation.Snapshot{{ID: 1, Endpoint: "db", Peer: c.peer, Live: c.live}}}}
		got := u.relationsOf(uniter.Run{Hook: c.hook, Local: resolver.Local{Relations: map[model.RelationID]relation.State{1: s}}})
		if len(got) != 1 || got[0].Broken != c.broken {
			t.Errorf("%s: %+v, want broken: %v", name, got, c.broken)
		}
	}
}

// A hook is told of which model the other side of a relation is.
func TestARelationNamesTheModelOfItsOtherSide(t *testing.T) {
	t.Parallel()
	view := state.RelationView{RelationDoc: state.RelationDoc{ID: 1, Across: &state.Counterpart{Model: "far"}}, Own: model.Endpoint{Name: "db"}}
	near := state.RelationView{RelationDoc: state.RelationDoc{ID: 2}, Own: model.Endpoint{Name: "db"}}
	u := &unit{seen: &resolver.Remote{Relations: []relation.Snapshot{snapshot(view), snapshot(near)}}}
	got := u.relationsOf(uniter.Run{Hook: hooks.Info{Kind: hooks.Start}, Local: resolver.Local{Relations: map[model.RelationID]relation.State{
		1: {ID: 1, Endpoint: "db"}, 2: {ID: 2, Endpoint: "db"},
	}}})
	want := map[model.RelationID]string{1: "far", 2: ""}
	for _, r := range got {
		if r.RemoteModel != want[r.ID] {
			t.Errorf("%+v", hookcontext.Relation(r))
		}
	}
	if len(got) != 2 {
		t.Errorf("relations %+v", got)
	}
}
