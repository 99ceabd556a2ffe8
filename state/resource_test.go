package state_test

import (
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func imageOf(reference, password string) state.Content {
	return state.Content{Image: &model.Image{Reference: reference, Digest: "sha256:1", Username: "robot", Password: password}}
}

// TestAnImageIsAResource: an application has images beside files, each what its
// charm wants; the password is sealed in the document (K-008).
func TestAnImageIsAResource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := model.Charm{Name: "app", Resources: map[string]model.ResourceSpec{"img": {Type: model.OCIImage}, "data": {Type: model.FileResource, Filename: "f"}}}
	w.ok(w.Deploy(w.ctx, state.DeployArgs{
		Application: "app", Charm: w.addCharm(c),
		Resources: map[string]state.Content{"img": imageOf("a:1", "hunter2"), "data": {File: w.file("v1")}},
	}))
	app, err := w.Application(w.ctx, "app")
	w.ok(err)
	r := app.Resources["img"]
	if r.Image == nil || r.Image.Reference != "a:1" || r.Image.Digest != "sha256:1" || r.Image.Username != "robot" || r.Image.Password != "" || r.Revision != 1 {
		t.Errorf("%+v", r)
	}
	if len(r.Password) == 0 || strings.Contains(string(r.Password), "hunter2") {
		t.Errorf("sealed as %q", r.Password)
	}
	image, err := w.Image(w.ctx, "app", "img")
	w.ok(err)
	if image != *imageOf("a:1", "hunter2").Image {
		t.Errorf("opened as %+v", image.Hidden())
	}
	if _, err := w.Image(w.ctx, "app", "data"); !errors.Is(err, errors.NotFound) {
		t.Errorf("a file is no image: %v", err)
	}
	for want, given := range map[string]map[string]state.Content{
		`resource "img" of charm "app" is an oci-image: a file can't be it`: {"img": {File: w.file("v1")}},
		`resource "data" of charm "app" is a file: an image can't be it`:    {"data": imageOf("a:1", "")},
		`unknown resource: nosuch: charm "app" has no resource "nosuch"`:    {"nosuch": imageOf("a:1", "")},
	} {
		if err := w.SetResources(w.ctx, "app", given); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for i, step := range []struct {
		given     state.Content
		revisions int
	}{
		{imageOf("a:1", "hunter2"), 1}, {imageOf("a:2", "hunter2"), 2}, {imageOf("a:2", "other"), 3}, {imageOf("a:2", ""), 4}, {imageOf("a:2", ""), 4},
	} {
		w.ok(w.SetResources(w.ctx, "app", map[string]state.Content{"img": step.given}))
		app, err := w.Application(w.ctx, "app")
		w.ok(err)
		if app.Resources["img"].Revision != step.revisions || app.Given != step.revisions {
			t.Errorf("step %d: revision %d, given %d times", i, app.Resources["img"].Revision, app.Given)
		}
	}
}

// TestSealAnewSealsImages: a key that is changed is changed for them, too.
func TestSealAnewSealsImages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := model.Charm{Name: "app", Resources: map[string]model.ResourceSpec{"img": {Type: model.OCIImage}}}
	w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "app", Charm: w.addCharm(c), Resources: map[string]state.Content{"img": imageOf("a:1", "hunter2")}}))
	n, err := w.SealAnew(w.ctx)
	w.ok(err)
	image, err := w.Image(w.ctx, "app", "img")
	w.ok(err)
	if n != 1 || image.Password != "hunter2" {
		t.Errorf("%d sealed", n)
	}
}
