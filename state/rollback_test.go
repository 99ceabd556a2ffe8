package state_test

import (
	"fmt"
	"slices"
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
	_, err := w.Rollback(w.ctx, "mysql", state.FormerRevision)
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
	done, err := w.Rollback(w.ctx, "mysql", 3)
	w.ok(err)
	if done.Charm != "local:mysql-3" || !done.Other || len(done.InError) != 0 {
		t.Errorf("rolled back to %+v", done)
	}
	revision("local:mysql-3")
	_, err = w.Rollback(w.ctx, "mysql", 101)
	if !errors.Is(err, errors.NotFound) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "there are 0, 1, 2,") {
		t.Errorf("to one that isn't held: %v", err)
	}
	// Nobody knows any more what came before that one.
	if _, err = w.Rollback(w.ctx, "mysql", state.FormerRevision); !errors.Is(err, errors.NotFound) {
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
	done, err = w.Rollback(w.ctx, "mysql", state.FormerRevision)
	w.ok(err)
	revision("local:mysql-99")
	if len(done.InError) != 69 {
		t.Errorf("%d units in error were answered, want 69", len(done.InError))
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

// TestRollbackBringsImagesBack: an application goes back to the images that it had,
// with their passwords, by an image alone as by a charm.
func TestRollbackBringsImagesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploySidecar(1)
	image := func(charm, want string) {
		t.Helper()
		app, err := w.Application(w.ctx, "web")
		w.ok(err)
		got, err := w.Image(w.ctx, "web", "img")
		w.ok(err)
		if app.Charm != charm || got != *imageOf(want, "hunter2").Image {
			t.Errorf("it has %s and %+v, want %s and %s", app.Charm, got, charm, want)
		}
	}
	_, err := w.Rollback(w.ctx, "web", state.FormerRevision)
	if !errors.Is(err, errors.NotFound) || !strings.HasSuffix(err.Error(), `application "web" has had no other revision of its charm, and no other image`) {
		t.Errorf("back to what never was: %v", err)
	}
	app, err := w.Application(w.ctx, "web")
	w.ok(err)
	first := app.Charm
	doc, err := w.Charm(w.ctx, first)
	w.ok(err)

	w.giveImage("a:1")
	w.giveImage("a:1") // no change
	w.giveImage("a:2")
	second := w.addCharm(doc.Charm)
	w.ok(w.SetCharmAndResources(w.ctx, "web", second, false, map[string]state.Content{"img": imageOf("a:3", "hunter2")}))
	w.giveImage("a:4")
	_, err = w.SealAnew(w.ctx)
	w.ok(err)
	before, err := w.Application(w.ctx, "web")
	w.ok(err)

	done, err := w.Rollback(w.ctx, "web", state.FormerRevision)
	w.ok(err)
	if done.Other || !slices.Equal(done.Replaced, []string{"img"}) {
		t.Errorf("an image alone: %+v", done)
	}
	image(second, "a:3")
	after, err := w.Application(w.ctx, "web")
	w.ok(err)
	if after.Given == before.Given || after.Resources["img"].Revision != before.Resources["img"].Revision+1 {
		t.Errorf("its units aren't told: %d, %+v", after.Given, after.Resources)
	}
	w.giveImage("a:5")
	done, err = w.Rollback(w.ctx, "web", 0)
	w.ok(err)
	if !done.Other || done.Charm != first {
		t.Errorf("to a revision: %+v", done)
	}
	image(first, "a:2")
	done, err = w.Rollback(w.ctx, "web", state.FormerRevision)
	w.ok(err)
	if done.Other {
		t.Errorf("once more: %+v", done)
	}
	image(first, "a:1")

	// A wrong password is another image as well.
	w.ok(w.SetResources(w.ctx, "web", map[string]state.Content{"img": imageOf("a:1", "wrong")}))
	done, err = w.Rollback(w.ctx, "web", state.FormerRevision)
	w.ok(err)
	if !slices.Equal(done.Replaced, []string{"img"}) {
		t.Errorf("a password alone: %+v", done)
	}
	image(first, "a:1")
}
