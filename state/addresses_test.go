package state_test

import (
	"fmt"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func at(address string) model.Settings {
	return model.Settings{"private-address": address, "ingress-address": address, "egress-subnets": address + "/32"}
}

func TestAddressesFollowWithTheCommit(t *testing.T) {
	t.Parallel()
	w, id := pair(t)
	w.ok(w.CommitHook(w.ctx, state.HookCommit{
		Unit: "mysql/0", Run: 1, LeaveScope: model.NoRelation, Addresses: at("10.0.0.7"),
		Changes: model.Changes{Relations: map[model.RelationID]model.RelationChange{
			id: {Unit: model.Settings{"ingress-address": "10.9.9.9", "port": "1"}},
		}},
	}))
	for relation, want := range map[model.RelationID]string{
		0:  "map[egress-subnets:10.0.0.7/32 ingress-address:10.0.0.7 private-address:10.0.0.7]",
		id: "map[egress-subnets:10.0.0.7/32 ingress-address:10.9.9.9 port:1 private-address:10.0.0.7]",
	} {
		got, err := w.Settings(w.ctx, relation, "mysql/0")
		w.ok(err)
		if fmt.Sprint(got) != want {
			t.Errorf("relation %d: got %v, want %v", relation, got, want)
		}
	}
	w.members("wordpress/0", id, model.Member{Unit: "mysql/0", Version: 2}, model.Member{Unit: "mysql/1", Version: 1})

	// A run that is stamped says nothing any more, and the same ones are no news.
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 1, LeaveScope: model.NoRelation, Addresses: at("10.0.0.8")}))
	w.members("mysql/1", 0, model.Member{Unit: "mysql/0", Version: 2})
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 2, LeaveScope: model.NoRelation, Addresses: at("10.0.0.7")}))
	w.members("mysql/1", 0, model.Member{Unit: "mysql/0", Version: 2})
	// Without what hooks write nothing follows, and what there is none of goes.
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 3, LeaveScope: model.NoRelation}))
	w.members("mysql/1", 0, model.Member{Unit: "mysql/0", Version: 2})
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 4, LeaveScope: model.NoRelation, Addresses: model.Settings{"egress-subnets": ""}}))
	got, err := w.Settings(w.ctx, 0, "mysql/0")
	w.ok(err)
	if len(got) != 2 {
		t.Errorf("got %v", got)
	}
}

// A hook that has written all that one transaction takes, in a unit of more
// relations than that, commits all the same.
func TestAddressesFollowInManyRelations(t *testing.T) {
	t.Parallel()
	const relations = 3*20 + 5
	w := newWorld(t)
	w.deploy("hub in=provider:i", 1)
	c := charm("spoke out=requirer:i")
	url := w.addCharm(c)
	wrote := map[model.RelationID]model.RelationChange{}
	var ids []model.RelationID
	for n := range relations {
		name := fmt.Sprintf("spoke%d", n)
		w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: name, Charm: url}))
		id := w.relate("hub", name)
		w.enter("hub/0", id)
		if ids = append(ids, id); n%2 == 0 {
			wrote[id] = model.RelationChange{Unit: model.Settings{"port": "1"}}
		}
	}
	store := &measured{Store: w.store}
	w.ok(w.onStore(store).CommitHook(w.ctx, state.HookCommit{
		Unit: "hub/0", Run: 1, LeaveScope: model.NoRelation, Addresses: at("10.0.0.7"), Changes: model.Changes{Relations: wrote},
	}))
	for _, id := range ids {
		got, err := w.Settings(w.ctx, id, "hub/0")
		w.ok(err)
		if got["ingress-address"] != "10.0.0.7" || (got["port"] == "1") != (wrote[id].Unit != nil) {
			t.Errorf("relation %d: got %v", id, got)
		}
	}
	if store.writes > etcdOps {
		t.Errorf("%d keys were written in one transaction", store.writes)
	}
}
