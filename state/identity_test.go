package state_test

import (
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// commit is what a hook of mysql/0 might write.
func commit(run int64) state.HookCommit {
	value := "old"
	return state.HookCommit{
		Unit: "mysql/0", Run: run, LeaveScope: model.NoRelation,
		Changes: model.Changes{State: map[string]*string{"from": &value}},
	}
}

// TestALaterUnitOfTheSameNameIsAnother for whoever has the model of the former
// one: it isn't read as that one, and nothing is written to it or for it.
func TestALaterUnitOfTheSameNameIsAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("mysql", 1)
	former, err := w.Unit(w.ctx, "mysql/0")
	w.ok(err)
	old := w.Of(former)
	w.ok(old.CommitHook(w.ctx, commit(1)))
	_, err = w.DestroyApplication(w.ctx, "mysql")
	w.ok(err)
	w.ok(w.ForceRemoveUnit(w.ctx, "mysql/0"))
	w.deploy("mysql", 1)
	before, err := w.Unit(w.ctx, "mysql/0")
	w.ok(err)
	if before.ID == former.ID || before.ID == "" {
		t.Fatalf("the ids are %q and %q", former.ID, before.ID)
	}

	_, readErr := old.Unit(w.ctx, "mysql/0")
	_, snapshotErr := old.Snapshot(w.ctx, "mysql/0")
	for what, err := range map[string]error{
		"Unit":           readErr,
		"Snapshot":       snapshotErr,
		"CommitHook":     old.CommitHook(w.ctx, commit(2)),
		"SetDeployed":    old.SetDeployed(w.ctx, "mysql/0"),
		"SetUnitCharm":   old.SetUnitCharm(w.ctx, "mysql/0", "local:other-1"),
		"Tell":           old.Tell(w.ctx, "mysql/0", state.Report{Failed: &state.FailureDoc{Run: 7}}),
		"SetDying":       old.SetDying(w.ctx, "mysql/0"),
		"SetDead":        old.SetDead(w.ctx, "mysql/0"),
		"SetCharmStatus": old.SetCharmStatus(w.ctx, "mysql/0", model.Status{Status: "active"}),
		"SetStatus":      old.SetStatus(w.ctx, state.ApplicationStatus, "mysql", model.Status{Status: "active"}),
	} {
		if !errors.Is(err, errors.NotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	after, err := w.Unit(w.ctx, "mysql/0")
	w.ok(err)
	if after.Run != before.Run || after.Failed != 0 || after.Life != model.Alive || after.Charm != before.Charm || after.Deployed {
		t.Errorf("it was %+v and is %+v", before, after)
	}
	if got, err := w.CharmState(w.ctx, "mysql/0"); err != nil || len(got) > 0 {
		t.Errorf("it has the state %v, %v", got, err)
	}
	w.ok(w.Of(after).CommitHook(w.ctx, commit(1)))
}

func TestAWishForARebootIsNotedWithTheCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("mysql", 1)
	wish := func() string {
		t.Helper()
		u, err := w.Unit(w.ctx, "mysql/0")
		w.ok(err)
		return u.Reboot
	}
	for run, want := range []string{"", "", "a boot"} {
		c := commit(int64(run + 1))
		switch run {
		case 1:
			c.Boot = "a boot" // and no wish
		case 2:
			c.Boot, c.Changes.Reboot = "a boot", model.RebootAfter
		}
		w.ok(w.CommitHook(w.ctx, c))
		if got := wish(); got != want {
			t.Errorf("after run %d: %q", run+1, got)
		}
	}
	w.ok(w.CommitHook(w.ctx, commit(9)))
	if got := wish(); got != "a boot" {
		t.Errorf("after another hook: %q", got)
	}
	w.ok(w.SetRebooted(w.ctx, "mysql/0"))
	if got := wish(); got != "" {
		t.Errorf("after the reboot: %q", got)
	}
}
