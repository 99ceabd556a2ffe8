package state_test

import (
	"reflect"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func published(t *testing.T, texts ...string) (out []model.Publication) {
	t.Helper()
	for _, text := range texts {
		p, err := model.ParsePublication(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// isolated deploys applications whose units have a network of their own, without
// units.
func (w *world) isolated(mode string, apps ...string) {
	w.Helper()
	for _, app := range apps {
		url := w.addCharm(model.Charm{Name: app})
		w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: app, Charm: url, Isolation: model.Isolation{Mode: mode}}))
	}
}

func TestAPortIsPublishedForOneApplication(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.isolated(model.IsolateOn, "web", "shop")
	w.isolated(model.IsolateFiles, "files")
	w.ok(w.Expose(w.ctx, "web", published(t, "8080:80", "0.0.0.0:443")))
	w.ok(w.Expose(w.ctx, "web", published(t, "8080:80", "8081:80"))) // those that there are stay
	app, err := w.Application(w.ctx, "web")
	w.ok(err)
	if want := published(t, "8080:80", "0.0.0.0:443", "8081:80"); !app.Exposed || !reflect.DeepEqual(app.Published, want) {
		t.Errorf("%+v", app)
	}
	w.fails(w.Expose(w.ctx, "shop", published(t, "80", "8080:1")), `cannot publish 127.0.0.1:8080:1: 127.0.0.1:8080:80 is published for "web"`)
	w.fails(w.Expose(w.ctx, "shop", published(t, "443")), `cannot publish 127.0.0.1:443:443: 0.0.0.0:443:443 is published for "web"`)
	w.fails(w.Expose(w.ctx, "web", published(t, "8080:1")), `cannot publish 127.0.0.1:8080:1: 127.0.0.1:8080:80 is published for "web"`)
	w.fails(w.Expose(w.ctx, "files", published(t, "80")), `cannot publish ports of "files": its units have no network of their own, so their ports are the host's already`)
	w.fails(w.Expose(w.ctx, "nope", published(t, "80")), `application "nope" not found`)
	if shop, err := w.Application(w.ctx, "shop"); err != nil || shop.Exposed || len(shop.Published) > 0 {
		t.Errorf("what was refused has left something: %+v, %v", shop, err)
	}
	w.ok(w.SetExposed(w.ctx, "web", false))
	w.ok(w.Expose(w.ctx, "shop", published(t, "8080:1")))
	if app, err = w.Application(w.ctx, "web"); err != nil || app.Exposed || len(app.Published) > 0 {
		t.Errorf("%+v, %v", app, err)
	}
}

func TestHowAnApplicationIsReachedGoesWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.isolated(model.IsolateOn, "web")
	told := state.ServiceDoc{Address: "10.64.3.254", Problems: map[string]string{"80/tcp": "no"}}
	w.ok(w.SetService(w.ctx, "web", told))
	rev, err := w.Rev(w.ctx)
	w.ok(err)
	w.ok(w.SetService(w.ctx, "web", told))
	if again, err := w.Rev(w.ctx); err != nil || again != rev {
		t.Errorf("the same is written again: %d, %v", again-rev, err)
	}
	s, err := w.Status(w.ctx)
	w.ok(err)
	if !reflect.DeepEqual(s.Applications[0].Service, told) {
		t.Errorf("%+v", s.Applications[0].Service)
	}
	v, err := w.Wires(w.ctx)
	w.ok(err)
	if !reflect.DeepEqual(v.Services, map[string]state.ServiceDoc{"web": told}) {
		t.Errorf("%+v", v.Services)
	}
	w.ok(w.SetService(w.ctx, "web", state.ServiceDoc{}))
	if keys := w.keys("m/" + w.UUID() + "/service/"); len(keys) > 0 {
		t.Errorf("%v", keys)
	}
	w.ok(w.SetService(w.ctx, "web", told))
	_, err = w.DestroyApplication(w.ctx, "web")
	w.ok(err)
	w.fails(w.SetService(w.ctx, "web", told), `application "web" not found`)
	if keys := w.keys("m/" + w.UUID() + "/service/"); len(keys) > 0 {
		t.Errorf("%v", keys)
	}
}
