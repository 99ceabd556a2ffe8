package state_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func TestRollback(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 70)
	revision := func(want string) {
		t.Helper()
		app, err := w.Application(w.ctx, "mysql")
		w.ok(err)
		if app.Charm != want {
			t.Errorf("the charm is %s, want %s", app.Charm, want)
		}
	}
	_, _, err := w.Rollback(w.ctx, "mysql", state.FormerRevision)
	if !errors.Is(err, errors.NotFound) {
		t.Errorf("back to what never was: %v", err)
	}
	// A hundred revisions are held, and so many are remembered as former ones.
	for range 100 {
		w.ok(w.SetCharm(w.ctx, "mysql", w.addCharm(charm(mysql)), false))
	}
	revision("local:mysql-100")
	held, err := w.Revisions(w.ctx, "mysql")
	w.ok(err)
	if len(held) != 101 || held[0].Revision != 0 || held[100].Revision != 100 {
		t.Errorf("%d revisions are held", len(held))
	}
	url, failed, err := w.Rollback(w.ctx, "mysql", 3)
	w.ok(err)
	if url != "local:mysql-3" || len(failed) != 0 {
		t.Errorf("rolled back to %s, in error %v", url, failed)
	}
	revision("local:mysql-3")
	_, _, err = w.Rollback(w.ctx, "mysql", 101)
	if !errors.Is(err, errors.NotFound) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "there are 0, 1, 2,") {
		t.Errorf("to one that isn't held: %v", err)
	}
	// Nobody knows any more what came before that one.
	if _, _, err = w.Rollback(w.ctx, "mysql", state.FormerRevision); !errors.Is(err, errors.NotFound) {
		t.Errorf("back to what nobody remembers: %v", err)
	}
	w.ok(w.SetCharm(w.ctx, "mysql", "local:mysql-99", false))
	w.ok(w.SetCharm(w.ctx, "mysql", "local:mysql-50", false))
	// All units in error try again, be they more than one transaction can take; but
	// not those that somebody has answered already.
	for i := range 70 {
		w.ok(w.Tell(w.ctx, model.UnitName(fmt.Sprintf("mysql/%d", i)), state.Report{Failed: &state.FailureDoc{Run: 7}}))
	}
	w.ok(w.Resolve(w.ctx, "mysql/5", false))
	_, failed, err = w.Rollback(w.ctx, "mysql", state.FormerRevision)
	w.ok(err)
	revision("local:mysql-99")
	if len(failed) != 69 {
		t.Errorf("%d units in error were answered, want 69", len(failed))
	}
	units, err := w.Units(w.ctx)
	w.ok(err)
	for _, u := range units {
		want := state.Resolved{Run: 7, Mode: "retry"}
		if u.Name == "mysql/5" {
			want.Mode = "skip"
		}
		if u.Resolved != want {
			t.Errorf("%s is resolved by %+v", u.Name, u.Resolved)
		}
	}
}
