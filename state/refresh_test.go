package state_test

import (
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// TestARefreshIsWhole: a charm, options that it alone has, trust and what is followed come
// at once, or not at all.
func TestARefreshIsWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 1)
	next := charm(mysql)
	next.Options = map[string]model.ConfigOption{"pages": {Type: "int"}}
	url, trust := w.addCharm(next), true
	app := func() state.ApplicationDoc {
		t.Helper()
		app, err := w.Application(w.ctx, "mysql")
		w.ok(err)
		return app
	}
	before := app()
	w.fails(w.Refresh(w.ctx, "mysql", state.Refresh{URL: url, Config: map[string]string{"pages": "many"}, Trust: &trust}), `parsing settings for application: option "pages" expected int, got "many"`)
	w.fails(w.Refresh(w.ctx, "mysql", state.Refresh{URL: url, Trust: &trust, Bindings: model.Bindings{"nope": "alpha"}}), `endpoint "nope" not found`)
	if now := app(); now.Charm != before.Charm || now.Trust {
		t.Errorf("a refresh that failed has changed the application: %+v", now)
	}
	w.ok(w.Refresh(w.ctx, "mysql", state.Refresh{URL: url, Config: map[string]string{"pages": "3"}, Trust: &trust, Hub: &state.Hub{Name: "mysql", Channel: "edge"}, Base: model.Base{Name: "ubuntu", Channel: "24.04"}}))
	config, err := w.Config(w.ctx, "mysql")
	w.ok(err)
	if now := app(); now.Charm != url || !now.Trust || now.Hub == nil || now.Hub.Channel != "edge" || now.Base != "ubuntu@24.04" || config.Values["pages"] != int64(3) {
		t.Errorf("the application is %+v, its options are %v", now, config.Values)
	}
	w.ok(w.Refresh(w.ctx, "mysql", state.Refresh{Config: map[string]string{"pages": "4"}}))
	if now := app(); now.Charm != url || !now.Trust || now.Hub == nil || now.Base == "" {
		t.Errorf("what wasn't said has changed: %+v", now)
	}
}
