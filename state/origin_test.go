package state_test

import (
	"testing"

	"github.com/juju/clock"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/memory"
)

// TestWhatIsWrittenSaysWhatItComesFrom: of a run that is traced, and of no other one.
func TestWhatIsWrittenSaysWhatItComesFrom(t *testing.T) {
	t.Parallel()
	w, id := pair(t)
	c := everything(id)
	secret := c.Secrets[0].ID
	all := map[string]state.Traced{
		"the unit's databag":        state.TracedBag(id, "mysql", "mysql/0"),
		"the application's databag": state.TracedBag(id, "mysql", ""),
		"leader settings":           state.TracedLeaderSettings("mysql"),
		"the secret":                state.TracedSecret(secret),
	}
	is := func(by string) {
		t.Helper()
		for name, of := range all {
			o, err := w.Origin(w.ctx, of)
			w.ok(err)
			if o.By != by || o.Rev == 0 {
				t.Errorf("%s comes from %q at %d, not from %q", name, o.By, o.Rev, by)
			}
		}
	}
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 5, Changes: c, LeaveScope: model.NoRelation, By: "x"}))
	is("x")
	// A run that writes nothing leaves it as it is, and one that isn't traced doesn't.
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 6, LeaveScope: model.NoRelation, By: "y"}))
	is("x")
	again := model.Changes{
		Relations:      map[model.RelationID]model.RelationChange{id: {Unit: model.Settings{"k": "other"}, Application: model.Settings{"k": "other"}}},
		LeaderSettings: model.Settings{"k": "other"},
		Secrets:        []model.SecretChange{{ID: secret, Content: model.SecretContent{"token": "b3RoZXI="}}},
	}
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 7, Changes: again, LeaveScope: model.NoRelation}))
	is("")
	if o, err := w.Origin(w.ctx, state.TracedBag(id, "mysql", "mysql/7")); err != nil || o != (state.Origin{}) {
		t.Errorf("what isn't there comes from %+v, %v", o, err)
	}
}

// TestWhatPeopleDoSaysWhatItIsPartOf: a command that is part of a trace.
func TestWhatPeopleDoSaysWhatItIsPartOf(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	plain := state.NewController(memory.New(clock.WallClock), clock.WallClock)
	_, err := plain.AddModel(ctx, "m")
	if err != nil {
		t.Fatal(err)
	}
	m, err := plain.WithCause("x").Model(ctx, "m")
	if err != nil {
		t.Fatal(err)
	}
	op, _, err := m.Enqueue(ctx, "nothing", nil)
	if err != nil {
		t.Fatal(err)
	}
	if o, err := m.Operation(ctx, op.ID); err != nil || o.By != "x" {
		t.Errorf("the operation comes from %q, %v", o.By, err)
	}
}
