package state_test

import (
	"maps"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func TestSetCharm(t *testing.T) {
	t.Parallel()
	const old = "shop db=requirer:mysql cluster=peer:shop-cluster"
	for _, tt := range []struct {
		name, charm, fails string
		relations          string // afterwards
	}{
		{"a charm with the same endpoints is taken", old, "", "shop:cluster shop:db mysql:server"},
		{"a new peer endpoint gets its relation", old + " ring=peer:ring", "", "shop:cluster shop:db mysql:server shop:ring"},
		{"an endpoint that nobody uses may go", "shop db=requirer:mysql cluster=peer:shop-cluster", "", "shop:cluster shop:db mysql:server"},
		{"a charm without an endpoint in use is refused", "shop cluster=peer:shop-cluster",
			`cannot upgrade application "shop" to charm "shop": would break relation "shop:db mysql:server"`, ""},
		{"an endpoint in use doesn't change its interface", "shop db=requirer:pgsql cluster=peer:shop-cluster",
			`cannot upgrade application "shop" to charm "shop": would break relation "shop:db mysql:server"`, ""},
		{"an endpoint in use doesn't change its role", "shop db=provider:mysql cluster=peer:shop-cluster",
			`cannot upgrade application "shop" to charm "shop": would break relation "shop:db mysql:server"`, ""},
		{"a principal doesn't become a subordinate", old + " subordinate",
			`cannot upgrade application "shop" to charm "shop": cannot change an application's subordinacy`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.deploy(old+" spare=requirer:spare", 1)
			w.deploy("mysql server=provider:mysql", 1)
			w.relate("shop", "mysql")
			err := w.SetCharm(w.ctx, "shop", w.addCharm(charm(tt.charm)), true)
			app, aerr := w.Application(w.ctx, "shop")
			w.ok(aerr)
			if tt.fails != "" {
				w.fails(err, tt.fails)
				w.is("charm", app.Charm, "local:shop-0")
				return
			}
			w.ok(err)
			w.is("charm", app.Charm, "local:shop-1")
			if !app.Forced {
				t.Error("force is forgotten")
			}
			w.is("relations", w.relationKeys("shop"), tt.relations)
		})
	}
}

func TestSetCharmKeepsWhatStillFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := charm(mysql)
	c.Options = map[string]model.ConfigOption{"kept": {Type: "int"}, "dropped": {Type: "string"}, "retyped": {Type: "string"}}
	w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "mysql", Charm: w.addCharm(c)}))
	w.ok(w.SetConfig(w.ctx, "mysql", map[string]string{"kept": "1", "dropped": "x", "retyped": "x"}, nil))
	c.Options = map[string]model.ConfigOption{"kept": {Type: "int"}, "retyped": {Type: "int", Default: 5}, "added": {Type: "string", Default: "new"}}
	w.ok(w.SetCharm(w.ctx, "mysql", w.addCharm(c), false))
	conf, err := w.Config(w.ctx, "mysql")
	w.ok(err)
	want := map[string]any{"kept": int64(1), "retyped": int64(5), "added": "new"}
	if !maps.Equal(conf.Values, want) {
		t.Errorf("got %v, want %v", conf.Values, want)
	}
}
