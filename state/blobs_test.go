package state_test

import (
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// stored are those of the contents that the store has.
func (w *world) stored(contents ...string) string {
	w.Helper()
	var there []string
	for _, c := range contents {
		if len(w.keys("blob/"+hashOf(c)+"/")) > 0 {
			there = append(there, c)
		}
	}
	return strings.Join(there, " ")
}

func (w *world) file(content string) state.File {
	w.Helper()
	f, err := w.StoreFile(w.ctx, hashOf(content), strings.NewReader(content))
	w.ok(err)
	return f
}

// deployGiven deploys an application with a file for its one resource.
func (w *world) deployGiven(app, content string) {
	w.Helper()
	c := charm(app)
	c.Resources = map[string]model.ResourceSpec{"data": {Type: "file"}}
	w.ok(w.Deploy(w.ctx, state.DeployArgs{
		Application: app, Charm: w.addCharm(c), Resources: map[string]state.Content{"data": {File: w.file(content)}},
	}))
}

// Content is deleted when the last that refers to it has gone, in any model.
func TestContentThatNothingRefersToGoes(t *testing.T) {
	t.Parallel()

	t.Run("files that an application had, and what it leaves", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deployGiven("one", "v1")
		w.deployGiven("two", "v1")
		w.ok(w.SetResources(w.ctx, "one", map[string]state.Content{"data": {File: w.file("v2")}}))
		w.ok(w.RunCleanups(w.ctx))
		w.is("there", w.stored("v1", "v2", "one", "two"), "v1 v2 one two")
		_, err := w.DestroyApplication(w.ctx, "two")
		w.ok(err)
		w.ok(w.RunCleanups(w.ctx))
		w.is("there", w.stored("v1", "v2", "one", "two"), "v2 one two")
		if marks := w.keys("blob-mark/" + hashOf("v1")); len(marks) > 0 {
			t.Errorf("%v is left", marks)
		}
	})

	t.Run("what a model leaves that another hasn't", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deployGiven("one", "v1")
		other, err := w.controller.AddModel(w.ctx, "other")
		w.ok(err)
		for _, name := range []string{"one", "three"} {
			_, err = other.AddCharm(w.ctx, charm(name), hashOf(name), strings.NewReader(name))
			w.ok(err)
		}
		w.ok(other.Destroy(w.ctx, false))
		gone, err := other.RemoveIfEmpty(w.ctx)
		if err != nil || !gone {
			t.Fatalf("the model is still there: %v", err)
		}
		w.is("there", w.stored("one", "v1", "three"), "one v1")
	})

	t.Run("what has only just been stored stays for an hour", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deployGiven("one", "v1")
		f := w.file("v2")
		sweep := func() {
			t.Helper()
			w.raw("cleanup/999999999", `{"blobs":true}`)
			w.ok(w.RunCleanups(w.ctx))
		}
		w.clock.advance(59 * time.Minute)
		sweep()
		w.is("there", w.stored("v1", "v2"), "v1 v2")
		w.clock.advance(2 * time.Minute)
		sweep()
		w.is("there", w.stored("v1", "v2"), "v1")
		err := w.SetResources(w.ctx, "one", map[string]state.Content{"data": {File: f}})
		if !errors.Is(err, errors.NotFound) {
			t.Errorf("giving what isn't there: %v", err)
		}
		w.ok(w.SetResources(w.ctx, "one", map[string]state.Content{"data": {File: w.file("v2")}}))
	})

	t.Run("what is referred to while it is swept stays", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deployGiven("one", "v1")
		_, err := w.DestroyApplication(w.ctx, "one")
		w.ok(err)
		// After the sweep has looked, before it deletes.
		w.between(0, func() { w.deployGiven("two", "v1") }, func(m *state.Model) error { return m.RunCleanups(w.ctx) })
		app, err := w.Application(w.ctx, "two")
		w.ok(err)
		var content strings.Builder
		w.ok(w.FileContent(w.ctx, app.Resources["data"].File, &content))
		w.is("content", content.String(), "v1")
	})
}
